import type { Schemas } from '../api/client';
import { count, plural, rate } from './figures';

// What dialling at the best hour gains, in words.

const signed = (x: number) => `${x < 0 ? '−' : '+'}${rate(Math.abs(x))}`;

/** differenceOf says it: "1,204 dials: +2.1 points, between −0.4 and +4.6: not yet clear". */
export function differenceOf(b: Pick<Schemas['BestHour'], 'with' | 'control' | 'difference'>): string {
  const dials = plural(b.with.dials + b.control.dials, 'dial');
  const d = b.difference;
  if (d === null) return `${dials}: nothing to compare yet`;
  const verdict = !d.clear ? 'not yet clear' : d.points > 0 ? 'it helps' : 'it does harm';
  return `${dials}: ${signed(d.points)} points, between ${signed(d.low)} and ${signed(d.high)}: ${verdict}`;
}

/** answeredOf says how many dials were answered: "312 of 1,084 dials (28.8 %)". */
export function answeredOf(of: Schemas['Dialled']): string {
  const share = of.dials === 0 ? '' : ` (${rate((100 * of.answers) / of.dials)}\u00a0%)`;
  return `${count(of.answers)} of ${plural(of.dials, 'dial')}${share}`;
}

export const weekdays = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'] as const;

export interface Hour {
  hour: number;
  dials: number;
  chance: number;
}

/** weekOf has the hours of a country by weekday, from Monday on; the API begins with Sunday. */
export function weekOf(c: Pick<Schemas['BestHour']['countries'][number], 'hour_dials' | 'hour_chances'>): Hour[][] {
  return weekdays.map((_, day) =>
    Array.from({ length: 24 }, (__, hour) => {
      const slot = ((day + 1) % 7) * 24 + hour;
      return { hour, dials: c.hour_dials[slot] ?? 0, chance: c.hour_chances[slot] ?? 0 };
    }),
  );
}

const regions = new Intl.DisplayNames('en', { type: 'region' });

/** placeName is the name of a country; numbers may have none. */
export function placeName(region: string): string {
  if (region === '') return 'Unknown country';
  return /^[A-Z]{2}$/.test(region) ? (regions.of(region) ?? region) : 'International services';
}
