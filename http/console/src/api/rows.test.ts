import { expect, test } from 'vitest';

import { RowCounter } from './rows';

test.each<[string, number]>([
  ['', 0],
  ['a,b', 0],
  ['a,b\r\n', 0],
  ['a,b\r\n1,2\r\n3,4\r\n', 2],
  ['a,b\n1,2\n3,4', 2],
  ['a,b\r\n"line one\r\nline two",2\r\n', 1],
  ['a,b\r\n"say ""hello""\n",2\r\n3,4\r\n', 2],
  ['"a\n",b\n1,2\n', 1],
])('%j has %i rows, however it is cut', (text, want) => {
  const bytes = new TextEncoder().encode(text);
  for (let cut = 0; cut <= bytes.length; cut++) {
    const counter = new RowCounter();
    counter.push(bytes.subarray(0, cut));
    counter.push(bytes.subarray(cut));
    expect(counter.rows).toBe(want);
  }
});

test.each<[string, boolean]>([
  ['a,b\r\n1,2\r\n', true],
  ['a,b\r\n1,2', false],
  ['a,b\r\n"1\r\n', false],
])('%j ends with a whole record: %s', (text, want) => {
  const counter = new RowCounter();
  counter.push(new TextEncoder().encode(text));
  expect(counter.whole).toBe(want);
});
