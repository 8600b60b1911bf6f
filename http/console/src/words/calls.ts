import type { Attempt, Contact } from '../api/client';

export type Direction = Attempt['direction'];

/** Who began a call. */
export const direction: Record<Direction, { label: string; more: string }> = {
  outbound: { label: 'Outbound', more: 'We called.' },
  inbound: { label: 'Inbound', more: 'The person called us.' },
};

/** What stands for the number of a caller who does not show it. */
export const withheld = 'number withheld';

/** endsOf are the two numbers of a call: where it came from, and whom it went to. */
export function endsOf(a: Pick<Attempt, 'direction' | 'to_number' | 'from_number'>): { from: string; to: string } {
  return a.direction === 'inbound'
    ? { from: a.to_number === '' ? withheld : a.to_number, to: a.from_number }
    : { from: a.from_number, to: a.to_number };
}

/** trailOf are the calls with a contact, theirs and ours, newest last: identifiers begin with the time. */
export function trailOf(c: Pick<Contact, 'attempt_trail' | 'calls_back'>): Attempt[] {
  if (c.calls_back === undefined) return c.attempt_trail;
  return [...c.attempt_trail, ...c.calls_back].sort((a, b) => (a.attempt_id < b.attempt_id ? -1 : 1));
}
