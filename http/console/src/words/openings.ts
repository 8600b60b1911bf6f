import type { Windows } from '../api/calendars';

// When a window is open, day by day, as a clock on the wall of its zone shows it.

/** A day of a strip; parts are minutes of the clock. */
export interface StripDay {
  date: string;
  parts: { from: number; to: number }[];
  /** Holidays and exceptions of calendars. */
  notes: string[];
}

const dayMinutes = 24 * 60;
const dateOf = (at: string) => at.slice(0, 10);
const minuteOf = (at: string) => Number(at.slice(11, 13)) * 60 + Number(at.slice(14, 16));

function next(date: string): string {
  const d = new Date(`${date}T12:00:00Z`);
  d.setUTCDate(d.getUTCDate() + 1);
  return d.toISOString().slice(0, 10);
}

/** stripOf is the openings of some days from a date on, each cut at midnight. */
export function stripOf(w: Windows, today: string, days: number): StripDay[] {
  const list: StripDay[] = [];
  let date = today;
  for (let i = 0; i < days; i++) {
    list.push({ date, parts: [], notes: [] });
    date = next(date);
  }
  const of = new Map(list.map((d) => [d.date, d]));
  for (const o of w.openings) {
    for (let day = dateOf(o.from); day <= dateOf(o.to); day = next(day)) {
      const from = day === dateOf(o.from) ? minuteOf(o.from) : 0;
      const to = day === dateOf(o.to) ? minuteOf(o.to) : dayMinutes;
      if (to > from) of.get(day)?.parts.push({ from, to });
    }
  }
  for (const s of w.special_days) of.get(s.date)?.notes.push(`${s.holiday ?? 'exception'} (${s.calendar})`);
  return list;
}

const two = (n: number) => String(n).padStart(2, '0');
const clock = (m: number) => `${two(Math.floor(m / 60))}:${two(m % 60)}`;

/** said writes the openings of a day. */
export function said(d: StripDay): string {
  if (d.parts.length === 0) return 'closed';
  return d.parts.map((p) => `${clock(p.from)}–${clock(p.to)}`).join(', ');
}
