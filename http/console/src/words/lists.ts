import type { Role, Schemas } from '../api/client';
import { may } from '../api/session';
import { plural } from './figures';

type Import = Schemas['Import'];
type Counts = Schemas['UndoCounts'];

/** becameOf says what became of a file. */
export function becameOf(i: Import): string {
  switch (i.state) {
    case 'staging':
    case 'activating':
      return 'is being added';
    case 'failed':
      return `was not added: ${i.problem?.detail ?? 'the import failed'}`;
    default: {
      const left = i.invalid + i.duplicate - i.readmitted + i.excluded;
      return `${plural(i.added, 'contact')} added${left > 0 ? `, ${plural(left, 'row')} left out` : ''}`;
    }
  }
}

const because: Record<keyof Counts['reasons'], (n: string, one: boolean) => string> = {
  in_call: (n, one) => `${n} ${one ? 'is' : 'are'} being called`,
  dialled: (n, one) => `${n} ${one ? 'was' : 'were'} dialled`,
  excluded: (n, one) => `${n} ${one ? 'is' : 'are'} excluded`,
  call_back: (n, one) => `${n} ${one ? 'was' : 'were'} promised a call back`,
  named_again: (n) => `${n} came again by another file, a trigger or a person, or called us`,
  ended: (n, one) => `${n} ${one ? 'has' : 'have'} expired or belong${one ? 's' : ''} to a run that is over`,
};

/** staysOf says who stays, a sentence a reason. */
export function staysOf(c: Counts): string[] {
  return (Object.keys(because) as (keyof Counts['reasons'])[]).flatMap((reason) => {
    const n = c.reasons[reason] ?? 0;
    return n === 0 ? [] : [`${because[reason](plural(n, 'contact'), n === 1)}: ${n === 1 ? 'it stays' : 'they stay'}.`];
  });
}

/** takenBackOf says how far a file was taken back. */
export function takenBackOf(u: NonNullable<Import['undo']>): string {
  const stayed = u.stayed > 0 ? `, ${plural(u.stayed, 'contact')} stayed` : '';
  return u.state === 'in_progress'
    ? `Being taken back: ${plural(u.taken_back, 'contact')} deleted so far.`
    : `Taken back by ${u.created_by.name}: ${plural(u.taken_back, 'contact')} deleted${stayed}.`;
}

/** mayTakeBack says whether a file can be taken back now, and by whom. */
export function mayTakeBack(c: { status: string }, role: Role, i: Import): boolean {
  return (
    may(role, 'operator') &&
    i.state === 'active' &&
    i.added > 0 &&
    i.undo === undefined &&
    ['draft', 'running', 'paused'].includes(c.status)
  );
}
