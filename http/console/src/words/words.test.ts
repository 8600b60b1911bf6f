import { expect, test } from 'vitest';

import type { Campaign } from '../api/client';
import { parts, processed, scope, waiting } from './campaigns';
import { actionsOf, mayAddContacts, questionOf } from './commands';
import { remedyOf, whyOf } from './constraints';
import { age, count, eta, plural, seconds, share, size } from './figures';
import { troubles } from './health';
import { defaults } from './settings.gen';
import { indicator, named, outcome } from './states';
import { clockTime, daysOf, inZone, minuteOf, windowOf } from './times';

const settings: Campaign['settings'] = {
  ...defaults,
  name: 'Autumn',
  bot_id: 'sales',
  concurrency: 5,
  window: { zone: 'Europe/Berlin', start: '09:00', end: '18:00', days: ['Mon', 'Tue', 'Wed', 'Thu', 'Fri'] },
  calendar_ids: [],
  number_pool: ['+493012345601'],
  retry_on_system: [],
};

function campaign(change: Partial<Campaign> = {}): Campaign {
  return {
    campaign_id: 'cmp_1',
    status: 'running',
    settings,
    version: 1,
    run: 1,
    ever_run: true,
    prepared_restart: false,
    prepared: null,
    external_config: null,
    draining: false,
    created_at: '2030-03-01T08:00:00Z',
    created_by: { name: 'olga' },
    started_at: null,
    restarted_at: null,
    restarted_by: null,
    completed_at: null,
    window_ends_at: null,
    counters: {
      total: 100,
      pending: 60,
      connected: 20,
      completed: 18,
      unanswered: 5,
      failed: 4,
      excluded: 10,
      retries_left: 150,
      abandoned: 1,
      machine_detected: 2,
      window_closed: 0,
      manually_stopped: 0,
      expired: 0,
      answer_rate: 0.5,
      completion_rate: 0.9,
      abandon_rate: 0.01,
      aht_s: 40,
      progress: 25 / 90,
      states: {
        pending: 60,
        waiting: 3,
        connected: 2,
        completed: 18,
        failed: 4,
        abandoned: 1,
        machine_detected: 2,
        excluded: 10,
      },
    },
    live: {
      dialling: 1,
      ringing: 3,
      in_progress: 2,
      constraint: 'concurrency',
      explanation: '',
      resources: [],
      at: '2030-03-01T09:00:00Z',
      indicator: 'live',
    },
    ...change,
  };
}

test('what holds a campaign back is said as the dialler says it', () => {
  const live = {
    dialling: 0,
    ringing: 0,
    in_progress: 0,
    constraint: 'seats',
    title: 'The bot is inactive',
    explanation: 'Nothing is dialled.',
    severity: 'outage' as const,
    resources: [],
    at: '',
  };
  expect(whyOf(campaign({ live }))).toEqual({
    title: 'The bot is inactive',
    sentence: 'Nothing is dialled.',
    normal: false,
  });
  expect(whyOf(campaign({ live: { ...live, severity: 'normal' } }))?.normal).toBe(true);
  expect(whyOf(campaign({ status: 'completed' }))).toBeUndefined();
  expect(whyOf(campaign({ live: null }))).toBeUndefined();
  expect(remedyOf(campaign({ live: { ...live, remedy: 'activate_bot' } }))).toEqual({
    label: 'Activate the bot',
    page: '/bots',
  });
  expect(remedyOf(campaign({ live: { ...live, remedy: 'resume' } }))).toBeUndefined();
  expect(remedyOf(campaign({ live }))).toBeUndefined();
});

test('progress counts final outcomes, and leaves the excluded out', () => {
  const c = campaign();
  expect([processed(c), scope(c), waiting(c)]).toEqual([25, 90, 65]);
  expect(parts(c).map((p) => p.state)).toEqual(['completed', 'failed', 'abandoned', 'machine_detected']);
  expect(parts(c).reduce((sum, p) => sum + p.share, 0)).toBeCloseTo(c.counters.progress ?? 0);
  expect(parts(campaign({ counters: { ...c.counters, total: 0, states: {} } }))).toEqual([]);
});

test('buttons follow the table of states and transitions', () => {
  const f = (change: Partial<Campaign>, want: string[]) =>
    expect(actionsOf(campaign(change), 'operator')).toEqual(want);
  f({ status: 'draft', ever_run: false }, ['start', 'edit', 'clone', 'delete']);
  f({ status: 'draft', ever_run: true, prepared_restart: true }, ['start', 'cancel-restart', 'edit', 'clone']);
  f({ status: 'running' }, ['pause', 'stop', 'clone']);
  f({ status: 'paused' }, ['resume', 'stop', 'edit', 'clone']);
  f({ status: 'completed' }, ['restart', 'clone']);
  f({ status: 'failed' }, ['restart', 'clone']);
  f({ status: 'completed', draining: true }, ['clone']);
  expect(actionsOf(campaign(), 'viewer')).toEqual([]);
  expect(actionsOf(campaign(), 'admin')).toEqual(['pause', 'stop', 'clone']);
  const g = (change: Partial<Campaign>) => mayAddContacts(campaign(change), 'operator');
  expect([
    g({ status: 'running' }),
    g({ status: 'draft', ever_run: false }),
    g({ status: 'draft' }),
    g({ status: 'paused' }),
    g({ status: 'completed' }),
  ]).toEqual([true, true, false, false, false]);
});

test('a dialog says what an action will do', () => {
  for (const action of ['start', 'pause', 'resume', 'stop', 'restart', 'cancel-restart', 'delete'] as const) {
    const q = questionOf(action, campaign({ live: null }));
    expect(q.consequences.length).toBeGreaterThan(0);
    for (const line of q.consequences) expect(line).toMatch(/^[A-Z0-9].*\.$/);
  }
  const stop = questionOf('stop', campaign());
  expect(stop.grave).toBe(true);
  expect(stop.consequences.join(' ')).toContain('4 ringing lines cancelled');
  expect(stop.consequences.join(' ')).toContain('2 conversations in progress');
  expect(
    questionOf('stop', campaign({ settings: { ...settings, stop_ends_calls: true } })).consequences.join(' '),
  ).toContain('2 conversations ended');
  expect(
    questionOf('start', campaign({ settings: { ...settings, single_day: true } })).consequences.join(' '),
  ).toContain('Window Closed');
});

test('the indicator has the words of the specification', () => {
  const f = (of: NonNullable<NonNullable<Campaign['live']>['indicator']>) =>
    indicator(
      campaign({
        live: {
          dialling: 0,
          ringing: 0,
          in_progress: 0,
          constraint: '',
          explanation: '',
          resources: [],
          at: '',
          indicator: of,
        },
      }),
    );
  expect(f('live')).toEqual({ label: 'Live Activity', tone: 'green' });
  expect(f('idle')).toEqual({ label: 'Idle, waiting for retries', tone: 'amber' });
  expect(
    indicator(
      campaign({
        live: {
          dialling: 0,
          ringing: 0,
          in_progress: 0,
          constraint: 'trunk_health',
          explanation: '',
          resources: [],
          at: '',
          indicator: 'stopped',
        },
      }),
    ),
  ).toEqual({ label: 'Stopped: no trunk', tone: 'red' });
  expect(f('stopped')).toEqual({ label: 'Stopped: an outage', tone: 'red' });
  expect(f('outside_window')).toEqual({ label: 'Paused, outside time window', tone: 'orange' });
  expect(indicator(campaign({ status: 'completed' }))).toBeUndefined();
});

test('a value that is not known is shown as its words', () => {
  expect(named(outcome, 'no_answer').label).toBe('No answer');
  expect(named(outcome, 'line_on_fire')).toEqual({ label: 'Line on fire', tone: 'grey' });
  expect(named(outcome, 'toString').label).toBe('ToString');
});

test('figures', () => {
  expect([count(1234567), count(0), count(null), count(undefined)]).toEqual(['1,234,567', '0', '--', '--']);
  expect([share(0), share(0.1234), share(1), share(null)]).toEqual(['0.0\u00a0%', '12.3\u00a0%', '100.0\u00a0%', '--']);
  expect([0.4, 5, 9.96, 48, 60, 65, 1800, 3600, 5400, 7199].map(seconds)).toEqual([
    '0.4 s',
    '5 s',
    '10.0 s',
    '48 s',
    '1 min',
    '1 min 5 s',
    '30 min',
    '1 h',
    '1 h 30 min',
    '2 h',
  ]);
  expect([-500, 0, 8_400, 59_999, 60_000, 3_600_000, 86_400_000 * 3].map(age)).toEqual([
    '0s ago',
    '0s ago',
    '8s ago',
    '59s ago',
    '1min ago',
    '1h ago',
    '3 days ago',
  ]);
  expect([20, 720, 3900, 47.9 * 3600, 253.4 * 3600, null].map(eta)).toEqual([
    '~1m',
    '~12m',
    '~1h5m',
    '~47h54m',
    '~11 days',
    undefined,
  ]);
  expect([999, 1000, 3_400_000, 2e9].map(size)).toEqual(['999 B', '1.0 kB', '3.4 MB', '2.0 GB']);
  expect([plural(1, 'contact'), plural(0, 'contact'), plural(1000, 'entry', 'entries')]).toEqual([
    '1 contact',
    '0 contacts',
    '1,000 entries',
  ]);
});

test('windows and times', () => {
  expect(windowOf(settings.window)).toBe('Mon–Fri, 09:00–18:00, Europe/Berlin');
  expect(windowOf({ start: '22:00', end: '02:00', zone: 'UTC' })).toBe('every day, 22:00–02:00 (next day), UTC');
  expect(windowOf({ start: '00:00', end: '00:00', zone: 'UTC', days: null })).toBe('every day, all day, UTC');
  expect(windowOf({ start: '09:00', end: '18:00', zone: 'UTC', contact_zone: true })).toContain(
    'clock of each contact',
  );
  expect([daysOf(['Sat', 'Sun']), daysOf(['Mon', 'Wed', 'Thu', 'Fri', 'Sun']), daysOf([])]).toEqual([
    'Sat, Sun',
    'Mon, Wed–Fri, Sun',
    'every day',
  ]);
  const at = new Date('2030-03-01T12:30:05Z');
  expect(clockTime(at, new Date('2030-03-01T23:00:00Z'), 'UTC')).toBe('12:30:05');
  expect(clockTime(at, new Date('2030-03-02T00:00:00Z'), 'UTC')).toContain('1 Mar 2030');
  expect(inZone(at, 'America/New_York')).toContain('07:30:05 America/New_York');
  expect(inZone(at, 'No/Where')).not.toContain('No/Where');
  expect([minuteOf(at, 'Asia/Tokyo'), minuteOf(at, 'No/Where')]).toEqual(['21:30', undefined]);
});

test('each fault has its sentence', () => {
  // docs/faults.md quotes these; its test looks for them here.
  const banner = (name: string, detail: string) =>
    troubles([{ name, ok: false, detail }]).map((x) => `${x.title}. ${x.sentence} ${x.detail}`)[0];
  for (const [detail, said] of [
    ['the database cannot be reached; it is tried again', 'The database cannot be reached'],
    ['the database does not answer in time; it is tried again', 'The database does not answer in time'],
    ["the database's volume is full; make room on it", "The database's volume is full"],
    ['the database takes no writes: it is a standby', 'The database takes no writes'],
  ] as const) {
    expect(banner('database', detail)).toContain(
      'The database is away. Calls in progress go on. ' +
        'No new call is placed and nothing can be changed until it is back; dialling then resumes by itself.',
    );
    expect(banner('database', detail)).toContain(said);
  }
  expect(banner('spool', 'the disk of the spool takes no writes')).toContain(
    'The spool takes nothing more. What calls in progress produce cannot be kept on disk: ' +
      'answered calls wait for the database. The disk of the spool takes no writes',
  );
  const ended = ['abandoned', 'connected_no_result', 'trunk_error', 'media_error', 'lost', 'system_error'].map(
    (o) => named(outcome, o).label,
  );
  expect(ended).toEqual(['Abandoned', 'Connected, no result', 'Trunk error', 'Media error', 'Lost', 'System error']);
});

test('what does not work is said on every page, in words', () => {
  expect(
    troubles([
      { name: 'database', ok: true },
      { name: 'trunks', ok: false, detail: 'no active trunk is configured' },
    ]),
  ).toEqual([]);
  const [away] = troubles([
    {
      name: 'database',
      ok: false,
      detail: "the database's volume is full; make room on it",
      since: '2030-03-01T09:00:00Z',
    },
  ]);
  expect(away?.title).toBe('The database is away');
  expect(away?.sentence).toContain('No new call is placed');
  expect(away?.detail).toBe("The database's volume is full; make room on it");
  expect(away?.since).toBe('2030-03-01T09:00:00Z');
  for (const name of ['database', 'spool', 'rtp_ports', 'descriptors', 'replaced', 'cluster', 'draining'])
    expect(troubles([{ name, ok: false }])[0]?.sentence).toMatch(/^[A-Z].*\.$/);
});
