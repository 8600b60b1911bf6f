import type { Sample } from '../api/queries';
import type { Schemas } from '../api/client';
import { rate, share, count } from './figures';

// What the charts of a run show, worked out of its counts.

/** Point is one moment of a run; null is what is not known of it. */
export interface Point {
  at: number; // seconds since 1970
  dialsPerS: number | null;
  ringing: number;
  connected: number;
  answerRate: number | null; // of the calls dialled then, or of the last ones
  abandonRate: number | null; // from the first point to this one
}

type Series = Schemas['Series'];

/** A line of answer rates is drawn of at least so many calls: of a handful it would jump from nothing to everything. */
export const lastCalls = 20;

const total = (list: number[]) => list.reduce((a, b) => a + b, 0);
const ratio = (part: number, of: number) => (of === 0 ? null : part / of);

/** lately is the answer rate of the calls given and of those of the steps before `end`, until there are `least`. */
function lately(s: Series, end: number, least: number, decided = 0, answered = 0): number | null {
  for (let i = end - 1; i >= 0 && decided < least; i--) {
    decided += s.decided[i] ?? 0;
    answered += s.answered[i] ?? 0;
  }
  return ratio(answered, decided);
}

/**
 * pointsOf gives the middles of a run's steps, `stride` of them in one. Of a run that goes on the last step is left out
 * until it is over: live states stand for it. Answer rates are of the step's calls, and of those before until there are
 * `least`.
 */
export function pointsOf(s: Series, open: boolean, stride = 1, least = 0): Point[] {
  const from = Date.parse(s.from) / 1000;
  const to = Date.parse(s.to) / 1000;
  const points: Point[] = [];
  let live = 0;
  let abandoned = 0;
  const n = s.dials.length;
  for (let i = 0; i < n; i += stride) {
    const j = Math.min(i + stride, n);
    const begins = from + i * s.step_s;
    const ends = from + j * s.step_s;
    if (open && ends > to && points.length > 0) break;
    const sum = (list: number[]) => total(list.slice(i, j));
    const lasts = Math.max(Math.min(ends, to) - begins, Math.min(s.step_s, 1));
    const decided = sum(s.decided);
    live += sum(s.live_answers);
    abandoned += sum(s.abandoned);
    points.push({
      at: begins + ((j - i) * s.step_s) / 2,
      dialsPerS: sum(s.dials) / lasts,
      ringing: sum(s.ringing) / (j - i),
      connected: sum(s.connected) / (j - i),
      answerRate: lately(s, i, least, decided, sum(s.answered)),
      abandonRate: ratio(abandoned, live),
    });
  }
  return points;
}

/**
 * extended goes on with what was seen live since the series was counted: the rates with what the campaign's counters
 * have grown by since then, or since they were first seen.
 */
export function extended(points: Point[], s: Series, tail: Sample[]): Point[] {
  const last = points.at(-1);
  const from = Date.parse(s.from) / 1000;
  const since = Math.max(last === undefined ? 0 : last.at + s.step_s / 2, from);
  const at = (x: Sample) => Date.parse(x.live.at) / 1000;
  const seen = tail.filter((x) => at(x) > since);
  const base = (tail.findLast((x) => at(x) <= since) ?? seen[0])?.counters;
  if (base === undefined || seen.length === 0) return points;
  const steps = Math.round((since - from) / s.step_s);
  const before = { live: total(s.live_answers.slice(0, steps)), abandoned: total(s.abandoned.slice(0, steps)) };
  return [
    ...points,
    ...seen.map((x) => {
      const grown = (f: 'attempts' | 'answered' | 'live_answers' | 'abandoned') =>
        Math.max(0, (x.counters[f] ?? 0) - (base[f] ?? 0));
      return {
        at: at(x),
        dialsPerS: x.live.dials_per_s ?? null,
        ringing: x.live.ringing,
        connected: x.live.in_progress,
        answerRate: lately(s, steps, lastCalls, grown('attempts'), grown('answered')),
        abandonRate: ratio(before.abandoned + grown('abandoned'), before.live + grown('live_answers')),
      };
    }),
  ];
}

/** stepsOf gives the rows of a table that is no longer than `rows`. */
export function stepsOf(s: Series, open: boolean, rows: number): Point[] {
  return pointsOf(s, open, Math.ceil(s.dials.length / rows));
}

/** summaryOf says in sentences what the charts show. */
export function summaryOf(s: Series, points: Point[]): string {
  const most = (f: (p: Point) => number | null) => Math.max(0, ...points.map((p) => f(p) ?? 0));
  return (
    `${count(total(s.dials))} dials, at most ${rate(most((p) => p.dialsPerS))} a second. ` +
    `At most ${rate(most((p) => p.ringing))} lines were ringing ` +
    `and ${rate(most((p) => p.connected))} conversations went on at a time. ` +
    `Answer rate ${share(ratio(total(s.answered), total(s.decided)))}, ` +
    `abandon rate ${share(ratio(total(s.abandoned), total(s.live_answers)))}.`
  );
}

type Bar = Schemas['Breakdown']['first_audio'][number];

/**
 * heardWithin says up to which bound the given part of the calls heard the bot; undefined without calls, null beyond
 * all bounds.
 */
export function heardWithin(bars: Bar[], part: number): number | null | undefined {
  const all = bars.reduce((n, b) => n + b.count, 0);
  let n = 0;
  for (const b of bars) {
    n += b.count;
    if (all > 0 && n >= all * part) return b.up_to_ms;
  }
  return undefined;
}
