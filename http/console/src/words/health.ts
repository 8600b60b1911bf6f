import type { Schemas } from '../api/client';

type Check = Schemas['Ready']['checks'][number];

/** Trouble is what the banner says of something that does not work. */
export interface Trouble {
  name: string;
  title: string;
  /** What it means for calls, and for who sits here. */
  sentence: string;
  /** What is wrong and what to do, as the dialler says it. */
  detail: string;
  since?: string;
}

/** words of the checks that an operator has to hear of wherever he is. */
const words: Record<string, { title: string; sentence: string }> = {
  database: {
    title: 'The database is away',
    sentence:
      'Calls in progress go on. No new call is placed and nothing can be changed until it is back; ' +
      'dialling then resumes by itself.',
  },
  spool: {
    title: 'The spool takes nothing more',
    sentence: 'What calls in progress produce cannot be kept on disk: answered calls wait for the database.',
  },
  rtp_ports: { title: 'No audio', sentence: 'None of the sockets for audio can be read: calls are silent.' },
  descriptors: {
    title: 'The dialler has no descriptors left',
    sentence: 'Calls in progress go on. Not every bot and not every client can be reached.',
  },
  replaced: {
    title: 'Another dialler took over',
    sentence:
      'Another process works on this database. This one places no call and changes nothing until it is started again.',
  },
  cluster: {
    title: 'This node lost its lease',
    sentence: 'Calls in progress go on. This node places no call; another one takes over what it did.',
  },
  draining: { title: 'The dialler is shutting down', sentence: 'Calls in progress finish; no new call is placed.' },
};

/** troubles gives the words for what fails; what only one page concerns is left to that page. */
export function troubles(checks: readonly Check[]): Trouble[] {
  const list: Trouble[] = [];
  for (const c of checks) {
    const w = words[c.name];
    if (c.ok || w === undefined) continue;
    const detail = c.detail ?? '';
    list.push({
      name: c.name,
      ...w,
      detail: detail.charAt(0).toUpperCase() + detail.slice(1),
      ...(c.since === undefined ? {} : { since: c.since }),
    });
  }
  return list;
}
