import type { Schemas } from '../api/client';
import { count, none, percent, plural, rate, seconds } from './figures';
import { table } from './settings.gen';

export type Simulation = Schemas['Simulation'];
export type Side = Schemas['SimulatedSide'];
export type Asked = Schemas['SimulationRequest'];
export type Band = Schemas['Band'];
export type Trust = Schemas['Trust'];
export type BackTest = Schemas['BackTests']['back_tests'][number];

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
  /** The figure in all plays, where it was kept. */
  band?: (f: Side['forecast']) => Band;
  /** Which way is better for the operator, where that can be said. */
  better?: 'more' | 'less';
}

const hundredth = (v: number | null | undefined) => (v === null || v === undefined ? none : `${rate(v)}\u00a0%`);

export const rows: Row[] = [
  {
    name: 'list_dialling',
    label: 'Dialling for the whole list',
    about: 'Time within the window until every contact is final; extrapolated when the list is not done.',
    of: (s) => s.list_dialling_s,
    write: seconds,
    better: 'less',
  },
  {
    name: 'duration',
    label: 'From start to end',
    about: 'With the nights and days on which the window is closed.',
    of: (s) => s.duration_s,
    band: (f) => f.duration_s,
    write: seconds,
    better: 'less',
  },
  {
    name: 'connects',
    label: 'Conversations an hour',
    about: 'Persons who were put through, an hour of dialling.',
    of: (s) => s.connects_per_h,
    write: rate,
    better: 'more',
  },
  {
    name: 'busy',
    label: 'Seats busy',
    about: 'Share of the seats’ time in calls while dialling.',
    of: (s) => s.busy_pct,
    write: hundredth,
    better: 'more',
  },
  {
    name: 'abandoned',
    label: 'Abandoned',
    about: 'Share of the live answers that found no free seat.',
    of: (s) => s.abandon_pct,
    write: (v) => (v === null || v === undefined ? none : `${v.toFixed(2)}\u00a0%`),
    better: 'less',
  },
  {
    name: 'dials',
    label: 'Dials',
    about: 'Calls that were placed.',
    of: (s) => s.dials,
    band: (f) => f.dials,
    write: count,
  },
  {
    name: 'connected',
    label: 'Conversations',
    about: 'Persons who were put through.',
    of: (s) => s.connected,
    band: (f) => f.connected,
    write: count,
    better: 'more',
  },
  {
    name: 'left_at_close',
    label: 'Left when the window first closes',
    about: 'Contacts that are not final at the end of the first day.',
    of: (s) => s.contacts_left_at_close ?? 0,
    write: count,
    better: 'less',
  },
];

/** valueOf gives a figure of a side: the median of all plays where it was kept. */
export function valueOf(r: Row, s: Side): number | null | undefined {
  return r.band ? r.band(s.forecast).median : r.of(s.summary);
}

/** between writes the band of eight in ten plays; empty where none was kept or nothing varies. */
export function between(r: Row, s: Side): string {
  const b = r.band?.(s.forecast);
  return b === undefined || b.low === b.high ? '' : `${r.write(b.low)} – ${r.write(b.high)}`;
}

/** apart says whether two sides differ by more than chance: their bands do not overlap. */
export function apart(r: Row, a: Side, b: Side): boolean {
  if (!r.band) return true;
  const [x, y] = [r.band(a.forecast), r.band(b.forecast)];
  return x.high < y.low || y.high < x.low;
}

/** trustWorth is how many of a hundred forecasts must have held for their bands to be believed. */
const trustWorth = 70;

/** trusted says how forecasts have come true so far. */
export function trusted(t: Trust | null | undefined): string {
  if (t === null || t === undefined)
    return 'No run has been compared with its forecast yet; how far this can be trusted is not known.';
  const by =
    `±\u00a0${rate(t.duration_error_pct)}\u00a0% of the time and ` +
    `±\u00a0${rate(t.connected_error_pct)}\u00a0% of the conversations, from ${plural(t.runs, 'earlier run')}`;
  const held = Math.min(t.duration_within_pct, t.connected_within_pct);
  return held >= trustWorth
    ? `${by}.`
    : `${by}. Only ${rate(held)} of 100 figures lay within their range, which is made for 80: ` +
        'expect more spread than is shown.';
}

/** kindName names what a dial comes to. */
const kindName: Record<string, string> = {
  answered: 'answered',
  human: 'a person',
  machine: 'a machine',
  fax: 'a fax',
  sit: 'an announcement',
  silence: 'silence',
  unknown: 'unclear who',
  screener: 'a call screener',
  busy: 'busy',
  no_answer: 'no answer',
  rejected: 'rejected',
  invalid_number: 'invalid number',
  blocked: 'blocked',
  congestion: 'congestion',
  throttled: 'throttled',
  trunk_error: 'trunk error',
};

/** people lists what dials come to, the commonest first. */
export function people(kinds: Simulation['people']['kinds']): string {
  const shares = new Map<string, number>();
  for (const k of kinds) {
    const name = kindName[k.kind] ?? k.kind.replaceAll('_', ' ');
    shares.set(name, (shares.get(name) ?? 0) + k.share);
  }
  return [...shares]
    .filter(([, share]) => share >= 0.005)
    .sort((a, b) => b[1] - a[1])
    .map(([name, share]) => `${name} ${percent(share)}`)
    .join(', ');
}

/** change writes by how much the second value differs from the first, in per cent; undefined when that says nothing. */
export function change(a: number | null | undefined, b: number | null | undefined): string | undefined {
  if (a === null || a === undefined || b === null || b === undefined) return undefined;
  if (a === b) return 'same';
  if (a === 0) return undefined;
  const pct = (100 * (b - a)) / Math.abs(a);
  if (Math.abs(pct) < 0.05) return 'same';
  return `${pct > 0 ? '+' : '−'}${rate(Math.abs(pct))}\u00a0%`;
}

/** Values are what the form holds: the settings that may be changed, as they are sent. */
export type Values = Side['settings'];

const changeable = table.filter((f) => f.whatIf);

/** askedFields are the fields of a question, where a message of the server belongs. */
export const askedFields = [
  'what_if.seats',
  ...changeable.map((f) => `what_if.${f.name}`),
  'people.answer_rate',
  'people.talk_s',
  'contacts',
];

/** whatIf gives what differs from the settings as they are; null when nothing does. */
export function whatIf(is: Values, v: Values): NonNullable<Asked['what_if']> | null {
  const was: Record<string, unknown> = { ...is };
  const now: Record<string, unknown> = { ...v };
  const changed = ['seats', ...changeable.map((f) => f.name)].filter(
    (f) => JSON.stringify(was[f]) !== JSON.stringify(now[f]),
  );
  return changed.length === 0 ? null : Object.fromEntries(changed.map((f) => [f, now[f]]));
}
