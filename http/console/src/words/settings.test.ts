import { expect, test } from 'vitest';

import type { Settings } from './settings';
import {
  clashes,
  counts,
  different,
  flat,
  lockedOnceRun,
  merged,
  nameOf,
  namesOf,
  patchOf,
  poolOf,
  rowOf,
  valueOf,
} from './settings';
import { defaults, table } from './settings.gen';

const settings: Settings = {
  ...defaults,
  name: 'Autumn',
  bot_id: 'sales',
  concurrency: 5,
  window: { zone: 'Europe/Berlin', start: '09:00', end: '18:00', days: ['Mon', 'Tue', 'Wed', 'Thu', 'Fri'] },
  calendar_ids: [],
  number_pool: ['+493012345601'],
  retry_on_system: ['no_answer', 'busy'],
};

test('every setting is asked for in one section of the form, or in none', () => {
  const all = (['basics', 'pool', 'window', 'retries', 'care', 'more'] as const).flatMap((g) => namesOf(g));
  expect(new Set(all).size).toBe(all.length);
  expect([...all].sort()).toEqual(
    [
      ...table.map((f) => f.name),
      'window.zone',
      'window.start',
      'window.end',
      'window.days',
      'window.holidays',
      'window.contact_zone',
    ].sort(),
  );
  expect([...lockedOnceRun]).toEqual(['name', 'bot_id']);
});

test('a setting counts only while that counts which it is under', () => {
  const f = (name: string, all: Record<string, unknown>) =>
    counts(rowOf(name) ?? { name: '', group: 'more', label: '', kind: 'text' }, all);
  expect([f('amd_listen_ms', { amd: 'off' }), f('amd_listen_ms', { amd: 'parallel' })]).toEqual([false, true]);
  expect([
    f('transfer_limit', { transfer_targets: [] }),
    f('transfer_limit', { transfer_targets: ['+49*'] }),
    f('weight', {}),
  ]).toEqual([false, true, true]);
});

test('the number pool shows the first four numbers, then a count of the rest', () => {
  const pool = ['+4930', '+4931', '+4932', '+4933', '+4934', '+4935'];
  expect(poolOf(pool)).toEqual({ first: pool.slice(0, 4), more: 'and 2 more' });
  expect(poolOf(pool.slice(0, 4))).toEqual({ first: pool.slice(0, 4), more: '' });
  expect(valueOf('number_pool', pool)).toBe('+4930, +4931, +4932, +4933 and 2 more');
  expect(valueOf('number_pool', [])).toBe('None');
});

test('settings are written as an operator says them', () => {
  const written = Object.fromEntries(Object.entries(flat(settings)).map(([k, v]) => [k, valueOf(k, v)]));
  expect(written).toMatchObject({
    retry_delay_s: '30 min',
    retry_on_system: 'No answer, Busy',
    retry_on_custom: 'None',
    abandon_cap_pct: '3\u00a0%',
    pacing_mode: 'Strict',
    'window.days': 'Mon–Fri',
    callback_detection: 'Disabled',
    sticky_exclusion: 'On',
    stop_redials_after_s: 'Rule off',
    single_day: 'Multi-day',
    max_lines: 'No limit of its own',
    recording_retention_days: '30 days',
  });
  expect(valueOf('stop_redials_after_s', 45)).toBe('45 s');
  expect([nameOf('retry_delay_s'), nameOf('window.days'), nameOf('made_later')]).toEqual([
    'Retry Delay',
    'Working Days',
    'Made later',
  ]);
  expect(valueOf('made_later', { a: 1 })).toBe('{"a":1}');
});

test('an edit sends what was changed and nothing else', () => {
  const edited: Settings = {
    ...settings,
    concurrency: 9,
    window: { ...settings.window, end: '20:00', holidays: [] },
    retry_on_custom: ['later'],
  };
  expect(different(settings, edited)).toEqual(['concurrency', 'window.end', 'retry_on_custom']);
  expect(patchOf(settings, edited)).toEqual({ concurrency: 9, window: { end: '20:00' }, retry_on_custom: ['later'] });
  expect(patchOf(settings, structuredClone(settings))).toEqual({});
  const withURL: Settings = { ...settings, config_url: 'https://example.org/c.json' };
  expect(patchOf(withURL, { ...withURL, config_url: '' })).toEqual({ config_url: null });
});

test('what two people changed at once is compared setting by setting', () => {
  const theirs: Settings = {
    ...settings,
    concurrency: 7,
    max_attempts: 5,
    window: { ...settings.window, end: '17:00' },
  };
  const mine: Settings = { ...settings, concurrency: 9, retry_delay_s: 600, max_attempts: 5 };
  expect(clashes(settings, theirs, mine)).toEqual([
    { field: 'concurrency', before: 5, theirs: 7, mine: 9, both: true },
    { field: 'window.end', before: '18:00', theirs: '17:00', mine: '18:00', both: false },
    { field: 'max_attempts', before: 3, theirs: 5, mine: 5, both: false },
  ]);
  const a = merged(settings, theirs, mine, new Set());
  expect([a.concurrency, a.retry_delay_s, a.max_attempts, a.window.end]).toEqual([7, 600, 5, '17:00']);
  expect(merged(settings, theirs, mine, new Set(['concurrency'])).concurrency).toBe(9);
});
