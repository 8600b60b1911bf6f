import { language } from './language';

// Times of day are shown by the viewer's clock; the campaign's own zone is named beside them where it matters.

/** The viewer's time zone. */
export const viewerZone = new Intl.DateTimeFormat().resolvedOptions().timeZone;

/** known says whether the browser knows a zone: the server's list may be newer. */
function known(zone: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }).format(0) !== '';
  } catch {
    return false;
  }
}

function formatter(options: Intl.DateTimeFormatOptions) {
  const byZone = new Map<string, Intl.DateTimeFormat>();
  return (at: Date, zone: string) => {
    let f = byZone.get(zone);
    if (f === undefined) {
      f = new Intl.DateTimeFormat(language, { ...options, timeZone: zone });
      byZone.set(zone, f);
    }
    return f.format(at);
  };
}

const dateTime = formatter({ dateStyle: 'medium', timeStyle: 'short' });
const date = formatter({ dateStyle: 'medium' });
const precise = formatter({ dateStyle: 'medium', timeStyle: 'medium' });
const clock = formatter({ timeStyle: 'medium' });
const minute = formatter({ timeStyle: 'short' });
const day = formatter({ year: 'numeric', month: 'numeric', day: 'numeric' });

/** moment writes date and time to the minute. */
export function moment(at: Date, zone = viewerZone): string {
  return dateTime(at, zone);
}

/** dayOf writes the date. */
export function dayOf(at: Date, zone = viewerZone): string {
  return date(at, zone);
}

/** exact writes date and time to the second. */
export function exact(at: Date, zone = viewerZone): string {
  return precise(at, zone);
}

/** clockTime writes the time of day to the second, with its date unless that is today's. */
export function clockTime(at: Date, now: Date, zone = viewerZone): string {
  return day(at, zone) === day(now, zone) ? clock(at, zone) : precise(at, zone);
}

const wall = formatter({ weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' });

/** wallTime writes a moment as a clock at its own offset shows it. */
export function wallTime(at: string): string {
  return wall(new Date(at.replace(/[+-]\d\d:\d\d$/, 'Z')), 'UTC');
}

/** minuteOf writes the time of day to the minute; undefined in a zone that the browser does not know. */
export function minuteOf(at: Date, zone: string): string | undefined {
  return known(zone) ? minute(at, zone) : undefined;
}

/** inZone says what a moment is called in the viewer's zone and, when it differs, in the campaign's. */
export function inZone(at: Date, zone: string): string {
  const own = `${precise(at, viewerZone)} ${viewerZone}`;
  return zone === viewerZone || !known(zone) ? own : `${own}\n${precise(at, zone)} ${zone}`;
}

/** The days of the week as the API names them. */
export const week = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

/** daysOf writes working days as an operator says them: every day, Mon–Fri, Mon, Wed. */
export function daysOf(days: readonly string[] | null | undefined): string {
  const open = week.map((d) => !days || days.length === 0 || days.includes(d));
  if (open.every(Boolean)) return 'every day';
  const runs: string[] = [];
  for (let i = 0; i < 7; i++) {
    if (!open[i]) continue;
    let j = i;
    while (j < 6 && open[j + 1]) j++;
    if (j > i + 1) runs.push(`${week[i]}–${week[j]}`);
    else for (let k = i; k <= j; k++) runs.push(week[k] ?? '');
    i = j;
  }
  return runs.join(', ');
}

/** windowOf writes a calling window. */
export function windowOf(w: {
  start: string;
  end: string;
  zone: string;
  days?: readonly string[] | null;
  contact_zone?: boolean | null;
}): string {
  const hours = w.start === w.end ? 'all day' : `${w.start}–${w.end}${w.end < w.start ? ' (next day)' : ''}`;
  return `${daysOf(w.days)}, ${hours}, ${w.contact_zone ? 'clock of each contact' : w.zone}`;
}

/** zones is every time zone that the browser knows, the viewer's among them. */
export function zones(): string[] {
  return [...new Set(['UTC', viewerZone, ...Intl.supportedValuesOf('timeZone')])].sort();
}

const dayTick = formatter({ day: 'numeric', month: 'short' });

/** tick writes a time on an axis whose marks are so many seconds apart. */
export function tick(at: Date, step: number, zone = viewerZone): string {
  if (step >= 86_400) return dayTick(at, zone);
  return step < 60 ? clock(at, zone) : minute(at, zone);
}

/** dateIn is today's date in a zone, as 2030-12-24; by the viewer's clock where the browser does not know it. */
export function dateIn(zone: string, at = new Date()): string {
  return new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeZone: known(zone) ? zone : viewerZone }).format(at);
}
