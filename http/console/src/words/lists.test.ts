import { describe, expect, test } from 'vitest';

import type { Schemas } from '../api/client';
import { becameOf, mayTakeBack, staysOf, takenBackOf } from './lists';

const who = { name: 'Ada' } as Schemas['Who'];
const list = (change: Partial<Schemas['Import']> = {}) =>
  ({
    state: 'active',
    added: 940,
    invalid: 2,
    duplicate: 3,
    readmitted: 1,
    excluded: 0,
    ...change,
  }) as Schemas['Import'];

describe('an uploaded list', () => {
  test('says what became of it', () => {
    expect(becameOf(list())).toBe('940 contacts added, 4 rows left out');
    expect(becameOf(list({ added: 1, invalid: 0, duplicate: 1 }))).toBe('1 contact added');
    expect(becameOf(list({ state: 'staging' }))).toBe('is being added');
    expect(becameOf(list({ state: 'failed', problem: { code: 'x', detail: 'the file ends early' } }))).toBe(
      'was not added: the file ends early',
    );
  });

  test('says who stays when it is taken back', () => {
    expect(staysOf({ taken_back: 1, stayed: 3, reasons: { dialled: 2, call_back: 1 } })).toEqual([
      '2 contacts were dialled: they stay.',
      '1 contact was promised a call back: it stays.',
    ]);
    expect(
      takenBackOf({
        state: 'done',
        taken_back: 940,
        stayed: 1,
        reasons: { dialled: 1 },
        created_at: '',
        created_by: who,
        finished_at: '',
      }),
    ).toBe('Taken back by Ada: 940 contacts deleted, 1 contact stayed.');
  });

  test('is taken back once, by an operator, while its campaign may dial', () => {
    for (const status of ['draft', 'running', 'paused']) expect(mayTakeBack({ status }, 'operator', list())).toBe(true);
    expect(mayTakeBack({ status: 'completed' }, 'operator', list())).toBe(false);
    expect(mayTakeBack({ status: 'running' }, 'viewer', list())).toBe(false);
    expect(mayTakeBack({ status: 'running' }, 'admin', list({ added: 0 }))).toBe(false);
    expect(mayTakeBack({ status: 'running' }, 'admin', list({ state: 'failed' }))).toBe(false);
  });
});
