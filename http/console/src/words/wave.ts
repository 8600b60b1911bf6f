// The shape of a recording: WAV, μ-law at 8 kHz, the callee on the left and the bot on the right.

export interface Wave {
  seconds: number;
  /** The loudest sample of each part, 0…1, by channel: callee, bot. */
  peaks: [Float32Array, Float32Array];
}

/** loudness of a μ-law byte (ITU-T G.711), 0…1. */
function loudness(byte: number): number {
  const u = ~byte & 0x7f;
  const exponent = u >> 4;
  const mantissa = u & 0x0f;
  return (((mantissa << 3) + 0x84) << exponent) / 32_636 - 0x84 / 32_636;
}

const table = Float32Array.from({ length: 256 }, (_, b) => Math.min(1, loudness(b)));

const text = (v: DataView, at: number) =>
  String.fromCharCode(v.getUint8(at), v.getUint8(at + 1), v.getUint8(at + 2), v.getUint8(at + 3));

/** waveOf reads the shape of a file in so many parts; undefined when it is no such file. */
export function waveOf(file: ArrayBuffer, parts: number): Wave | undefined {
  const v = new DataView(file);
  if (v.byteLength < 12 || text(v, 0) !== 'RIFF' || text(v, 8) !== 'WAVE') return undefined;
  let channels = 0;
  let rate = 0;
  for (let at = 12; at + 8 <= v.byteLength;) {
    const name = text(v, at);
    const begin = at + 8;
    const size = Math.min(v.getUint32(at + 4, true), v.byteLength - begin);
    if (name === 'fmt ' && size >= 16) {
      if (v.getUint16(begin, true) !== 7) return undefined;
      channels = v.getUint16(begin + 2, true);
      rate = v.getUint32(begin + 4, true);
    } else if (name === 'data') {
      if (channels < 1 || channels > 2 || rate === 0) return undefined;
      const frames = Math.floor(size / channels);
      const peaks: [Float32Array, Float32Array] = [new Float32Array(parts), new Float32Array(parts)];
      const bytes = new Uint8Array(file, begin, frames * channels);
      for (let i = 0; i < frames; i++) {
        const part = Math.floor((i * parts) / frames);
        for (let c = 0; c < channels; c++) {
          const side = peaks[c === 0 ? 0 : 1];
          side[part] = Math.max(side[part] ?? 0, table[bytes[i * channels + c] ?? 0xff] ?? 0);
        }
      }
      return { seconds: frames / rate, peaks };
    }
    at = begin + size + (size % 2);
  }
  return undefined;
}

/** outline draws the peaks of both channels as a path in a box: the callee above the middle, the bot below it. */
export function outline(w: Wave, width: number, height: number): string {
  const [up, down] = w.peaks;
  const middle = height / 2;
  const step = width / up.length;
  let path = '';
  up.forEach((p, i) => {
    const x = ((i + 0.5) * step).toFixed(1);
    const top = middle - Math.max(0.4, p * middle);
    const bottom = middle + Math.max(0.4, (down[i] ?? 0) * middle);
    path += `M${x} ${top.toFixed(1)}V${bottom.toFixed(1)}`;
  });
  return path;
}
