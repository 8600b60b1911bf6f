import type { Attempt } from '../api/client';

/** A stage of a call: from one moment to the next. */
export interface Stage {
  name: string;
  from: number; // ms since 1970
  until: number | undefined; // undefined: still in it
  tone: 'grey' | 'blue' | 'amber' | 'green';
}

const at = (s: string | null | undefined) => (s === null || s === undefined ? undefined : Date.parse(s));

/** stagesOf gives the stages of an attempt in their order: dialling, ringing, waiting for the bot, conversation. */
export function stagesOf(a: Attempt): Stage[] {
  const marks = [
    { name: 'Dialling', from: at(a.started_at), tone: 'grey' },
    { name: 'Ringing', from: at(a.ringing_at), tone: 'blue' },
    { name: a.direction === 'inbound' ? 'Answered' : 'Answered, to the bot', from: at(a.answered_at), tone: 'amber' },
    { name: 'Conversation', from: at(a.connected_at), tone: 'green' },
  ].filter((m): m is { name: string; from: number; tone: Stage['tone'] } => m.from !== undefined);
  return marks.map((m, i) => ({ ...m, until: marks[i + 1]?.from ?? at(a.ended_at) }));
}
