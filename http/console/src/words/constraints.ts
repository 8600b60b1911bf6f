import type { Campaign, Schemas } from '../api/client';

/** Why holds the answer to "why is it not dialling (more)?", as the dialler says it. */
export interface Why {
  title: string;
  sentence: string;
  /** True when nothing is wrong: the campaign dials as fast as it was told to. */
  normal: boolean;
}

/** whyOf explains a campaign; undefined when there is nothing to explain. */
export function whyOf(c: Campaign): Why | undefined {
  if (!c.live || (c.status !== 'running' && c.status !== 'paused')) return undefined;
  return { title: c.live.title ?? '', sentence: c.live.explanation, normal: c.live.severity === 'normal' };
}

/** Where an operator does what would help, and what that is called. */
const remedies: Record<
  NonNullable<NonNullable<Campaign['live']>['remedy']>,
  { label: string; page: string } | undefined
> = {
  raise_seats: { label: 'Bots', page: '/bots' },
  activate_bot: { label: 'Activate the bot', page: '/bots' },
  check_bot: { label: 'Look at the bot', page: '/bots' },
  raise_trunk_caps: { label: 'Trunks', page: '/trunks' },
  check_trunks: { label: 'Look at the trunks', page: '/trunks' },
  add_numbers: { label: 'Numbers', page: '/numbers' },
  // What is done on this page, or with the campaign paused, and what is done to the machine.
  resume: undefined,
  add_contacts: undefined,
  raise_concurrency: undefined,
  raise_max_lines: undefined,
  change_window: undefined,
  change_retries: undefined,
  check_database: undefined,
  add_capacity: undefined,
};

/** remedyOf is the page on which something can be done about what holds a campaign back. */
export function remedyOf(c: Campaign): { label: string; page: string } | undefined {
  const remedy = c.live?.remedy;
  return remedy === undefined ? undefined : remedies[remedy];
}

export type Resource = Schemas['Resource'];

/** The names of what a campaign dials with, and what stands in its bar. */
export const resources: Record<Resource['resource'], { label: string; about: string }> = {
  seats: {
    label: 'Seats',
    about: 'Workers in a call, of those that the campaign may use now: its concurrency and what the bot has for it.',
  },
  trunk_cps: {
    label: 'Trunk CPS',
    about: 'Calls placed per second over the last 9 seconds, by all campaigns, of what the usable trunks grant.',
  },
  trunk_channels: {
    label: 'Channels',
    about: 'Live calls on the usable trunks, of all campaigns, of their channel caps.',
  },
  numbers: {
    label: 'Numbers',
    about: 'Caller IDs of the pool that carry no further call now: in use, resting, at a cap or quarantined.',
  },
};
