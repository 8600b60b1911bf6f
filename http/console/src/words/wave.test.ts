import { expect, test } from 'vitest';

import { outline, waveOf } from './wave';

/** wav makes a file as the dialler records: two channels of μ-law at 8 kHz, with a chunk before the data. */
function wav(samples: number[], format = 7): ArrayBuffer {
  const v = new DataView(new ArrayBuffer(12 + 24 + 10 + 8 + samples.length));
  const name = (at: number, s: string) => Array.from(s).forEach((ch, i) => v.setUint8(at + i, ch.charCodeAt(0)));
  name(0, 'RIFF');
  v.setUint32(4, v.byteLength - 8, true);
  name(8, 'WAVEfmt ');
  v.setUint32(16, 16, true);
  v.setUint16(20, format, true);
  v.setUint16(22, 2, true);
  v.setUint32(24, 8000, true);
  name(36, 'fact');
  v.setUint32(40, 2, true);
  name(46, 'data');
  v.setUint32(50, samples.length, true);
  samples.forEach((b, i) => v.setUint8(54 + i, b));
  return v.buffer;
}

test('the shape of a recording has the callee on the left and the bot on the right', () => {
  const loud = 0x00; // the largest negative sample
  const silent = 0xff;
  const frames = Array.from({ length: 8000 }, (_, i) => (i < 4000 ? [loud, silent] : [silent, 0x80])).flat();
  const w = waveOf(wav(frames), 4);
  expect(w?.seconds).toBe(1);
  expect(Array.from(w?.peaks[0] ?? [], (p) => Math.round(p * 100) / 100)).toEqual([0.98, 0.98, 0, 0]);
  expect(Array.from(w?.peaks[1] ?? [], (p) => Math.round(p * 100) / 100)).toEqual([0, 0, 0.98, 0.98]);
  expect(w && outline(w, 40, 20)).toMatch(/^M5\.0 0\.2V10\.4M15\.0 0\.2V10\.4M25\.0 9\.6V19\.8M35\.0 9\.6V19\.8$/);
});

test('what is no such recording has no shape', () => {
  expect(waveOf(new ArrayBuffer(0), 4)).toBeUndefined();
  expect(waveOf(new ArrayBuffer(64), 4)).toBeUndefined();
  expect(waveOf(wav([0, 0], 1), 4)).toBeUndefined();
  expect(waveOf(wav([]), 4)?.seconds).toBe(0);
});
