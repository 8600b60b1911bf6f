import type { ComponentType } from 'react';
import { lazy } from 'react';

import { CampaignIcon } from './components/icons';

/** A page of the console; one with `nav` is in the navigation. Paths are below /dashboard. */
export interface Page {
  path: string;
  page: ComponentType<{ params: Record<string, string> }>;
  nav?: { label: string; icon: ComponentType<{ size?: number }> };
}

export const home = '/campaigns';

/** pages is every page, the one place to add another. Each is loaded when it is first opened. */
export const pages: Page[] = [
  { path: '/campaigns', nav: { label: 'Campaigns', icon: CampaignIcon }, page: lazy(() => import('./pages/campaigns/campaigns-page')) },
  { path: '/campaigns/:id', page: lazy(() => import('./pages/campaign/campaign-page')) },
];
