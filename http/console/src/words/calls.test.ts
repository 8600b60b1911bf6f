import { expect, test } from 'vitest';

import type { Attempt } from '../api/client';
import { endsOf, trailOf, withheld } from './calls';

test('a call that came in goes from the person to us', () => {
  const numbers = { to_number: '+4915112345678', from_number: '+493012345601' };
  expect(endsOf({ direction: 'outbound', ...numbers })).toEqual({ from: '+493012345601', to: '+4915112345678' });
  expect(endsOf({ direction: 'inbound', ...numbers })).toEqual({ from: '+4915112345678', to: '+493012345601' });
  expect(endsOf({ direction: 'inbound', ...numbers, to_number: '' }).from).toBe(withheld);
});

test('a call back stands behind the attempt that it returns', () => {
  const [first, back, second] = ['0a', '0b', '0c'].map((attempt_id) => ({ attempt_id }) as Attempt);
  if (first === undefined || back === undefined || second === undefined) throw new Error('three calls');
  expect(trailOf({ attempt_trail: [first, second], calls_back: [back] })).toEqual([first, back, second]);
  expect(trailOf({ attempt_trail: [first] })).toEqual([first]);
});
