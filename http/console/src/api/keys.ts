import { useQuery } from '@tanstack/react-query';

import { useChange } from './change';
import type { Schemas } from './client';
import { api, data } from './client';
import type { Problem } from './problem';
import type { paths } from './schema';

export type APIKey = Schemas['APIKey'];
export type Scope = Schemas['Scope'];

/** What a new key is given. */
export type KeyDraft = NonNullable<paths['/api/v1/api-keys']['post']['requestBody']>['content']['application/json'];
/** What changes of a key. */
export type KeyChange = NonNullable<
  paths['/api/v1/api-keys/{key_id}']['patch']['requestBody']
>['content']['application/json'];

const apiKeys = ['api-keys'] as const;

export function useAPIKeys() {
  return useQuery<APIKey[], Problem>({
    queryKey: apiKeys,
    queryFn: async ({ signal }) => (await data(api.GET('/api/v1/api-keys', { signal }))).api_keys,
  });
}

export function useCreateKey() {
  return useChange((body: KeyDraft) => api.POST('/api/v1/api-keys', { body }), apiKeys);
}

export function useChangeKey() {
  return useChange(
    ({ id, change }: { id: string; change: KeyChange }) =>
      api.PATCH('/api/v1/api-keys/{key_id}', { params: { path: { key_id: id } }, body: change }),
    apiKeys,
  );
}

/** useRotateKey gives a key another secret; the old one is valid until a moment, or ends at once. */
export function useRotateKey() {
  return useChange(
    ({ id, until }: { id: string; until: string | null }) =>
      api.POST('/api/v1/api-keys/{key_id}/rotate-secret', {
        params: { path: { key_id: id } },
        body: { old_secret_until: until },
      }),
    apiKeys,
  );
}

export function useDeleteKey() {
  return useChange(
    (id: string) => api.DELETE('/api/v1/api-keys/{key_id}', { params: { path: { key_id: id } } }),
    apiKeys,
  );
}

export interface CampaignName {
  id: string;
  name: string;
}

/** useCampaignNames gives the newest 200 campaigns to choose from. */
export function useCampaignNames() {
  return useQuery<CampaignName[], Problem>({
    queryKey: ['campaign-names'],
    staleTime: 30_000,
    queryFn: async ({ signal }) => {
      const page = await data(api.GET('/api/v1/campaigns', { params: { query: { page_size: 200 } }, signal }));
      return page.campaigns.map((c) => ({ id: c.campaign_id, name: c.settings.name }));
    },
  });
}
