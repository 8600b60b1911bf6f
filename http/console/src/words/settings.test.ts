import { readFileSync } from 'node:fs';

import { expect, test } from 'vitest';

import type { Settings } from './settings';
import { clashes, different, flat, merged, nameOf, patchOf, poolOf, settingName, valueOf } from './settings';

const settings: Settings = {
  name: 'Autumn', bot_id: 'sales', concurrency: 5, window: { zone: 'Europe/Berlin', start: '09:00', end: '18:00', days: ['Mon', 'Tue', 'Wed', 'Thu', 'Fri'] },
  single_day: false, always_on: false, number_pool: ['+493012345601'], max_attempts: 3, retry_delay_s: 1800, retry_on_system: ['no_answer', 'busy'], retry_on_custom: [],
  stop_redials_after_s: 0, redial_only_under_s: 0, ring_timeout_s: 30, call_limit_s: 900, result_timeout_s: 900, amd: 'off', abandon_cap_pct: 3, pacing_mode: 'strict',
  max_lines: 0, callback_detection: false, sticky_exclusion: true, sticky_number: false, local_match: false, stop_ends_calls: false, recording: 'off', recording_retention_days: 30,
};

test('every setting of the API has a name', () => {
  const yaml = readFileSync(new URL('../../../openapi.yaml', import.meta.url), 'utf8');
  const block = /^ {4}SettingsRequest:\n([\s\S]*?)^ {4}SettingsPatch:/m.exec(yaml)?.[1] ?? '';
  const fields = [...block.matchAll(/^ {8}(\w+):/gm)].map((m) => m[1] ?? '').filter((f) => f !== 'window');
  expect(fields.length).toBeGreaterThan(25);
  for (const f of fields) expect(Object.hasOwn(settingName, f), f).toBe(true);
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
    retry_delay_s: '30 min', retry_on_system: 'No answer, Busy', retry_on_custom: 'None', abandon_cap_pct: '3\u00a0%', pacing_mode: 'Strict', 'window.days': 'Mon–Fri',
    callback_detection: 'Disabled', sticky_exclusion: 'On', stop_redials_after_s: 'Rule off', single_day: 'Multi-day', max_lines: 'No limit of its own', recording_retention_days: '30 days',
  });
  expect(valueOf('stop_redials_after_s', 45)).toBe('45 s');
  expect([nameOf('retry_delay_s'), nameOf('window.days'), nameOf('made_later')]).toEqual(['Retry Delay', 'Working Days', 'Made later']);
  expect(valueOf('made_later', { a: 1 })).toBe('{"a":1}');
});

test('an edit sends what was changed and nothing else', () => {
  const edited: Settings = { ...settings, concurrency: 9, window: { ...settings.window, end: '20:00', holidays: [] }, retry_on_custom: ['later'] };
  expect(different(settings, edited)).toEqual(['concurrency', 'window.end', 'retry_on_custom']);
  expect(patchOf(settings, edited)).toEqual({ concurrency: 9, window: { end: '20:00' }, retry_on_custom: ['later'] });
  expect(patchOf(settings, structuredClone(settings))).toEqual({});
  const withURL: Settings = { ...settings, config_url: 'https://example.org/c.json' };
  expect(patchOf(withURL, { ...withURL, config_url: '' })).toEqual({ config_url: null });
});

test('what two people changed at once is compared setting by setting', () => {
  const theirs: Settings = { ...settings, concurrency: 7, max_attempts: 5, window: { ...settings.window, end: '17:00' } };
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
