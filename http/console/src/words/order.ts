import type { Campaign } from '../api/client';
import { stopped } from './attention';
import { scope, processed } from './campaigns';

/** How the list of campaigns can be sorted. */
export const columns = [
  'name',
  'status',
  'progress',
  'ringing',
  'in_progress',
  'connected',
  'answer_rate',
  'created',
] as const;
export type Column = (typeof columns)[number];

export interface Order {
  by: Column;
  descending: boolean;
}

/** Words begin with A, figures and times with the greatest. */
const words: Column[] = ['name', 'status'];

/** orderOf reads an order as the address has it: a column, with a - before it the other way round. */
export function orderOf(text: string | null): Order | undefined {
  const by = columns.find((c) => c === text?.replace(/^-/, ''));
  return by && { by, descending: text?.startsWith('-') ?? false };
}

/** addressOf is what orderOf reads. */
export function addressOf(o: Order | undefined): string {
  return o ? (o.descending ? '-' : '') + o.by : '';
}

/**
 * next is the order after a press on a column: as one looks for it first, then the other way, then as the list comes.
 */
export function next(now: Order | undefined, by: Column): Order | undefined {
  const first = !words.includes(by);
  if (now?.by !== by) return { by, descending: first };
  return now.descending === first ? { by, descending: !first } : undefined;
}

const statuses = ['running', 'paused', 'draft', 'completed', 'failed'];

/** What has no figure comes last, whichever way. */
function figure(c: Campaign, by: Column): number | undefined {
  const all = scope(c);
  switch (by) {
    case 'status':
      return statuses.indexOf(c.status);
    case 'progress':
      return all > 0 ? processed(c) / all : undefined;
    case 'ringing':
      return c.live?.ringing;
    case 'in_progress':
      return c.live?.in_progress;
    case 'connected':
      return c.counters.connected;
    case 'answer_rate':
      return c.counters.answer_rate ?? undefined;
    case 'created':
      return Date.parse(c.created_at);
    default:
      return undefined;
  }
}

/** urgency orders the campaigns when nothing else does: what is stopped, what runs, what waits, the rest. */
function urgency(c: Campaign): number {
  if (stopped(c)) return 0;
  if (c.status === 'running' || c.draining) return 1;
  return 2 + ['paused', 'failed', 'draft', 'completed'].indexOf(c.status);
}

/** sorted gives the campaigns in the order, the most urgent first without one; equal ones stay as they come. */
export function sorted(list: Campaign[], o: Order | undefined): Campaign[] {
  if (!o) return list.toSorted((a, b) => urgency(a) - urgency(b));
  const way = o.descending ? -1 : 1;
  if (o.by === 'name')
    return list.toSorted(
      (a, b) => way * a.settings.name.localeCompare(b.settings.name, undefined, { numeric: true, sensitivity: 'base' }),
    );
  return list
    .map((c) => ({ c, n: figure(c, o.by) }))
    .sort((a, b) =>
      a.n === undefined || b.n === undefined
        ? Number(a.n === undefined) - Number(b.n === undefined)
        : way * (a.n - b.n),
    )
    .map(({ c }) => c);
}
