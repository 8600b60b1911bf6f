import type { Schemas } from '../api/client';
import { count } from './figures';
import { rangeOf } from './settings';
import { table } from './settings.gen';

// What is wrong with settings, said while they are typed. The server judges again, and knows more; its messages stand
// at the same fields.

export type Draft = Schemas['SettingsRequest'];

const time = /^([01][0-9]|2[0-3]):[0-5][0-9]$/;
const date = /^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$/;

/** mistakes gives what is wrong, by the name of the setting as the API calls it. */
export function mistakes(d: Draft): Record<string, string> {
  const wrong: Record<string, string> = {};
  if (d.name.trim() === '') wrong['name'] = 'A campaign needs a name.';
  else if (Array.from(d.name).length > 200) wrong['name'] = 'At most 200 characters.';
  if (d.bot_id === '') wrong['bot_id'] = 'Choose a bot.';
  for (const f of table) {
    const v = (d as Record<string, unknown>)[f.name];
    if (f.kind !== 'number' || v === undefined) continue;
    const { low, high, unit } = rangeOf(f);
    const figure = (n: number) => (Number.isInteger(n) ? count(n) : String(n));
    const range = `${figure(low)} to ${figure(high)}${unit === undefined ? '' : ` ${unit}`}`;
    if (typeof v !== 'number' || !Number.isFinite(v) || v < (f.low ?? 0) || v > (f.high ?? Infinity))
      wrong[f.name] = `Must be ${range}.`;
    else if (f.whole && !Number.isInteger(v)) wrong[f.name] = `Must be a whole number, ${range}.`;
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
  if (d.always_on === true && d.single_day === true)
    wrong['always_on'] = 'An always-on campaign is multi-day: choose one of the two.';
  if ((d.number_pool ?? []).length > 1000) wrong['number_pool'] = 'At most 1,000 numbers.';
  if (d.config_url !== undefined && d.config_url !== '' && !/^https?:\/\/[^/\s]+/.test(d.config_url))
    wrong['config_url'] = 'An address that begins with https:// or http://.';
  if (
    d.eligibility_url !== undefined &&
    d.eligibility_url !== '' &&
    !/^https?:\/\/[^/\s@#]+(\/[^\s#]*)?$/.test(d.eligibility_url)
  )
    wrong['eligibility_url'] = 'An address that begins with https://, without user and password.';
  return wrong;
}
