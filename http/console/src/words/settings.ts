import type { Campaign, Schemas } from '../api/client';
import { count, percent, plural, seconds } from './figures';
import { table } from './settings.gen';
import { named, outcome } from './states';
import { daysOf } from './times';

// The settings of a campaign in the words of the specification: the configuration panel, the form, the activity log and
// the comparison of two edits all call a setting by the same name.

export type Settings = Campaign['settings'];

/** Setting is one row of the table of settings (engine/campaign). */
export interface Setting {
  name: string; // as the API calls it
  group: 'basics' | 'pool' | 'window' | 'retries' | 'care' | 'more';
  label: string;
  help?: string;
  kind: 'number' | 'switch' | 'text' | 'address' | 'choice' | 'list' | 'window';
  low?: number; // the bounds of a number, as it is sent
  high?: number;
  whole?: boolean;
  length?: number; // characters of a text, entries of a list
  unit?: 's' | 'ms' | 'days' | '%' | 'share';
  shown?: number; // so many of what is sent are one of what is shown: 60 s are a minute
  zero?: string; // what 0, or no choice, means
  first?: number; // of a rule that 0 turns off: what turning it on begins with
  says?: readonly string[]; // what false and true are called
  choices?: readonly { value: string; label: string; about: string }[];
  optional?: boolean; // may have no value
  under?: string; // means something only while that setting has a value
  locked?: boolean; // stays once the campaign has run
  quiet?: boolean; // the card leaves it out while it is empty
  unasked?: boolean; // the form has no field for it
  whatIf?: boolean; // a simulation may change it
}

const rows = new Map(table.map((f) => [f.name, f]));

/** rowOf finds a setting by its name. */
export function rowOf(name: string): Setting | undefined {
  return rows.get(name);
}

/** The members of the calling window, by the names of the API. */
const windowName = {
  'window.zone': 'Time zone',
  'window.start': 'Window opens',
  'window.end': 'Window closes',
  'window.days': 'Working Days',
  'window.holidays': 'Holidays',
  'window.contact_zone': 'Clock of each contact',
} as const;

/** The names of settings as the API calls them; of the calling window `window.<member>`. */
export const settingName: Record<string, string> = Object.fromEntries(
  table.flatMap((f) => (f.kind === 'window' ? Object.entries(windowName) : [[f.name, f.label]])),
);

/** namesOf lists the settings of a section of the form, where a message of the server belongs. */
export function namesOf(...groups: Setting['group'][]): string[] {
  return table
    .filter((f) => groups.includes(f.group))
    .flatMap((f) => (f.kind === 'window' ? [f.name, ...Object.keys(windowName)] : [f.name]));
}

/** What must stay as it is once the campaign has run (spec: States and transitions). */
export const lockedOnceRun: ReadonlySet<string> = new Set(table.filter((f) => f.locked).map((f) => f.name));

/** isEmpty says whether a setting has no value to speak of. */
export function isEmpty(v: unknown): boolean {
  return v === undefined || v === null || v === '' || v === 0 || v === false || (Array.isArray(v) && v.length === 0);
}

/**
 * counts says whether a setting means something beside the others: a limit of transfers only where there are targets.
 */
export function counts(f: Setting, all: Readonly<Record<string, unknown>>): boolean {
  if (f.under === undefined) return true;
  const v = all[f.under];
  return !isEmpty(v) && v !== 'off';
}

/** spoken gives a label as the form writes it: "Retry On System" is "Retry on system". */
export function spoken(label: string): string {
  return label.replace(/ [A-Z](?=[a-z])/g, (s) => s.toLowerCase());
}

/** suffixOf is the unit behind a number. */
export function suffixOf(f: Setting): string | undefined {
  if (f.shown === 60) return ' min';
  switch (f.unit) {
    case 's':
    case 'ms':
      return ' s';
    case '%':
      return ' %';
    case 'days':
      return ' days';
    case 'share':
    case undefined:
      return undefined;
  }
}

/** rangeOf gives the bounds of a number as it is shown. */
export function rangeOf(f: Setting): { low: number; high: number; unit?: string } {
  const per = f.shown ?? 1;
  const [low, high] = [(f.low ?? 0) / per, (f.high ?? Infinity) / per];
  if (per === 60) return { low: Math.ceil(low), high, unit: 'minutes' };
  return per === 1000 ? { low, high, unit: 'seconds' } : { low, high };
}

/** nameOf is what a setting is called; one of a newer server is called by its own words. */
export function nameOf(field: string): string {
  if (Object.hasOwn(settingName, field)) return settingName[field] ?? field;
  const s = field.replaceAll('_', ' ').replaceAll('.', ': ');
  return s.charAt(0).toUpperCase() + s.slice(1);
}

/** So many numbers of a pool are shown, then a count of the rest (spec: Limits). */
export const poolShown = 4;

/** poolOf writes a number pool: the first four numbers, then how many more there are. */
export function poolOf(pool: readonly string[]): { first: string[]; more: string } {
  const rest = pool.length - poolShown;
  return { first: pool.slice(0, poolShown), more: rest > 0 ? `and ${count(rest)} more` : '' };
}

const listOf = (v: unknown): string[] => (Array.isArray(v) ? v.map(String) : []);
const or = (s: string, empty: string) => (s === '' ? empty : s);

/** The values that are written in a way of their own. */
const writers: Record<string, (v: unknown) => string> = {
  'window.days': (v) => daysOf(listOf(v)),
  'window.holidays': (v) => or(listOf(v).join(', '), 'None'),
  number_pool: (v) => {
    const { first, more } = poolOf(listOf(v));
    return or([first.join(', '), more].filter(Boolean).join(' '), 'None');
  },
  retry_on_system: (v) =>
    or(
      listOf(v)
        .map((o) => named(outcome, o).label)
        .join(', '),
      'None',
    ),
};

function figureOf(f: Setting, v: number): string {
  if (v === 0 && f.zero !== undefined) return f.zero;
  switch (f.unit) {
    case 's':
      return seconds(v);
    case 'ms':
      return seconds(v / 1000);
    case 'days':
      return plural(v, 'day');
    case '%':
      return percent(v / 100);
    case 'share':
      return percent(v);
    case undefined:
      return count(v);
  }
}

/** valueOf writes the value of a setting. */
export function valueOf(field: string, v: unknown): string {
  const write = writers[field];
  if (write !== undefined && Object.hasOwn(writers, field)) return write(v);
  const f = rowOf(field);
  if (f?.kind === 'number') return typeof v === 'number' ? figureOf(f, v) : '';
  if (f?.kind === 'list') return or(listOf(v).join(', '), 'None');
  if (f?.kind === 'switch' || typeof v === 'boolean') return (f?.says ?? ['Off', 'On'])[v === true ? 1 : 0] ?? '';
  if (v === null || v === undefined || v === '') return f?.zero ?? 'None';
  if (typeof v === 'number') return count(v);
  return f?.choices?.find((c) => c.value === v)?.label ?? (typeof v === 'string' ? v : JSON.stringify(v));
}

/** flat gives the settings by their names, the members of the calling window each by its own. */
export function flat(s: Settings | Schemas['SettingsRequest']): Record<string, unknown> {
  const { window, ...rest } = s;
  const members = Object.entries(window).map(([k, v]) => [`window.${k}`, v] as const);
  return { ...Object.fromEntries(members), ...rest };
}

const emptied = (v: unknown): unknown => (v !== 0 && isEmpty(v) ? null : v);

/** same says whether two values of a setting mean the same: nothing, null and an empty list do. */
export function same(field: string, a: unknown, b: unknown): boolean {
  const sorted = (v: unknown) =>
    field === 'window.days' && Array.isArray(v) ? (v.length === 7 ? null : v.map(String).sort()) : emptied(v);
  return JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
}

/** different lists the settings that two versions do not share, in the order of the form. */
export function different(
  a: Settings | Schemas['SettingsRequest'],
  b: Settings | Schemas['SettingsRequest'],
): string[] {
  const [x, y] = [flat(a), flat(b)];
  const order = Object.keys(settingName);
  const at = (f: string) => (order.includes(f) ? order.indexOf(f) : order.length);
  return [...new Set([...Object.keys(x), ...Object.keys(y)])]
    .filter((f) => !same(f, x[f], y[f]))
    .sort((f, g) => at(f) - at(g));
}

/** patchOf is the merge patch (RFC 7396) that makes `to` of `from`. */
export function patchOf(from: Settings, to: Settings | Schemas['SettingsRequest']): Schemas['SettingsPatch'] {
  const values = flat(to);
  const patch: Record<string, unknown> = {};
  const window: Record<string, unknown> = {};
  for (const field of different(from, to)) {
    const value = values[field] === '' ? null : (values[field] ?? null);
    if (field.startsWith('window.')) window[field.slice('window.'.length)] = value;
    else patch[field] = value;
  }
  if (Object.keys(window).length > 0) patch['window'] = window;
  return patch;
}

/** A setting that two people changed at the same time. */
export interface Clash {
  field: string;
  before: unknown;
  theirs: unknown;
  mine: unknown;
  /** True when both changed it, each in another way: one of the two has to be chosen. */
  both: boolean;
}

/** clashes compares what somebody else saved meanwhile with what stands in the form. */
export function clashes(before: Settings, theirs: Settings, mine: Settings | Schemas['SettingsRequest']): Clash[] {
  const [b, t, m] = [flat(before), flat(theirs), flat(mine)];
  return different(before, theirs).map((field) => ({
    field,
    before: b[field],
    theirs: t[field],
    mine: m[field],
    both: !same(field, m[field], b[field]) && !same(field, m[field], t[field]),
  }));
}

/** merged puts what I changed over what they saved; of a setting that both changed, mine only where it is kept. */
export function merged<T extends Settings | Schemas['SettingsRequest']>(
  before: Settings,
  theirs: Settings,
  mine: T,
  keptMine: ReadonlySet<string>,
): T {
  const [t, m] = [flat(theirs), flat(mine)];
  const mineChanged = new Set(different(before, mine));
  const theyChanged = new Set(different(before, theirs));
  const out: Record<string, unknown> = {};
  const window: Record<string, unknown> = {};
  for (const field of new Set([...Object.keys(t), ...Object.keys(m)])) {
    const takeMine = mineChanged.has(field) && (!theyChanged.has(field) || keptMine.has(field));
    const value = takeMine ? m[field] : t[field];
    if (field.startsWith('window.')) window[field.slice('window.'.length)] = value;
    else out[field] = value;
  }
  return { ...out, window } as T;
}
