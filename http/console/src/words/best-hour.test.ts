import { expect, test } from 'vitest';

import { answeredOf, differenceOf, placeName, weekOf } from './best-hour';

test('the difference is said with its interval and whether it is clear', () => {
  const of = (points: number, low: number, high: number) =>
    differenceOf({
      with: { dials: 1084, answers: 0 },
      control: { dials: 120, answers: 0 },
      difference: { points, low, high, clear: low > 0 || high < 0 },
    });
  expect(of(2.1, -0.4, 4.6)).toBe('1,204 dials: +2.1 points, between −0.4 and +4.6: not yet clear');
  expect(of(3.0, 1.2, 4.8)).toBe('1,204 dials: +3.0 points, between +1.2 and +4.8: it helps');
  expect(of(-3.0, -4.8, -1.2)).toBe('1,204 dials: −3.0 points, between −4.8 and −1.2: it does harm');
  expect(differenceOf({ with: { dials: 1, answers: 1 }, control: { dials: 0, answers: 0 }, difference: null })).toBe(
    '1 dial: nothing to compare yet',
  );
  expect(answeredOf({ dials: 1084, answers: 312 })).toBe('312 of 1,084 dials (28.8\u00a0%)');
  expect(answeredOf({ dials: 0, answers: 0 })).toBe('0 of 0 dials');
});

test('the week begins on Monday', () => {
  const dials = new Array<number>(168).fill(0);
  dials[24 + 9] = 5; // Monday at 9
  dials[20] = 7; // Sunday at 20
  const week = weekOf({ hour_dials: dials, hour_chances: new Array<number>(168).fill(0.2) });
  expect(week[0]?.[9]).toEqual({ hour: 9, dials: 5, chance: 0.2 });
  expect(week[6]?.[20]?.dials).toBe(7);
});

test('a country has its name', () => {
  expect(['DE', '001', ''].map(placeName)).toEqual(['Germany', 'International services', 'Unknown country']);
});
