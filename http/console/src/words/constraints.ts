import type { Campaign } from '../api/client';
import { count, percent, plural, seconds } from './figures';
import { windowOf } from './times';

/** Why holds the answer to "why is it not dialling (more)?". */
export interface Why {
  title: string;
  sentence: string;
  /** True when nothing is wrong: the campaign dials as fast as it was told to. */
  normal: boolean;
}

type Words = (c: Campaign, live: NonNullable<Campaign['live']>) => Why;

/** byConstraint has the words for every constraint of engine/outcome.go; a test holds the two together. */
export const byConstraint: Record<string, Words> = {
  '': () => ({ title: 'Nothing holds it back', sentence: 'Due contacts are dialled as they come.', normal: true }),
  window: (c) => ({
    title: 'The calling window is closed',
    sentence: `Dialling goes on when it opens: ${windowOf(c.settings.window)}.`,
    normal: false,
  }),
  paused: () => ({ title: 'The campaign is paused', sentence: 'No new calls are placed until somebody presses Resume. Calls in progress finish.', normal: false }),
  concurrency: (c) => ({
    title: 'All conversations that the campaign may hold are taken',
    sentence: `Concurrency is ${count(c.settings.concurrency)}; the next call is placed when one ends.`,
    normal: true,
  }),
  seats: (_, live) => {
    // Of actors/endpoints.go and run_live.go: the bot has no seats at all.
    const bot = /^the bot (is inactive|takes no calls)/.exec(live.explanation ?? '');
    if (bot !== null)
      return {
        title: `The bot ${bot[1]}`,
        sentence:
          bot[1] === 'is inactive'
            ? 'Nothing is dialled before it is activated. Calls in progress go on.'
            : 'Nothing is dialled that no bot could serve. It is asked again and again, and dialling goes on by itself once it answers. Calls in progress go on.',
        normal: false,
      };
    return {
      title: 'Every worker of the bot is taken',
      sentence: `${plural(live.seats ?? 0, 'worker')} can be used now, ${count(live.free_seats ?? 0)} free; the next call is placed when one is given back. Raise the bot's seats to dial more.`,
      normal: true,
    };
  },
  abandon_credit: (c) => ({
    title: 'Holding back so that nobody is abandoned',
    sentence: `One more line than there are free workers could break the abandon cap of ${percent(c.settings.abandon_cap_pct / 100)}. Every answered call earns room for more.`,
    normal: true,
  }),
  trunk_cps: () => ({ title: 'The trunks take no more calls per second', sentence: 'Calls are placed as fast as the trunks allow (their CPS caps).', normal: true }),
  trunk_channels: () => ({ title: 'All channels of the trunks are taken', sentence: 'The next call is placed when one ends (the channel caps of the trunks).', normal: true }),
  trunk_health: () => ({ title: 'No trunk is usable', sentence: 'The trunks do not answer, refuse our calls or are switched off. Dialling goes on as soon as one recovers.', normal: false }),
  number_pool: (c) => ({
    title: 'No outbound number is free',
    sentence: `All ${plural(c.settings.number_pool.length, 'number')} of the pool are in use, resting, at their caps or quarantined.`,
    normal: false,
  }),
  no_due_contacts: (c) => ({
    title: 'No contact is due',
    sentence: c.settings.always_on ? 'The campaign waits for contacts to be added.' : 'Every contact that may be dialled is in a call or waits for its result.',
    normal: false,
  }),
  retry_delay: (c) => ({
    title: 'Waiting for retries',
    sentence: `The contacts that are left were dialled before; each is dialled again ${seconds(c.settings.retry_delay_s)} after its last attempt ended.`,
    normal: false,
  }),
  database: () => ({
    title: 'The database does not answer',
    sentence: 'No call is placed whose intent cannot be stored. Calls in progress go on; dialling resumes by itself.',
    normal: false,
  }),
  node_draining: () => ({ title: 'The dialler is shutting down', sentence: 'Calls in progress finish; dialling goes on after its next start.', normal: false }),
  node_fenced: () => ({ title: 'This node lost its lease', sentence: 'Another node takes over within ten seconds; calls in progress go on.', normal: false }),
  keeper_away: () => ({
    title: 'Another node does not answer',
    sentence: 'It keeps the count of what the trunk, the bot or the number may carry. It is replaced within ten seconds; calls in progress go on.',
    normal: false,
  }),
};

/** whyOf explains a campaign; undefined when there is nothing to explain. */
export function whyOf(c: Campaign): Why | undefined {
  if (!c.live || (c.status !== 'running' && c.status !== 'paused')) return undefined;
  const words = byConstraint[c.live.constraint];
  if (words !== undefined) return words(c, c.live);
  return { title: c.live.constraint.replaceAll('_', ' '), sentence: c.live.explanation ?? '', normal: false };
}
