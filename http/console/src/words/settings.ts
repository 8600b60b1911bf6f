import type { Campaign, Schemas } from '../api/client';
import { count, percent, plural, seconds } from './figures';
import { named, outcome } from './states';
import { daysOf } from './times';

// The settings of a campaign in the words of the specification: the configuration panel, the form, the activity log and
// the comparison of two edits all call a setting by the same name.

export type Settings = Campaign['settings'];

/** The names of settings as the API calls them; of the calling window `window.<member>`. */
export const settingName: Record<string, string> = {
  name: 'Name',
  bot_id: 'Bot',
  concurrency: 'Concurrency',
  'window.zone': 'Time zone',
  'window.start': 'Window opens',
  'window.end': 'Window closes',
  'window.days': 'Working Days',
  'window.holidays': 'Holidays',
  'window.contact_zone': 'Clock of each contact',
  single_day: 'Calling window',
  always_on: 'Always-on',
  number_pool: 'Number Pool',
  max_attempts: 'Max Attempts',
  retry_delay_s: 'Retry Delay',
  retry_on_system: 'Retry On System',
  retry_on_custom: 'Retry On Custom',
  stop_redials_after_s: 'Stop Redials After',
  redial_only_under_s: 'Redial Only Under',
  ring_timeout_s: 'Ring time-out',
  call_limit_s: 'Longest call',
  result_timeout_s: 'Wait for a result',
  amd: 'Answering machine detection',
  amd_sensitivity: 'Sensitivity to machines',
  amd_listen_ms: 'Longest listening',
  amd_revise_s: 'A later beep counts for',
  amd_review_share: 'Verdicts to be reviewed',
  voicemail_id: 'Message left on machines',
  abandon_cap_pct: 'Abandon cap',
  pacing_mode: 'Pacing',
  false_positive_share: 'Persons taken for machines',
  max_lines: 'Ringing lines at most',
  weight: 'Weight',
  callback_detection: 'Callback detection',
  sticky_exclusion: 'Sticky Exclusion',
  sticky_number: 'Same number for a contact',
  transfer_targets: 'Transfer targets',
  transfer_limit: 'Transfers of a call',
  local_match: 'Local numbers first',
  stop_ends_calls: 'Stop ends conversations',
  config_url: 'Config URL',
  eligibility_url: 'Asked before each dial',
  eligibility_fail: 'Without its answer',
  recording: 'Recording',
  recording_retention_days: 'Recordings are kept',
};

/** nameOf is what a setting is called; one of a newer server is called by its own words. */
export function nameOf(field: string): string {
  if (Object.hasOwn(settingName, field)) return settingName[field] ?? field;
  const s = field.replaceAll('_', ' ').replaceAll('.', ': ');
  return s.charAt(0).toUpperCase() + s.slice(1);
}

const modes: Record<string, string> = {
  off: 'Off', on: 'On', sequential: 'Sequential', parallel: 'Parallel', strict: 'Strict', hybrid: 'Hybrid', progressive: 'Progressive',
};

/** So many numbers of a pool are shown, then a count of the rest (spec: Limits). */
export const poolShown = 4;

/** poolOf writes a number pool: the first four numbers, then how many more there are. */
export function poolOf(pool: readonly string[]): { first: string[]; more: string } {
  const rest = pool.length - poolShown;
  return { first: pool.slice(0, poolShown), more: rest > 0 ? `and ${count(rest)} more` : '' };
}

const listOf = (v: unknown): string[] => (Array.isArray(v) ? v.map(String) : []);
const or = (s: string, empty: string) => (s === '' ? empty : s);

const onOff = (v: unknown) => (v === true ? 'On' : 'Off');
const whole = (v: unknown) => (typeof v === 'number' ? count(v) : '');

const writers: Record<string, (v: unknown) => string> = {
  concurrency: whole,
  max_attempts: whole,
  weight: whole,
  transfer_limit: whole,
  max_lines: (v) => (v === 0 ? 'No limit of its own' : whole(v)),
  'window.days': (v) => daysOf(listOf(v)),
  'window.holidays': (v) => or(listOf(v).join(', '), 'None'),
  'window.contact_zone': onOff,
  single_day: (v) => (v === true ? 'Single-day' : 'Multi-day'),
  always_on: onOff,
  callback_detection: (v) => (v === true ? 'Enabled' : 'Disabled'),
  sticky_exclusion: onOff,
  sticky_number: onOff,
  local_match: onOff,
  stop_ends_calls: onOff,
  number_pool: (v) => {
    const { first, more } = poolOf(listOf(v));
    return or([first.join(', '), more].filter(Boolean).join(' '), 'None');
  },
  retry_delay_s: (v) => (typeof v === 'number' ? seconds(v) : ''),
  ring_timeout_s: (v) => (typeof v === 'number' ? seconds(v) : ''),
  call_limit_s: (v) => (typeof v === 'number' ? seconds(v) : ''),
  result_timeout_s: (v) => (typeof v === 'number' ? seconds(v) : ''),
  stop_redials_after_s: (v) => (typeof v === 'number' && v > 0 ? seconds(v) : 'Rule off'),
  redial_only_under_s: (v) => (typeof v === 'number' && v > 0 ? seconds(v) : 'Rule off'),
  retry_on_system: (v) => or(listOf(v).map((o) => named(outcome, o).label).join(', '), 'None'),
  retry_on_custom: (v) => or(listOf(v).join(', '), 'None'),
  transfer_targets: (v) => or(listOf(v).join(', '), 'None'),
  abandon_cap_pct: (v) => (typeof v === 'number' ? percent(v / 100) : ''),
  false_positive_share: (v) => (typeof v === 'number' ? percent(v) : ''),
  amd_listen_ms: (v) => (typeof v === 'number' ? seconds(v / 1000) : ''),
  amd_revise_s: (v) => (typeof v === 'number' && v > 0 ? seconds(v) : 'Not at all'),
  amd_review_share: (v) => (typeof v === 'number' ? percent(v) : ''),
  amd: (v) => modes[String(v)] ?? String(v),
  pacing_mode: (v) => modes[String(v)] ?? String(v),
  recording: (v) => modes[String(v)] ?? String(v),
  recording_retention_days: (v) => (typeof v === 'number' ? plural(v, 'day') : ''),
};

/** valueOf writes the value of a setting. */
export function valueOf(field: string, v: unknown): string {
  const write = writers[field];
  if (write !== undefined && Object.hasOwn(writers, field)) return write(v);
  if (v === null || v === undefined || v === '') return 'None';
  if (typeof v === 'boolean') return onOff(v);
  if (typeof v === 'number') return count(v);
  return typeof v === 'string' ? v : JSON.stringify(v);
}

/** flat gives the settings by their names, the members of the calling window each by its own. */
export function flat(s: Settings | Schemas['SettingsRequest']): Record<string, unknown> {
  const { window, ...rest } = s;
  const members = Object.entries(window).map(([k, v]) => [`window.${k}`, v] as const);
  return { ...Object.fromEntries(members), ...rest };
}

const emptied = (v: unknown): unknown => (v === undefined || v === null || v === '' || v === false || (Array.isArray(v) && v.length === 0) ? null : v);

/** same says whether two values of a setting mean the same: nothing, null and an empty list do. */
export function same(field: string, a: unknown, b: unknown): boolean {
  const sorted = (v: unknown) => (field === 'window.days' && Array.isArray(v) ? (v.length === 7 ? null : v.map(String).sort()) : emptied(v));
  return JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
}

/** different lists the settings that two versions do not share, in the order of the form. */
export function different(a: Settings | Schemas['SettingsRequest'], b: Settings | Schemas['SettingsRequest']): string[] {
  const [x, y] = [flat(a), flat(b)];
  const order = Object.keys(settingName);
  const at = (f: string) => (order.includes(f) ? order.indexOf(f) : order.length);
  return [...new Set([...Object.keys(x), ...Object.keys(y)])].filter((f) => !same(f, x[f], y[f])).sort((f, g) => at(f) - at(g));
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
export function merged<T extends Settings | Schemas['SettingsRequest']>(before: Settings, theirs: Settings, mine: T, keptMine: ReadonlySet<string>): T {
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
