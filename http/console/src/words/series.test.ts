import { expect, test } from 'vitest';

import type { Schemas } from '../api/client';
import type { Sample } from '../api/queries';
import { extended, heardWithin, pointsOf, stepsOf, summaryOf } from './series';

const series: Schemas['Series'] = {
  run: 1,
  from: '2030-05-02T09:00:00Z',
  to: '2030-05-02T09:00:35Z',
  step_s: 10,
  dials: [20, 10, 0, 5],
  decided: [20, 10, 0, 0],
  answered: [10, 2, 0, 0],
  live_answers: [4, 4, 0, 0],
  abandoned: [0, 1, 0, 0],
  ringing: [1, 2, 3, 4],
  connected: [0.5, 1.5, 0, 0],
};
const begin = Date.parse(series.from) / 1000;

test('a point is the middle of its step, with the rates of its calls', () => {
  const points = pointsOf(series, false);
  expect(points[0]).toEqual({
    at: begin + 5,
    dialsPerS: 2,
    ringing: 1,
    connected: 0.5,
    answerRate: 0.5,
    abandonRate: 0,
  });
  expect(points[1]).toMatchObject({ answerRate: 0.2, abandonRate: 0.125 });
  expect(points[2]).toMatchObject({ dialsPerS: 0, answerRate: null, abandonRate: 0.125 });
  expect(points[3]).toMatchObject({ dialsPerS: 1 }); // five seconds of it are over
});

test('answer rates are drawn of the last calls, not of a handful', () => {
  expect(pointsOf(series, false, 1, 15).map((p) => p.answerRate)).toEqual([10 / 20, 12 / 30, 12 / 30, 12 / 30]);
  expect(pointsOf(series, false, 1, 10).map((p) => p.answerRate)).toEqual([10 / 20, 2 / 10, 2 / 10, 2 / 10]);
});

test('the step that goes on is what is seen live, its rates by what the counters have grown by', () => {
  const points = pointsOf(series, true);
  expect(points).toHaveLength(3);
  const sample = (at: string, attempts: number, answered: number, live_answers: number, abandoned: number): Sample => ({
    live: {
      dialling: 0,
      ringing: 7,
      in_progress: 3,
      dials_per_s: 1.5,
      constraint: '',
      explanation: '',
      resources: [],
      at,
    },
    counters: { attempts, answered, live_answers, abandoned } as Sample['counters'],
  });
  const base = sample('2030-05-02T09:00:30Z', 100, 50, 40, 4);
  const all = extended(points, series, [base, sample('2030-05-02T09:00:33Z', 140, 60, 44, 5)]);
  expect(all).toHaveLength(4);
  expect(all[3]).toEqual({
    at: begin + 33,
    dialsPerS: 1.5,
    ringing: 7,
    connected: 3,
    answerRate: 10 / 40,
    abandonRate: 2 / 12,
  });
  // Of too few calls: those of the steps before are taken in.
  expect(extended(points, series, [base, sample('2030-05-02T09:00:33Z', 110, 51, 40, 4)])[3]).toMatchObject({
    answerRate: 3 / 20,
    abandonRate: 1 / 8,
  });
  // The page was opened after the last step: nothing has grown yet.
  expect(extended(points, series, [sample('2030-05-02T09:00:33Z', 140, 60, 44, 5)])[3]).toMatchObject({
    answerRate: 12 / 30,
    abandonRate: 1 / 8,
  });
});

test('the table has no more rows than it may, and loses no call', () => {
  const rows = stepsOf(series, false, 2);
  expect(rows).toHaveLength(2);
  expect(rows[0]).toMatchObject({ dialsPerS: 1.5, ringing: 1.5, connected: 1, answerRate: 0.4 });
});

test('what the charts show is said in sentences', () => {
  const text = summaryOf(series, pointsOf(series, false));
  expect(text).toContain('35 dials, at most 2.0 a second');
  expect(text).toContain('Answer rate 40.0\u00a0%, abandon rate 12.5\u00a0%.');
  const nothing = {
    ...series,
    dials: [0],
    decided: [0],
    answered: [0],
    live_answers: [0],
    abandoned: [0],
    ringing: [0],
    connected: [0],
  };
  expect(summaryOf(nothing, pointsOf(nothing, false))).not.toMatch(/NaN|undefined|null/);
});

test('how soon the callees heard the bot is a bound of the histogram', () => {
  const bars = [
    { up_to_ms: 100, count: 5 },
    { up_to_ms: 200, count: 4 },
    { up_to_ms: null, count: 1 },
  ];
  expect([heardWithin(bars, 0.5), heardWithin(bars, 0.9), heardWithin(bars, 0.95), heardWithin([], 0.5)]).toEqual([
    100,
    200,
    null,
    undefined,
  ]);
});
