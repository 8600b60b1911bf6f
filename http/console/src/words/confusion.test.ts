import { expect, test } from 'vitest';

import { confusionOf } from './confusion';
import { labelFor, verdicts } from './verdicts';

test('the cells of trunks and countries add up to one matrix', () => {
  const m = confusionOf([
    { label: 'human', verdict: 'human', count: 90 },
    { label: 'human', verdict: 'machine', count: 2 },
    { label: 'human', verdict: 'human', count: 8 },
    { label: 'machine', verdict: 'unknown', count: 3 },
  ]);
  expect(m.verdicts).toEqual(['human', 'machine', 'unknown']);
  expect(m.rows).toEqual([
    { label: 'human', counts: [98, 2, 0], total: 100, right: 98 },
    { label: 'machine', counts: [0, 0, 3], total: 3, right: 0 },
  ]);
  expect(m.total).toBe(103);
});

test('every verdict has a key of its own', () => {
  expect(new Set(verdicts.map((v) => v.key)).size).toBe(verdicts.length);
  for (const v of verdicts) expect(labelFor(v.key.toUpperCase())).toBe(v.verdict);
  expect(['p', 'j', 'k', 'z'].map(labelFor)).toEqual([undefined, undefined, undefined, undefined]);
});
