import type { Schemas } from '../api/client';
import { language } from './language';
import type { Tone } from './states';
import { words } from './states';

type Verdict = Schemas['Verdict'];

/** Who answered: the word, its colour, and the key that says so while one listens. */
export const verdicts: { verdict: Verdict; label: string; tone: Tone; key: string }[] = [
  { verdict: 'human', label: 'Person', tone: 'green', key: 'h' },
  { verdict: 'machine', label: 'Machine', tone: 'purple', key: 'm' },
  { verdict: 'screener', label: 'Call screening', tone: 'teal', key: 'c' },
  { verdict: 'fax', label: 'Fax', tone: 'blue', key: 'f' },
  { verdict: 'sit', label: 'Network announcement', tone: 'red', key: 'n' },
  { verdict: 'silence', label: 'Silence', tone: 'grey', key: 's' },
  { verdict: 'unknown', label: 'Unknown', tone: 'amber', key: 'u' },
];

/** verdictOf looks a verdict up. */
export function verdictOf(v: string): { label: string; tone: Tone } {
  return verdicts.find((known) => known.verdict === v) ?? { label: words(v), tone: 'grey' };
}

/** labelFor is the verdict that a key stands for. */
export function labelFor(key: string): Verdict | undefined {
  return verdicts.find((known) => known.key === key.toLowerCase())?.verdict;
}

const regions = new Intl.DisplayNames(language, { type: 'region' });

/** country writes a country of ISO 3166; '' is one that is not known. */
export function country(code: string): string {
  return /^[A-Z]{2}$/.test(code) ? (regions.of(code) ?? code) : code === '' ? 'Unknown country' : code;
}
