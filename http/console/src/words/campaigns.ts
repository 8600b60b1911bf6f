import type { Campaign, Schemas } from '../api/client';

// Figures that follow from a campaign's counters (SEMANTICS: Counters and metrics).

type State = Schemas['ContactStatus'];

/** The final outcomes: contacts in them are processed. */
export const finalStates = [
  'completed',
  'failed',
  'abandoned',
  'machine_detected',
  'window_closed',
  'manually_stopped',
  'expired',
] as const satisfies readonly State[];

function inState(c: Campaign, s: State): number {
  return c.counters.states?.[s] ?? 0;
}

/** processed is how many contacts have a final outcome. */
export function processed(c: Campaign): number {
  return finalStates.reduce((sum, s) => sum + inState(c, s), 0);
}

/** scope is how many contacts there are to process: all but the excluded. */
export function scope(c: Campaign): number {
  return c.counters.total - inState(c, 'excluded');
}

/** waiting is how many contacts are neither final nor excluded. */
export function waiting(c: Campaign): number {
  return Math.max(0, scope(c) - processed(c));
}

/** A part of the progress bar. */
export interface Part {
  state: State;
  contacts: number;
  share: number; // of the scope, 0…1
}

/** parts splits the processed contacts by their final outcome, leaving out what nobody is in. */
export function parts(c: Campaign): Part[] {
  const all = scope(c);
  return finalStates
    .map((state) => ({ state, contacts: inState(c, state), share: all > 0 ? inState(c, state) / all : 0 }))
    .filter((p) => p.contacts > 0);
}
