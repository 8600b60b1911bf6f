import { expect, test } from 'vitest';

import type { Schemas } from '../api/client';
import { nameIn, nameOf, numbersOf, storyOf } from './person';

test('a name is found among the variables', () => {
  expect(nameIn({ account: '7', first_name: 'Zoe', last_name: 'Meier' })).toBe('Zoe Meier');
  expect(nameIn({ Name: ' Zoe ' })).toBe('Zoe');
  expect(nameIn({ 'First name': 'Zoe' })).toBe('Zoe');
  expect(nameIn({ first_name: '', account: '7' })).toBe('');
});

const contact = (id: string, at: string, more: Partial<Schemas['PersonContact']> = {}): Schemas['PersonContact'] => ({
  campaign_id: `cmp_${id}`,
  campaign_name: `Campaign ${id}`,
  campaign_status: 'running',
  contact_id: id,
  phone_number: '+4915112349999',
  status: 'pending',
  attempts: 0,
  max_attempts: 3,
  last_result: '',
  source: 'csv',
  variables: {},
  next_eligible_at: null,
  created_at: at,
  updated_at: at,
  ...more,
});

test('the fullest name is shown', () => {
  const at = '2030-01-01T10:00:00Z';
  const variables: Record<string, string>[] = [{ name: 'Zoe' }, {}, { name: 'Zoe Quandt' }];
  const named = variables.map((v) => contact('1', at, { variables: v }));
  expect(nameOf(named)).toBe('Zoe Quandt');
  expect(nameOf([])).toBe('');
});

test('all that happened stands on one line of time, the latest first', () => {
  const call = (more: object) =>
    ({
      call_id: 'CA1',
      direction: 'outbound',
      state: 'ended',
      outcome: 'no_answer',
      to_number: '+4915112349999',
      ...more,
    }) as Schemas['Call'];
  const person: Schemas['Person'] = {
    phone_number: '+4915112349999',
    contacts: [
      contact('1', '2030-01-01T10:00:00Z', { alternates: [{ number: '+493012345678' }] }),
      contact('2', '2030-01-03T10:00:00Z', { source: 'api' }),
    ],
    calls: [
      call({ started_at: '2030-01-02T10:00:00Z', campaign_id: 'cmp_1', to_number: '+493012345678' }),
      call({ call_id: 'CA2', direction: 'inbound', outcome: 'completed', started_at: '2030-01-02T11:00:00Z' }),
      call({
        call_id: 'CA3',
        state: 'scheduled',
        outcome: null,
        scheduled: { not_before: '2030-02-01T10:00:00Z', expires_at: '2030-02-02T10:00:00Z', priority: 5 },
      }),
    ],
    exclusions: [
      {
        campaign_id: 'cmp_1',
        campaign_name: 'Campaign 1',
        phone_number: '+4915112349999',
        reason: 'asked',
        created_at: '2030-01-04T10:00:00Z',
      },
    ],
    suppressions: [{ number: '+4915112349999', reason: 'manual', created_at: '2030-01-05T10:00:00Z' }],
    held: false,
    held_until: null,
    more: false,
  };
  expect(storyOf(person).map((s) => [s.title, s.detail ?? '', s.campaign?.name ?? ''].join('|'))).toEqual([
    'Call planned||',
    'Excluded everywhere: on the suppression list|Manual|',
    'Excluded|asked|Campaign 1',
    'Added|API|Campaign 2',
    'The person called us: completed||',
    'Called: no answer|at +493012345678|Campaign 1',
    'Added|from a file|Campaign 1',
  ]);
  expect(numbersOf(person)).toEqual(['+4915112349999', '+493012345678']);
});
