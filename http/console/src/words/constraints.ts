import type { Campaign, Schemas } from '../api/client';
import { count, percent, plural, rate, seconds } from './figures';
import { windowOf } from './times';

/** Why holds the answer to "why is it not dialling (more)?". */
export interface Why {
  title: string;
  sentence: string;
  /** True when nothing is wrong: the campaign dials as fast as it was told to. */
  normal: boolean;
}

export type Resource = Schemas['Capacity']['resources'][number];

/** Of what the campaign dials with, one thing; undefined while that is not known. */
type Find = (resource: Resource['resource']) => Resource | undefined;
type Words = (c: Campaign, live: NonNullable<Campaign['live']>, find: Find) => Why;

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
    // Of actors/fleet/endpoints.go and engine/run: the bot has no seats at all.
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
  abandon_credit: (c, live) => ({
    title: 'Holding back so that nobody is abandoned',
    sentence: `One more line than there are free workers could break the abandon cap of ${percent(c.settings.abandon_cap_pct / 100)}: of ${plural(Math.floor(live.abandon_credit ?? 0), 'credit')} ${count(Math.min(live.abandon_credit_held ?? 0, Math.floor(live.abandon_credit ?? 0)))} are held by lines. Every answered call earns room for more.`,
    normal: true,
  }),
  trunk_cps: (_, __, find) => {
    const r = find('trunk_cps');
    return {
      title: 'The trunks take no more calls per second',
      sentence: `${r === undefined ? 'Calls' : `${rate(r.used)} of ${rate(r.of)} calls a second: they`} are placed as fast as the trunks allow (their CPS caps).`,
      normal: true,
    };
  },
  trunk_channels: (_, __, find) => {
    const r = find('trunk_channels');
    return {
      title: 'All channels of the trunks are taken',
      sentence: `${r === undefined ? '' : `${count(r.used)} of ${count(r.of)} are in use. `}The next call is placed when one ends (the channel caps of the trunks).`,
      normal: true,
    };
  },
  trunk_health: () => ({ title: 'No trunk is usable', sentence: 'The trunks do not answer, refuse our calls or are switched off. Dialling goes on as soon as one recovers.', normal: false }),
  number_pool: (c, _, find) => {
    const r = find('numbers');
    return {
      title: 'No outbound number is free',
      sentence: `All ${plural(c.settings.number_pool.length, 'number')} of the pool are in use, resting, at their caps or quarantined${r === undefined || Object.keys(r.out).length === 0 ? '' : ` (${outOf(r)})`}.`,
      normal: false,
    };
  },
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
  overload: (_, live) => {
    // Of engine/pacing/brake.go: what is late, and by how much.
    const late = /^(.+) are (\d+) ms late/.exec(live.explanation ?? '');
    return {
      title: 'The dialler is at its limit',
      sentence: `${late === null ? 'It is late with the calls it has' : `${late[1]?.charAt(0).toUpperCase()}${late[1]?.slice(1)} are ${count(Number(late[2]))} ms late`}. No more calls are placed than it can serve; calls in progress go on. Give it processor time or a faster database, or lower the trunks' calls a second.`,
      normal: false,
    };
  },
};

/** Why a caller ID carries no further call, and how a trunk stands that takes none. */
const outWords: Record<string, string> = {
  state: 'quarantined or retired',
  rest: 'resting',
  concurrent: 'in as many calls as they may',
  hour: 'at their cap of the hour',
  day: 'at their cap of the day',
  away: 'counted by a node that does not answer',
  off: 'switched off',
};

/** outOf says what of a resource cannot be used now, and why: "2 resting, 1 at its cap of the day". */
export function outOf(r: Resource): string {
  return Object.entries(r.out)
    .map(([why, n]) => `${count(n)} ${outWords[why] ?? why}`)
    .join(', ');
}

/** The names of what a campaign dials with, and what stands in its bar. */
export const resources: Record<Resource['resource'], { label: string; about: string }> = {
  seats: { label: 'Seats', about: 'Workers in a call, of those that the campaign may use now: its concurrency and what the bot has for it.' },
  trunk_cps: { label: 'Trunk CPS', about: 'Calls placed per second over the last 9 seconds, by all campaigns, of what the usable trunks grant.' },
  trunk_channels: { label: 'Channels', about: 'Live calls on the usable trunks, of all campaigns, of their channel caps.' },
  numbers: { label: 'Numbers', about: 'Caller IDs of the pool that carry no further call now: in use, resting, at a cap or quarantined.' },
};

/** whyOf explains a campaign; undefined when there is nothing to explain. */
export function whyOf(c: Campaign, capacity?: Schemas['Capacity']): Why | undefined {
  if (!c.live || (c.status !== 'running' && c.status !== 'paused')) return undefined;
  const words = byConstraint[c.live.constraint];
  if (words !== undefined) return words(c, c.live, (name) => capacity?.resources.find((r) => r.resource === name));
  return { title: c.live.constraint.replaceAll('_', ' '), sentence: c.live.explanation ?? '', normal: false };
}
