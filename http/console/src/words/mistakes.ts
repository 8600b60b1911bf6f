import type { Schemas } from '../api/client';
import { count } from './figures';

// What is wrong with settings, said while they are typed. The server judges again, and knows more; its messages stand at
// the same fields.

export type Draft = Schemas['SettingsRequest'];

const bounds: Record<string, { low: number; high: number; whole: boolean; per?: number; unit?: string }> = {
  concurrency: { low: 1, high: 100_000, whole: true },
  max_attempts: { low: 1, high: 50, whole: true },
  retry_delay_s: { low: 1, high: 2_592_000, whole: true, per: 60, unit: 'minutes' },
  stop_redials_after_s: { low: 0, high: Infinity, whole: true },
  redial_only_under_s: { low: 0, high: Infinity, whole: true },
  ring_timeout_s: { low: 15, high: 120, whole: true },
  call_limit_s: { low: 10, high: 14_400, whole: true },
  result_timeout_s: { low: 1, high: 604_800, whole: true },
  amd_sensitivity: { low: 1, high: 100, whole: true },
  amd_listen_ms: { low: 1500, high: 8000, whole: true, per: 1000, unit: 'seconds' },
  amd_revise_s: { low: 0, high: 60, whole: true },
  abandon_cap_pct: { low: 0, high: 5, whole: false },
  max_lines: { low: 0, high: 100_000, whole: true },
  weight: { low: 1, high: 100, whole: true },
  transfer_limit: { low: 1, high: 5, whole: true },
  recording_retention_days: { low: 1, high: 3650, whole: true },
};

const time = /^([01][0-9]|2[0-3]):[0-5][0-9]$/;
const date = /^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$/;

/** mistakes gives what is wrong, by the name of the setting as the API calls it. */
export function mistakes(d: Draft): Record<string, string> {
  const wrong: Record<string, string> = {};
  if (d.name.trim() === '') wrong['name'] = 'A campaign needs a name.';
  else if (Array.from(d.name).length > 200) wrong['name'] = 'At most 200 characters.';
  if (d.bot_id === '') wrong['bot_id'] = 'Choose the bot that talks.';
  for (const [field, b] of Object.entries(bounds)) {
    const v = (d as Record<string, unknown>)[field];
    if (v === undefined) continue;
    const per = b.per ?? 1;
    const [low, high] = [per === 60 ? 1 : b.low / per, b.high / per];
    const figure = (n: number) => (Number.isInteger(n) ? count(n) : String(n));
    const range = `${figure(low)}${high === Infinity ? ' or more' : ` to ${figure(high)}`}${b.unit === undefined ? '' : ` ${b.unit}`}`;
    if (typeof v !== 'number' || !Number.isFinite(v) || v < b.low || v > b.high) wrong[field] = `Must be ${range}.`;
    else if (b.whole && !Number.isInteger(v)) wrong[field] = `Must be a whole number, ${range}.`;
  }
  const [under, stop] = [d.redial_only_under_s ?? 0, d.stop_redials_after_s ?? 0];
  if (stop > 0 && under > stop) wrong['redial_only_under_s'] ??= `At most the ${count(stop)} s of Stop redials after.`;
  const w = d.window;
  if (!time.test(w.start)) wrong['window.start'] = 'A time of day, such as 09:00.';
  if (!time.test(w.end)) wrong['window.end'] = 'A time of day, such as 18:00.';
  if (w.zone === '') wrong['window.zone'] = 'Choose a time zone.';
  if (w.days?.length === 0) wrong['window.days'] = 'Choose at least one day.';
  const noDate = (w.holidays ?? []).find((h) => !date.test(h) || Number.isNaN(Date.parse(h)));
  if (noDate !== undefined) wrong['window.holidays'] = `${noDate} is no date: write it as 2030-12-24.`;
  if (d.always_on === true && d.single_day === true) wrong['always_on'] = 'An always-on campaign is multi-day: choose one of the two.';
  if ((d.number_pool ?? []).length > 1000) wrong['number_pool'] = 'At most 1,000 numbers.';
  if (d.config_url !== undefined && d.config_url !== '' && !/^https?:\/\/[^/\s]+/.test(d.config_url)) wrong['config_url'] = 'An address that begins with https:// or http://.';
  if (d.eligibility_url !== undefined && d.eligibility_url !== '' && !/^https?:\/\/[^/\s@#]+(\/[^\s#]*)?$/.test(d.eligibility_url)) wrong['eligibility_url'] = 'An address that begins with https://, without user and password.';
  return wrong;
}
