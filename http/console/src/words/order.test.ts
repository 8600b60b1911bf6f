import { expect, test } from 'vitest';

import type { Campaign } from '../api/client';
import { addressOf, columns, next, orderOf, sorted } from './order';

const campaign = (name: string, status: string, total: number, completed: number, ringing?: number) =>
  ({
    campaign_id: name,
    status,
    created_at: `2026-01-0${total}T00:00:00Z`,
    settings: { name },
    counters: { total, connected: completed, answer_rate: total > 2 ? completed / total : null, states: { completed } },
    ...(ringing === undefined ? {} : { live: { ringing, in_progress: ringing } }),
  }) as unknown as Campaign;

const list = [
  campaign('Winter 10', 'draft', 2, 0),
  campaign('autumn', 'running', 4, 1, 7),
  campaign('Winter 9', 'paused', 5, 5, 0),
];
const by = (text: string) => sorted(list, orderOf(text)).map((c) => c.settings.name);

test('words from A, with numbers as numbers', () => {
  expect(by('name')).toEqual(['autumn', 'Winter 9', 'Winter 10']);
  expect(by('-name')).toEqual(['Winter 10', 'Winter 9', 'autumn']);
  expect(by('status')).toEqual(['autumn', 'Winter 9', 'Winter 10']);
});

test('what has no figure comes last, whichever way', () => {
  expect(by('-ringing')).toEqual(['autumn', 'Winter 9', 'Winter 10']);
  expect(by('ringing')).toEqual(['Winter 9', 'autumn', 'Winter 10']);
  expect(by('-answer_rate')).toEqual(['Winter 9', 'autumn', 'Winter 10']);
  expect(by('answer_rate')).toEqual(['autumn', 'Winter 9', 'Winter 10']);
});

test('an order that nobody knows is none', () => {
  expect(by('colour')).toEqual(['autumn', 'Winter 9', 'Winter 10']);
  expect(by('')).toEqual(['autumn', 'Winter 9', 'Winter 10']);
  expect(orderOf(null)).toBeUndefined();
});

test('a column is pressed once, twice, and left alone', () => {
  const ways = (column: (typeof columns)[number]) => {
    const one = next(undefined, column);
    const two = next(one, column);
    return [one, two, next(two, column)].map(addressOf);
  };
  expect(ways('name')).toEqual(['name', '-name', '']);
  expect(ways('connected')).toEqual(['-connected', 'connected', '']);
  for (const c of columns) for (const o of ways(c)) expect(addressOf(orderOf(o))).toBe(o);
});
