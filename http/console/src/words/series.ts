import type { Live } from '../api/queries';
import type { Schemas } from '../api/client';
import { rate, share, count } from './figures';

// What the charts of a run show, worked out of its counts.

/** Point is one moment of a run; null is what is not known of it. */
export interface Point {
  at: number; // seconds since 1970
  dialsPerS: number | null;
  ringing: number;
  connected: number;
  answerRate: number | null; // of the calls dialled then
  abandonRate: number | null; // from the first point to this one
}

type Series = Schemas['Series'];

/**
 * pointsOf gives the middles of a run's steps, `stride` of them in one. Of a run that goes on the last step is left out
 * until it is over: live states stand for it.
 */
export function pointsOf(s: Series, open: boolean, stride = 1): Point[] {
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
    const sum = (list: number[]) => list.slice(i, j).reduce((a, b) => a + b, 0);
    const lasts = Math.max(Math.min(ends, to) - begins, Math.min(s.step_s, 1));
    const decided = sum(s.decided);
    live += sum(s.live_answers);
    abandoned += sum(s.abandoned);
    points.push({
      at: begins + ((j - i) * s.step_s) / 2,
      dialsPerS: sum(s.dials) / lasts,
      ringing: sum(s.ringing) / (j - i),
      connected: sum(s.connected) / (j - i),
      answerRate: decided === 0 ? null : sum(s.answered) / decided,
      abandonRate: live === 0 ? null : abandoned / live,
    });
  }
  return points;
}

/** extended goes on with what was seen live since the series was counted. */
export function extended(points: Point[], s: Series, tail: Live[]): Point[] {
  const last = points.at(-1);
  const since = Math.max(last === undefined ? 0 : last.at + s.step_s / 2, Date.parse(s.from) / 1000);
  const seen = tail
    .map((l) => ({ at: Date.parse(l.at) / 1000, dialsPerS: l.dials_per_s ?? null, ringing: l.ringing, connected: l.in_progress, answerRate: null, abandonRate: null }))
    .filter((p) => p.at > since);
  return seen.length === 0 ? points : [...points, ...seen];
}

/** stepsOf gives the rows of a table that is no longer than `rows`. */
export function stepsOf(s: Series, open: boolean, rows: number): Point[] {
  return pointsOf(s, open, Math.ceil(s.dials.length / rows));
}

/** summaryOf says in sentences what the charts show. */
export function summaryOf(s: Series, points: Point[]): string {
  const most = (f: (p: Point) => number | null) => Math.max(0, ...points.map((p) => f(p) ?? 0));
  const total = (list: number[]) => list.reduce((a, b) => a + b, 0);
  const decided = total(s.decided);
  const live = total(s.live_answers);
  return (
    `${count(total(s.dials))} dials, at most ${rate(most((p) => p.dialsPerS))} a second. At most ${rate(most((p) => p.ringing))} lines were ringing ` +
    `and ${rate(most((p) => p.connected))} conversations went on at a time. Answer rate ${share(decided === 0 ? null : total(s.answered) / decided)}, ` +
    `abandon rate ${share(live === 0 ? null : total(s.abandoned) / live)}.`
  );
}

type Bar = Schemas['Breakdown']['first_audio'][number];

/** heardWithin says up to which bound the given part of the calls heard the bot; undefined without calls, null beyond all bounds. */
export function heardWithin(bars: Bar[], part: number): number | null | undefined {
  const all = bars.reduce((n, b) => n + b.count, 0);
  let n = 0;
  for (const b of bars) {
    n += b.count;
    if (all > 0 && n >= all * part) return b.up_to_ms;
  }
  return undefined;
}
