import { useQuery } from '@tanstack/react-query';
import { createContext, use } from 'react';

import type { Attention } from '../words/attention';
import { attentionOf } from '../words/attention';
import type { Campaign } from './client';
import { api, data } from './client';
import type { Problem } from './problem';
import { keys, useCampaigns } from './queries';
import { may, useUser } from './session';
import { useBotHealth, useTrunks } from './telephony';

/** AttentionContext holds what stops campaigns now, for every page. */
export const AttentionContext = createContext<Attention[]>([]);

export function useAttention(): Attention[] {
  return use(AttentionContext);
}

/** How often the running campaigns are asked for where there are more than the stream has. */
const runningMs = 5_000;

/** useWatch follows all campaigns, and, while one is stopped, what stops it. */
export function useWatch(): Attention[] {
  const operator = may(useUser().role, 'operator');
  const newest = useCampaigns().data;
  const running = useQuery<Campaign[], Problem>({
    queryKey: [...keys.campaigns, 'running'],
    enabled: newest !== undefined && newest.total > newest.campaigns.length,
    refetchInterval: runningMs,
    queryFn: async ({ signal }) =>
      (await data(api.GET('/api/v1/campaigns', { params: { query: { status: 'running', page_size: 200 } }, signal })))
        .campaigns,
  }).data;
  const campaigns = new Map([...(running ?? []), ...(newest?.campaigns ?? [])].map((c) => [c.campaign_id, c]));
  const list = [...campaigns.values()];
  const found = attentionOf(list);
  const asks = (key: string) => operator && found.some((a) => a.key.startsWith(key));
  const trunks = useTrunks(asks('trunk_health')).data;
  const bots = useBotHealth(asks('seats')).data;
  return found.length === 0 ? found : attentionOf(list, trunks, bots);
}
