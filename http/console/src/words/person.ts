import type { Schemas } from '../api/client';
import type { Tone } from './states';
import { attemptLabel, words } from './states';

type Person = Schemas['Person'];

/** Which variables are a name, in the order in which they are taken. */
const nameParts = [
  ['name'],
  ['full_name'],
  ['first_name', 'last_name'],
  ['firstname', 'lastname'],
  ['first_name'],
  ['last_name'],
  ['surname'],
];

/** nameIn is the name among a contact's variables, '' when none is. */
export function nameIn(variables: Record<string, string>): string {
  const plain = new Map(
    Object.entries(variables).map(([k, v]) => [k.toLowerCase().replaceAll(/[\s-]/g, '_'), v.trim()]),
  );
  for (const parts of nameParts) {
    const found = parts.map((p) => plain.get(p) ?? '');
    if (found.every((v) => v !== '')) return found.join(' ');
  }
  return '';
}

/** nameOf is a person's name, the fullest that a contact has, by the latest of those. */
export function nameOf(contacts: readonly Schemas['PersonContact'][]): string {
  return contacts.map((c) => nameIn(c.variables)).reduce((most, n) => (n.length > most.length ? n : most), '');
}

/** numbersOf are all of a person's numbers, the one that was asked for first. */
export function numbersOf(p: Pick<Person, 'phone_number' | 'contacts'>): string[] {
  return [
    ...new Set([
      p.phone_number,
      ...p.contacts.flatMap((c) => [c.phone_number, ...(c.alternates ?? []).map((a) => a.number)]),
    ]),
  ];
}

/** Step is one thing that happened to a person, or will. */
export interface Step {
  key: string;
  at: string;
  tone: Tone;
  title: string;
  detail?: string;
  /** Where it happened. */
  campaign?: { id: string; name: string };
  call?: string;
}

/** storyOf is what happened to a person in all campaigns on one line of time, the latest first. */
export function storyOf(p: Person): Step[] {
  const names = new Map(p.contacts.map((c) => [c.campaign_id, c.campaign_name]));
  const of = (id: string | undefined) =>
    id === undefined || id === '' ? {} : { campaign: { id, name: names.get(id) ?? id } };
  const steps: Step[] = [
    ...p.contacts.map((c) => ({
      key: `added ${c.contact_id}`,
      at: c.created_at,
      tone: 'grey' as const,
      title: 'Added',
      detail: c.source === 'csv' ? 'from a file' : words(c.source),
      ...of(c.campaign_id),
    })),
    ...p.calls.map((c) => {
      const label = attemptLabel(c);
      const elsewhere = c.to_number !== p.phone_number && c.to_number !== '' ? `at ${c.to_number}` : undefined;
      return {
        key: c.call_id,
        at: c.scheduled?.not_before ?? c.started_at ?? '',
        tone: label.tone,
        title:
          c.state === 'scheduled'
            ? 'Call planned'
            : (c.direction === 'inbound' ? 'The person called us' : 'Called') + `: ${label.label.toLowerCase()}`,
        ...(elsewhere === undefined ? {} : { detail: elsewhere }),
        ...of(c.campaign_id),
        call: c.call_id,
      };
    }),
    ...p.exclusions.map((x) => ({
      key: `excluded ${x.campaign_id} ${x.phone_number}`,
      at: x.created_at,
      tone: 'red' as const,
      title: 'Excluded',
      ...(x.reason === '' ? {} : { detail: x.reason }),
      campaign: { id: x.campaign_id, name: x.campaign_name },
    })),
    ...p.suppressions.map((x) => ({
      key: `suppressed ${x.number}`,
      at: x.created_at,
      tone: 'red' as const,
      title:
        x.reason === 'person_erased'
          ? 'A person with this number was erased'
          : 'Excluded everywhere: on the suppression list',
      detail: [x.number === p.phone_number ? '' : x.number, x.reason === 'person_erased' ? '' : words(x.reason)]
        .filter(Boolean)
        .join(', '),
    })),
  ];
  return steps.sort((a, b) => Date.parse(b.at || '0') - Date.parse(a.at || '0') || b.key.localeCompare(a.key));
}
