import type { ComponentType } from 'react';
import { lazy } from 'react';

import type { Role } from './api/client';
import { BotIcon, EarIcon, HistoryIcon, KeyIcon, NumberIcon, ShieldIcon, TrunkIcon, UsersIcon, WallIcon, WebhookIcon } from './components/admin-icons';
import { CampaignIcon } from './components/icons';

/** The parts of the navigation, in their order; the first has no heading. */
export const sections = ['', 'Telephony', 'Rules and events', 'Administration'] as const;
export type Section = (typeof sections)[number];

/** A page of the console; one with `nav` is in the navigation. Paths are below /dashboard. */
export interface Page {
  path: string;
  page: ComponentType<{ params: Record<string, string> }>;
  nav?: { label: string; icon: ComponentType<{ size?: number }>; section?: Section };
  /** Who may open it, for whom it stands in the navigation; left out: everybody who is logged in. */
  needs?: Role;
}

export const home = '/campaigns';

/** pages is every page, the one place to add another. Each is loaded when it is first opened. */
export const pages: Page[] = [
  { path: '/campaigns', nav: { label: 'Campaigns', icon: CampaignIcon }, page: lazy(() => import('./pages/campaigns/campaigns-page')) },
  { path: '/campaigns/new', page: lazy(() => import('./pages/wizard/wizard-page')) },
  { path: '/campaigns/:id/set-up', page: lazy(() => import('./pages/wizard/wizard-page')) },
  { path: '/campaigns/:id/edit', page: lazy(() => import('./pages/edit/edit-page')) },
  { path: '/campaigns/:id/exclusions', page: lazy(() => import('./pages/exclusions/exclusions-page')) },
  { path: '/campaigns/:id/simulate', page: lazy(() => import('./pages/simulation/simulation-page')) },
  { path: '/campaigns/:id', page: lazy(() => import('./pages/campaign/campaign-page')) },
  { path: '/wall', nav: { label: 'Live wall', icon: WallIcon }, page: lazy(() => import('./pages/wall/wall-page')) },
  { path: '/trunks', needs: 'operator', nav: { label: 'Trunks', icon: TrunkIcon, section: 'Telephony' }, page: lazy(() => import('./pages/trunks/trunks-page')) },
  { path: '/numbers', needs: 'operator', nav: { label: 'Numbers', icon: NumberIcon, section: 'Telephony' }, page: lazy(() => import('./pages/numbers/numbers-page')) },
  { path: '/bots', needs: 'operator', nav: { label: 'Bots', icon: BotIcon, section: 'Telephony' }, page: lazy(() => import('./pages/bots/bots-page')) },
  { path: '/suppressions', needs: 'operator', nav: { label: 'Suppression list', icon: ShieldIcon, section: 'Rules and events' }, page: lazy(() => import('./pages/suppressions/suppressions-page')) },
  { path: '/webhooks', needs: 'operator', nav: { label: 'Webhooks', icon: WebhookIcon, section: 'Rules and events' }, page: lazy(() => import('./pages/webhooks/webhooks-page')) },
  { path: '/webhooks/:id', needs: 'operator', page: lazy(() => import('./pages/webhooks/webhook-page')) },
  { path: '/amd-review', needs: 'operator', nav: { label: 'AMD review', icon: EarIcon, section: 'Rules and events' }, page: lazy(() => import('./pages/reviews/reviews-page')) },
  { path: '/api-keys', needs: 'admin', nav: { label: 'API keys', icon: KeyIcon, section: 'Administration' }, page: lazy(() => import('./pages/keys/keys-page')) },
  { path: '/users', needs: 'admin', nav: { label: 'Users', icon: UsersIcon, section: 'Administration' }, page: lazy(() => import('./pages/users/users-page')) },
  { path: '/audit', needs: 'admin', nav: { label: 'Audit', icon: HistoryIcon, section: 'Administration' }, page: lazy(() => import('./pages/audit/audit-page')) },
];
