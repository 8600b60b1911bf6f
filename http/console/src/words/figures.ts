import { language } from './language';

// Figures and times as the viewer's language writes them.

const whole = new Intl.NumberFormat(language, { maximumFractionDigits: 0 });
const tenth = new Intl.NumberFormat(language, { minimumFractionDigits: 1, maximumFractionDigits: 1 });

const few = new Intl.NumberFormat(language, { maximumFractionDigits: 4 });

/** What stands for a figure that is not known. */
export const none = '--';

type Maybe<T> = T | null | undefined;

/** count writes a whole number with its separators. */
export function count(n: Maybe<number>): string {
  return n === null || n === undefined ? none : whole.format(n);
}

/** share writes 0…1 as a percentage with one decimal. */
export function share(x: Maybe<number>): string {
  return x === null || x === undefined ? none : `${tenth.format(x * 100)}\u00a0%`;
}

/** percent writes a share that somebody has set: 3 %, 2.5 %. */
export function percent(x: number): string {
  return `${few.format(x * 100)}\u00a0%`;
}

/** rate writes a figure with one decimal, as dials a second have. */
export function rate(x: Maybe<number>): string {
  return x === null || x === undefined ? none : tenth.format(x);
}

/** seconds writes a short span: 3.2 s, 48 s, 12 min 5 s. */
export function seconds(s: Maybe<number>): string {
  if (s === null || s === undefined) return none;
  if (s < 10 && !Number.isInteger(s)) return `${tenth.format(s)} s`;
  const r = Math.round(s);
  if (r < 60) return `${whole.format(r)} s`;
  if (r < 3600) return r % 60 === 0 ? `${r / 60} min` : `${Math.floor(r / 60)} min ${r % 60} s`;
  const minutes = Math.round(s / 60);
  return minutes % 60 === 0 ? `${minutes / 60} h` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** eta writes when a run is expected to end: ~1h5m, ~12m, beyond two days ~11 days. */
export function eta(s: Maybe<number>): string | undefined {
  if (s === null || s === undefined) return undefined;
  const minutes = Math.max(1, Math.round(s / 60));
  if (minutes >= 48 * 60) return `~${Math.round(minutes / 1440)} days`;
  return minutes < 60 ? `~${minutes}m` : `~${Math.floor(minutes / 60)}h${minutes % 60}m`;
}

/** age writes how long ago something was: "8s ago", "4min ago", "3h ago". Never negative: clocks differ a little. */
export function age(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s < 60) return `${s}s ago`;
  if (s < 3600) return `${Math.floor(s / 60)}min ago`;
  if (s < 48 * 3600) return `${Math.floor(s / 3600)}h ago`;
  return `${Math.floor(s / 86400)} days ago`;
}

/** size writes a number of bytes. */
export function size(bytes: number): string {
  if (bytes < 1000) return `${whole.format(bytes)} B`;
  if (bytes < 1_000_000) return `${tenth.format(bytes / 1000)} kB`;
  if (bytes < 1_000_000_000) return `${tenth.format(bytes / 1_000_000)} MB`;
  return `${tenth.format(bytes / 1_000_000_000)} GB`;
}

/** plural picks a word's form: one contact, two contacts. */
export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}
