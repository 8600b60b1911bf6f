import { describe, expect, it } from 'vitest';

import type { Side } from './simulation';
import { apart, between, change, people, rows, trusted, valueOf, whatIf } from './simulation';

const is: Side['settings'] = {
  seats: 10,
  concurrency: 20,
  max_lines: 0,
  abandon_cap_pct: 3,
  pacing_mode: 'strict',
  max_attempts: 3,
  retry_delay_s: 1800,
  ring_timeout_s: 30,
  single_day: false,
  window: { zone: 'UTC', start: '09:00', end: '17:00', days: ['Mon'], holidays: null },
};

describe('what if', () => {
  it('is nothing while nothing was changed', () => {
    expect(whatIf(is, { ...is, window: { ...is.window } })).toBeNull();
  });
  it('is what was changed alone', () => {
    expect(whatIf(is, { ...is, seats: 12, retry_delay_s: 30 })).toEqual({ seats: 12, retry_delay_s: 30 });
  });
  it('keeps the days of a window whose hours change', () => {
    expect(whatIf(is, { ...is, window: { ...is.window, end: '20:00' } })).toEqual({
      window: { zone: 'UTC', start: '09:00', end: '20:00', days: ['Mon'], holidays: null },
    });
  });
});

describe('change', () => {
  it('says by how much', () => {
    expect(change(100, 150)).toBe('+50.0\u00a0%');
    expect(change(200, 150)).toBe('−25.0\u00a0%');
    expect(change(3, 3)).toBe('same');
    expect(change(0, 3)).toBeUndefined();
    expect(change(null, 3)).toBeUndefined();
  });
});

const band = (low: number, median: number, high: number) => ({ low, median, high });
const side = (low: number): Side => ({
  settings: is,
  forecast: {
    plays: 20,
    duration_s: band(low, low + 20, low + 40),
    dials: band(5, 5, 5),
    connected: band(1, 2, 3),
    abandoned: band(0, 0, 1),
  },
  summary: {
    ended: 'list_done',
    duration_s: 1,
    dialling_s: 1,
    list_dialling_s: 1,
    connects_per_h: 7,
    busy_pct: 1,
    abandon_pct: null,
    dials: 1,
    connected: 1,
    abandoned: 0,
    machines: 0,
    contacts: 1,
    contacts_played: 1,
    contacts_left: 0,
    contacts_left_at_close: null,
    constraint: '',
  },
  series: { at_s: [], busy_pct: [], dials_per_s: [], connected: [], abandon_pct: [], contacts_left: [] },
});
const row = (name: string) => {
  const r = rows.find((x) => x.name === name);
  if (!r) throw new Error(name);
  return r;
};

describe('a forecast', () => {
  it('has the median of all plays and the range of eight in ten', () => {
    expect(valueOf(row('duration'), side(10))).toBe(30);
    expect(between(row('duration'), side(10))).toBe('10 s – 50 s');
    expect(between(row('dials'), side(10))).toBe('');
  });
  it('has the figure of one play where there is no more', () => {
    expect(valueOf(row('connects'), side(10))).toBe(7);
    expect(between(row('connects'), side(10))).toBe('');
  });
  it('differs from another by more than chance when the ranges do not overlap', () => {
    expect(apart(row('duration'), side(10), side(40))).toBe(false);
    expect(apart(row('duration'), side(10), side(51))).toBe(true);
  });
  it('says how far it can be trusted', () => {
    const t = {
      runs: 6,
      duration_error_pct: 8,
      connected_error_pct: 4.2,
      duration_within_pct: 75,
      connected_within_pct: 80,
    };
    expect(trusted(t)).toBe(
      '±\u00a08.0\u00a0% of the time and ±\u00a04.2\u00a0% of the conversations, from 6 earlier runs.',
    );
    expect(trusted({ ...t, connected_within_pct: 40 })).toContain('Only 40.0 of 100 figures');
    expect(trusted(null)).toContain('No run has been compared');
  });
});

it('what dials come to is listed by share', () => {
  const kind = (name: string, share: number) => ({
    kind: name,
    share,
    ring_s: null,
    classification_s: null,
    talk_s: null,
  });
  expect(
    people([kind('busy', 0.12), kind('human', 0.4), kind('busy', 0.03), kind('no_answer', 0.45), kind('fax', 0.004)]),
  ).toBe('no answer 45\u00a0%, a person 40\u00a0%, busy 15\u00a0%');
});
