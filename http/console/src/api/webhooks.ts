import { useInfiniteQuery, useQuery } from '@tanstack/react-query';

import { useChange } from './change';
import type { Schemas } from './client';
import { api, data } from './client';
import type { Problem } from './problem';

export type Webhook = Schemas['Webhook'];
export type WebhookType = Schemas['WebhookType'];
export type Delivery = Schemas['WebhookDelivery'];

/** What a person sets of an endpoint. */
export interface WebhookDraft {
  url: string;
  description: string;
  types: WebhookType[];
  campaigns: string[];
}

const webhooks = ['webhooks'] as const;
const deliveries = ['webhook-deliveries'] as const;

export function useWebhooks() {
  return useQuery<Webhook[], Problem>({
    queryKey: webhooks,
    refetchInterval: 10_000,
    queryFn: async ({ signal }) => (await data(api.GET('/api/v1/webhooks', { signal }))).webhooks,
  });
}

export function useCreateWebhook() {
  return useChange((body: WebhookDraft) => api.POST('/api/v1/webhooks', { body }), webhooks);
}

export function useChangeWebhook() {
  return useChange(
    ({ id, change }: { id: string; change: Partial<WebhookDraft> & { is_active?: boolean } }) =>
      api.PATCH('/api/v1/webhooks/{webhook_id}', { params: { path: { webhook_id: id } }, body: change }),
    webhooks,
  );
}

export function useDeleteWebhook() {
  return useChange(
    (id: string) => api.DELETE('/api/v1/webhooks/{webhook_id}', { params: { path: { webhook_id: id } } }),
    webhooks,
  );
}

export function useRotateSecret() {
  return useChange(
    (id: string) => api.POST('/api/v1/webhooks/{webhook_id}/rotate-secret', { params: { path: { webhook_id: id } } }),
    webhooks,
  );
}

export function useTestWebhook() {
  return useChange(
    (id: string) => api.POST('/api/v1/webhooks/{webhook_id}/test', { params: { path: { webhook_id: id } } }),
    deliveries,
  );
}

export function useReplayFailed() {
  return useChange(
    ({ id, since }: { id: string; since: string }) =>
      api.POST('/api/v1/webhooks/{webhook_id}/replay', { params: { path: { webhook_id: id } }, body: { since } }),
    deliveries,
  );
}

export function useReplay(webhook: string) {
  return useChange(
    (id: string) =>
      api.POST('/api/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/replay', {
        params: { path: { webhook_id: webhook, delivery_id: id } },
      }),
    deliveries,
  );
}

/** useDeliveries gives the log of an endpoint, the newest first, further back a part at a time. */
export function useDeliveries(webhook: string, state: Delivery['state'] | undefined) {
  return useInfiniteQuery({
    queryKey: [...deliveries, webhook, state ?? ''],
    refetchInterval: 3_000,
    initialPageParam: '',
    queryFn: ({ signal, pageParam }) =>
      data(
        api.GET('/api/v1/webhooks/{webhook_id}/deliveries', {
          params: {
            path: { webhook_id: webhook },
            query: {
              page_size: 50,
              ...(state === undefined ? {} : { state }),
              ...(pageParam === '' ? {} : { cursor: pageParam }),
            },
          },
          signal,
        }),
      ),
    getNextPageParam: (last) => last.next_cursor ?? undefined,
  });
}
