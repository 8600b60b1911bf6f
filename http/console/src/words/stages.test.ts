import { expect, test } from 'vitest';

import type { Attempt } from '../api/client';
import { stagesOf } from './stages';

const attempt: Attempt = {
  attempt_id: 'a',
  direction: 'outbound',
  short_id: 'a',
  state: 'ended',
  outcome: 'completed',
  awaiting_result: false,
  to_number: '+4915112345678',
  from_number: '+49301234567',
  started_at: '2030-03-01T09:00:00Z',
  ended_at: '2030-03-01T09:01:00Z',
};

test('the stages of an attempt follow one another without a gap', () => {
  const all = stagesOf({
    ...attempt,
    ringing_at: '2030-03-01T09:00:02Z',
    answered_at: '2030-03-01T09:00:12Z',
    connected_at: '2030-03-01T09:00:12.5Z',
  });
  expect(all.map((s) => [s.name, ((s.until ?? 0) - s.from) / 1000])).toEqual([
    ['Dialling', 2],
    ['Ringing', 10],
    ['Answered, to the bot', 0.5],
    ['Conversation', 47.5],
  ]);
  expect(stagesOf(attempt).map((s) => s.name)).toEqual(['Dialling']);
  expect(stagesOf({ ...attempt, ringing_at: '2030-03-01T09:00:02Z', ended_at: null }).at(-1)?.until).toBeUndefined();
  expect(stagesOf({ ...attempt, started_at: null })).toEqual([]);
});
