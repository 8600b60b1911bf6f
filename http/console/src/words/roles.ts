import type { Role } from '../api/client';

/** What each role is called, and what it may do. */
export const roles: Record<Role, { label: string; may: string }> = {
  viewer: { label: 'Viewer', may: 'Looks at campaigns, contacts and calls; changes nothing.' },
  operator: {
    label: 'Operator',
    may: 'Runs campaigns: creates, starts, edits and stops them, adds and excludes contacts.',
  },
  admin: { label: 'Administrator', may: 'All of that, and trunks, numbers, bots, keys, users and webhooks.' },
};
