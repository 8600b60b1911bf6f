import type { Schemas } from '../api/client';
import { count, none, rate, seconds } from './figures';

export type Simulation = Schemas['Simulation'];
export type Side = Schemas['SimulatedSide'];
export type Asked = Schemas['SimulationRequest'];

/** ended says how a played campaign ended. */
export const ended: Record<Side['summary']['ended'], string> = {
  list_done: 'The whole list is done.',
  window_ended: 'The window of the single day ends before the list does.',
  horizon: 'After 14 days the list is not done; what was played is shown.',
  budget: 'The list is longer than what is played; its duration is extrapolated.',
};

/** Row is one figure of both sides. */
export interface Row {
  name: string;
  label: string;
  about: string;
  of: (s: Side['summary']) => number | null | undefined;
  write: (v: number | null | undefined) => string;
  /** Which way is better for the operator, where that can be said. */
  better?: 'more' | 'less';
}

const hundredth = (v: number | null | undefined) => (v === null || v === undefined ? none : `${rate(v)}\u00a0%`);

export const rows: Row[] = [
  { name: 'list_dialling', label: 'Dialling for the whole list', about: 'Time within the window until every contact is final; extrapolated when the list is not done.', of: (s) => s.list_dialling_s, write: seconds, better: 'less' },
  { name: 'duration', label: 'From start to end', about: 'With the nights and days on which the window is closed.', of: (s) => s.duration_s, write: seconds, better: 'less' },
  { name: 'connects', label: 'Conversations an hour', about: 'Persons who were put through, an hour of dialling.', of: (s) => s.connects_per_h, write: rate, better: 'more' },
  { name: 'busy', label: 'Seats busy', about: 'Share of the seats’ time in calls while dialling.', of: (s) => s.busy_pct, write: hundredth, better: 'more' },
  { name: 'abandoned', label: 'Abandoned', about: 'Share of the live answers that found no free seat.', of: (s) => s.abandon_pct, write: (v) => (v === null || v === undefined ? none : `${v.toFixed(2)}\u00a0%`), better: 'less' },
  { name: 'dials', label: 'Dials', about: 'Calls that were placed.', of: (s) => s.dials, write: count },
  { name: 'connected', label: 'Conversations', about: 'Persons who were put through.', of: (s) => s.connected, write: count, better: 'more' },
  { name: 'left_at_close', label: 'Left when the window first closes', about: 'Contacts that are not final at the end of the first day.', of: (s) => s.contacts_left_at_close ?? 0, write: count, better: 'less' },
];

/** change writes by how much the second value differs from the first, in per cent; undefined when that says nothing. */
export function change(a: number | null | undefined, b: number | null | undefined): string | undefined {
  if (a === null || a === undefined || b === null || b === undefined) return undefined;
  if (a === b) return 'same';
  if (a === 0) return undefined;
  const pct = (100 * (b - a)) / Math.abs(a);
  if (Math.abs(pct) < 0.05) return 'same';
  return `${pct > 0 ? '+' : '−'}${rate(Math.abs(pct))}\u00a0%`;
}

/** Values are what the form holds: numbers as they are shown. */
export interface Values {
  seats: number;
  concurrency: number;
  abandon_cap_pct: number;
  pacing_mode: 'strict' | 'hybrid' | 'progressive';
  max_attempts: number;
  retry_delay_min: number;
  ring_timeout_s: number;
  start: string;
  end: string;
}

export function valuesOf(s: Side['settings']): Values {
  return {
    seats: s.seats,
    concurrency: s.concurrency,
    abandon_cap_pct: s.abandon_cap_pct,
    pacing_mode: s.pacing_mode as Values['pacing_mode'],
    max_attempts: s.max_attempts,
    retry_delay_min: s.retry_delay_s / 60,
    ring_timeout_s: s.ring_timeout_s,
    start: s.window.start,
    end: s.window.end,
  };
}

/** whatIf gives what differs from the settings as they are; null when nothing does. */
export function whatIf(is: Side['settings'], v: Values): NonNullable<Asked['what_if']> | null {
  const w: NonNullable<Asked['what_if']> = {};
  if (v.seats !== is.seats) w.seats = v.seats;
  if (v.concurrency !== is.concurrency) w.concurrency = v.concurrency;
  if (v.abandon_cap_pct !== is.abandon_cap_pct) w.abandon_cap_pct = v.abandon_cap_pct;
  if (v.pacing_mode !== is.pacing_mode) w.pacing_mode = v.pacing_mode;
  if (v.max_attempts !== is.max_attempts) w.max_attempts = v.max_attempts;
  const delay = Math.round(v.retry_delay_min * 60);
  if (delay !== is.retry_delay_s) w.retry_delay_s = delay;
  if (v.ring_timeout_s !== is.ring_timeout_s) w.ring_timeout_s = v.ring_timeout_s;
  if (v.start !== is.window.start || v.end !== is.window.end) w.window = { ...is.window, start: v.start, end: v.end };
  return Object.keys(w).length === 0 ? null : w;
}
