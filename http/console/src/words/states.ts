import type { Campaign, Schemas } from '../api/client';
import { outcomes } from './outcomes.gen';

// The words of the specification for what the wire calls in snake_case. Another value than those of today, from a newer
// server, is shown as its words, never as nothing.

/** words makes "machine_detected" readable. */
export function words(code: string): string {
  if (code === 'api' || code === 'csv') return code.toUpperCase();
  const s = code.replaceAll('_', ' ');
  return s.charAt(0).toUpperCase() + s.slice(1);
}

/** The colours that carry a meaning; theme.css says how each looks on light and on dark. */
export type Tone = 'grey' | 'green' | 'amber' | 'blue' | 'red' | 'purple' | 'orange' | 'teal';

export interface Named {
  label: string;
  tone: Tone;
}

export const campaignStatus: Record<Schemas['CampaignStatus'], Named> = {
  draft: { label: 'Draft', tone: 'grey' },
  running: { label: 'Running', tone: 'green' },
  paused: { label: 'Paused', tone: 'amber' },
  completed: { label: 'Completed', tone: 'blue' },
  failed: { label: 'Failed', tone: 'red' },
};

export const contactStatus: Record<Schemas['ContactStatus'], Named> = {
  pending: { label: 'Pending', tone: 'grey' },
  waiting: { label: 'Waiting', tone: 'amber' },
  connected: { label: 'Connected', tone: 'teal' },
  completed: { label: 'Completed', tone: 'green' },
  failed: { label: 'Failed', tone: 'red' },
  abandoned: { label: 'Abandoned', tone: 'orange' },
  machine_detected: { label: 'Machine detected', tone: 'purple' },
  window_closed: { label: 'Window closed', tone: 'grey' },
  manually_stopped: { label: 'Manually stopped', tone: 'grey' },
  expired: { label: 'Expired', tone: 'grey' },
  excluded: { label: 'Excluded', tone: 'grey' },
};

/** What the call list can be narrowed to: a status, or those whom the counter Unanswered counts. */
export const contactFilter: Record<Schemas['ContactFilter'], string> = {
  ...(Object.fromEntries(Object.entries(contactStatus).map(([value, { label }]) => [value, label])) as Record<
    Schemas['ContactStatus'],
    string
  >),
  unanswered: 'Unanswered',
};

export const outcome = outcomes;

export const attemptState: Record<Schemas['AttemptState'], Named> = {
  scheduled: { label: 'Scheduled', tone: 'blue' },
  reserved: { label: 'Reserved', tone: 'grey' },
  dialling: { label: 'Dialling', tone: 'blue' },
  ringing: { label: 'Ringing', tone: 'blue' },
  answered: { label: 'Answered', tone: 'teal' },
  screening: { label: 'Screening', tone: 'teal' },
  bridging: { label: 'Connecting', tone: 'teal' },
  connected: { label: 'Connected', tone: 'green' },
  ended: { label: 'Ended', tone: 'grey' },
};

/** named looks a value up. */
export function named<K extends string>(table: Record<K, Named>, value: string): Named {
  return Object.hasOwn(table, value) ? table[value as K] : { label: words(value), tone: 'grey' };
}

export const completionReason: Record<NonNullable<Campaign['completion_reason']>, string> = {
  all_contacts_final: 'all contacts reached a final state',
  max_retries_completed: 'max retries completed',
  window_ended: 'calling window ended',
  manually_stopped: 'manually stopped',
  no_callable_contacts: 'no callable contacts',
};

/** Why a contact is in its state, where the state alone does not say. */
const contactReason: Record<string, string> = {
  attempts_exhausted: 'attempts used up',
};

export function reasonOf(reason: string): string {
  return contactReason[reason] ?? named(outcome, reason).label.toLowerCase();
}

const stopped: Record<string, string> = {
  trunk_health: 'no trunk',
  seats: 'no bot',
  database: 'no database',
  node_fenced: 'this node may not dial',
  keeper_away: 'another node does not answer',
};

/** The live activity indicator (spec: Live activity indicator). */
export function indicator(c: Campaign): Named | undefined {
  if (c.status !== 'running' || !c.live) return undefined;
  switch (c.live.indicator) {
    case 'live':
      return { label: 'Live Activity', tone: 'green' };
    case 'stopped':
      return { label: `Stopped: ${stopped[c.live.constraint] ?? 'an outage'}`, tone: 'red' };
    case 'idle':
      return { label: 'Idle, waiting for retries', tone: 'amber' };
    case 'outside_window':
      return { label: 'Paused, outside time window', tone: 'orange' };
    default:
      return undefined;
  }
}

/** attemptLabel is the outcome of an attempt, or its state while that is not final. */
export function attemptLabel(a: Pick<Schemas['Attempt'], 'outcome' | 'state' | 'awaiting_result'>): Named {
  if (a.awaiting_result) return { label: 'Awaiting result', tone: 'grey' };
  return a.outcome ? named(outcome, a.outcome) : named(attemptState, a.state);
}
