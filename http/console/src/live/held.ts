import type { ServerEvent } from './events';
import type { Json } from './merge';
import { mergePatch } from './merge';

/** Held is the state that a stream has told so far, with the id under which the stream goes on from it. */
export interface Held {
  id: string;
  value: Json;
}

/** Change is one step of Held, as it also travels between tabs; `after` names the state that a delta applies to. */
export type Change =
  | { kind: 'snapshot'; id: string; value: Json }
  | { kind: 'delta'; id: string; after: string; patch: Json }
  | { kind: 'gone' };

/** changeOf reads an event of the server; undefined when it changes nothing (heartbeats, events of newer servers). */
export function changeOf(e: ServerEvent, held: Held | undefined): Change | undefined {
  switch (e.type) {
    case 'snapshot':
      return { kind: 'snapshot', id: e.id ?? '', value: JSON.parse(e.data) as Json };
    case 'delta':
      return held && { kind: 'delta', id: e.id ?? held.id, after: held.id, patch: JSON.parse(e.data) as Json };
    case 'gone':
      return { kind: 'gone' };
    default:
      return undefined;
  }
}

/** Missed says that a delta applies to a state that is not held: ask for a snapshot. */
export const missed = Symbol('missed');

/** step applies a change. */
export function step(held: Held | undefined, c: Exclude<Change, { kind: 'gone' }>): Held | typeof missed {
  if (c.kind === 'snapshot') return { id: c.id, value: c.value };
  if (held === undefined || held.id !== c.after) return missed;
  return { id: c.id, value: mergePatch(held.value, c.patch) };
}
