import { expect, test } from 'vitest';

import type { Json } from './merge';
import { mergePatch } from './merge';

// The examples of RFC 7396, appendix A.
test.each<[Json, Json, Json]>([
  [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
  [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
  [{ a: 'b' }, { a: null }, {}],
  [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
  [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
  [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
  [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
  [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
  [
    ['a', 'b'],
    ['c', 'd'],
    ['c', 'd'],
  ],
  [{ a: 'b' }, ['c'], ['c']],
  [{ a: 'foo' }, null, null],
  [{ a: 'foo' }, 'bar', 'bar'],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: 'b', c: null }, { a: 'b' }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
])('%j patched with %j is %j', (target, patch, want) => {
  const before = JSON.stringify(target);
  expect(mergePatch(target, patch)).toEqual(want);
  expect(JSON.stringify(target)).toBe(before);
});

test('what a patch does not touch stays the same object', () => {
  const target = { a: { x: 1 }, b: { y: 1 } };
  const merged = mergePatch(target, { b: { y: 2 } }) as typeof target;
  expect(merged.a).toBe(target.a);
  expect(merged.b).not.toBe(target.b);
});

test('a key of the wire never reaches a prototype', () => {
  const merged = mergePatch({}, JSON.parse('{"__proto__": {"admin": true}}') as Json) as object;
  expect(Object.keys(merged)).toEqual(['__proto__']);
  expect((merged as { admin?: boolean }).admin).toBeUndefined();
});
