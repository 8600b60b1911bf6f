import { expect, test } from 'vitest';

import { EventParser } from './events';

const stream =
  'retry: 2000\n\nid: a1\nevent: snapshot\ndata: {"x":1}\n\n: heartbeat\n\nid: a2\nevent: delta\n' +
  'data: {"x":\ndata: 2}\n\n';

test('events are read however the stream is cut', () => {
  const whole = new EventParser().push(stream);
  expect(whole).toEqual([
    { type: 'snapshot', id: 'a1', data: '{"x":1}' },
    { type: '', id: undefined, data: '' },
    { type: 'delta', id: 'a2', data: '{"x":\n2}' },
  ]);
  for (let cut = 1; cut < stream.length; cut++) {
    const parser = new EventParser();
    expect([...parser.push(stream.slice(0, cut)), ...parser.push(stream.slice(cut))]).toEqual(whole);
    expect(parser.retryMs).toBe(2000);
  }
});

test.each(['\n', '\r', '\r\n'])('a line may end in %j', (end) => {
  const lines = ['event: gone', 'data: {}', '', ': x', ''];
  const parser = new EventParser();
  const events = parser.push(lines.map((l) => l + end).join('') + 'data');
  expect(events).toEqual([
    { type: 'gone', id: undefined, data: '{}' },
    { type: '', id: undefined, data: '' },
  ]);
});

test('what the standard ignores is ignored', () => {
  const f = (text: string, want: unknown[]) => expect(new EventParser().push(text)).toEqual(want);
  f('event: snapshot\n\n', []); // no data
  f('data: cut off by the end', []);
  f('id: a\0b\ndata: x\n\n', [{ type: 'message', id: undefined, data: 'x' }]);
  f('colour: red\ndata:x\n\n', [{ type: 'message', id: undefined, data: 'x' }]);
  f('data\ndata\n\n', [{ type: 'message', id: undefined, data: '\n' }]);
  const parser = new EventParser();
  parser.push('retry: soon\n\n');
  expect(parser.retryMs).toBeUndefined();
});
