import type { QueryClient } from '@tanstack/react-query';
import type { ComponentType } from 'react';

import type { Role } from './api/client';
import { campaignOf, campaignsOf } from './api/queries';
import type { Code } from './components/code';
import { code } from './components/code';
import {
  BotIcon,
  CadenceIcon,
  CalendarIcon,
  ClockIcon,
  EarIcon,
  HistoryIcon,
  KeyIcon,
  NumberIcon,
  PhoneIcon,
  ShieldIcon,
  TrunkIcon,
  UsersIcon,
  WallIcon,
  WebhookIcon,
} from './components/admin-icons';
import { CampaignIcon } from './components/icons';

/** The parts of the navigation, in their order; the first has no heading. */
export const sections = ['', 'Telephony', 'Rules and events', 'Administration'] as const;
export type Section = (typeof sections)[number];

/** A page of the console; one with `nav` is in the navigation. Paths are below /dashboard. */
export interface Page {
  path: string;
  page: Code<{ params: Record<string, string> }>;
  /** What of the server it shows first, asked for while its code is still coming. */
  ask?: (client: QueryClient, params: Record<string, string>) => Promise<unknown>;
  nav?: { label: string; icon: ComponentType<{ size?: number }>; section?: Section };
  /** Who may open it, for whom it stands in the navigation; left out: everybody who is logged in. */
  needs?: Role;
}

export const home = '/campaigns';

/** pages is every page, the one place to add another. Each is loaded when it is first opened. */
export const pages: Page[] = [
  {
    path: '/campaigns',
    nav: { label: 'Campaigns', icon: CampaignIcon },
    page: code(() => import('./pages/campaigns/campaigns-page')),
    ask: (client) => client.query(campaignsOf),
  },
  { path: '/set-up', page: code(() => import('./pages/set-up/set-up-page')) },
  { path: '/campaigns/new', page: code(() => import('./pages/wizard/wizard-page')) },
  { path: '/campaigns/:id/set-up', page: code(() => import('./pages/wizard/wizard-page')) },
  { path: '/campaigns/:id/edit', page: code(() => import('./pages/edit/edit-page')) },
  { path: '/campaigns/:id/exclusions', page: code(() => import('./pages/exclusions/exclusions-page')) },
  { path: '/campaigns/:id/simulate', page: code(() => import('./pages/simulation/simulation-page')) },
  {
    path: '/campaigns/:id',
    page: code(() => import('./pages/campaign/campaign-page')),
    ask: (client, { id = '' }) => client.query(campaignOf(id)),
  },
  {
    path: '/wall',
    nav: { label: 'Live wall', icon: WallIcon },
    page: code(() => import('./pages/wall/wall-page')),
    ask: (client) => client.query(campaignsOf),
  },
  {
    path: '/calls',
    nav: { label: 'Calls', icon: PhoneIcon },
    page: code(() => import('./pages/calls/calls-page')),
  },
  { path: '/people/:number', page: code(() => import('./pages/person/person-page')) },
  { path: '/calls/:id', page: code(() => import('./pages/calls/call-page')) },
  {
    path: '/dialouts',
    needs: 'operator',
    nav: { label: 'Scheduled calls', icon: ClockIcon },
    page: code(() => import('./pages/dialouts/dialouts-page')),
  },
  {
    path: '/trunks',
    needs: 'operator',
    nav: { label: 'Trunks', icon: TrunkIcon, section: 'Telephony' },
    page: code(() => import('./pages/trunks/trunks-page')),
  },
  {
    path: '/numbers',
    needs: 'operator',
    nav: { label: 'Numbers', icon: NumberIcon, section: 'Telephony' },
    page: code(() => import('./pages/numbers/numbers-page')),
  },
  {
    path: '/bots',
    needs: 'operator',
    nav: { label: 'Bots', icon: BotIcon, section: 'Telephony' },
    page: code(() => import('./pages/bots/bots-page')),
  },
  {
    path: '/suppressions',
    needs: 'operator',
    nav: { label: 'Suppression list', icon: ShieldIcon, section: 'Rules and events' },
    page: code(() => import('./pages/suppressions/suppressions-page')),
  },
  {
    path: '/cadences',
    needs: 'operator',
    nav: { label: 'Cadences', icon: CadenceIcon, section: 'Rules and events' },
    page: code(() => import('./pages/cadences/cadences-page')),
  },
  {
    path: '/calendars',
    needs: 'operator',
    nav: { label: 'Calendars', icon: CalendarIcon, section: 'Rules and events' },
    page: code(() => import('./pages/calendars/calendars-page')),
  },
  {
    path: '/webhooks',
    needs: 'operator',
    nav: { label: 'Webhooks', icon: WebhookIcon, section: 'Rules and events' },
    page: code(() => import('./pages/webhooks/webhooks-page')),
  },
  { path: '/webhooks/:id', needs: 'operator', page: code(() => import('./pages/webhooks/webhook-page')) },
  {
    path: '/amd-review',
    needs: 'operator',
    nav: { label: 'AMD review', icon: EarIcon, section: 'Rules and events' },
    page: code(() => import('./pages/reviews/reviews-page')),
  },
  {
    path: '/api-keys',
    needs: 'admin',
    nav: { label: 'API keys', icon: KeyIcon, section: 'Administration' },
    page: code(() => import('./pages/keys/keys-page')),
  },
  {
    path: '/users',
    needs: 'admin',
    nav: { label: 'Users', icon: UsersIcon, section: 'Administration' },
    page: code(() => import('./pages/users/users-page')),
  },
  {
    path: '/audit',
    needs: 'admin',
    nav: { label: 'Audit', icon: HistoryIcon, section: 'Administration' },
    page: code(() => import('./pages/audit/audit-page')),
  },
];

/** pageAt finds the page of an address, as it is in the address bar. */
function pageAt(pathname: string): { page: Page; params: Record<string, string> } | undefined {
  const below = pathname.replace(/^\/dashboard(?=\/|$)/, '').replace(/\/$/, '');
  const parts = (below === '' ? home : below).split('/');
  for (const page of pages) {
    const params: Record<string, string> = {};
    const names = page.path.split('/');
    if (
      names.length === parts.length &&
      names.every((n, i) =>
        n.startsWith(':') ? ((params[n.slice(1)] = decodeURIComponent(parts[i] ?? '')), true) : n === parts[i],
      )
    )
      return { page, params };
  }
  return undefined;
}

/** comes begins with the code of the page at an address, before anybody knows who asks for it. */
export function comes(pathname: string) {
  pageAt(pathname)?.page.page.load();
}

/** asks begins with what the page at an address shows. */
export function asks(client: QueryClient, pathname: string) {
  const at = pageAt(pathname);
  at?.page.ask?.(client, at.params).catch(() => undefined); // the page asks again, and says what is wrong
}
