import { keepPreviousData, useQuery } from '@tanstack/react-query';

import { useChange } from './change';
import type { Schemas } from './client';
import { api, data } from './client';
import type { Problem } from './problem';

// Verdicts of answer classification that people are asked about.

export type Review = Schemas['Review'];
export type ReviewList = Schemas['ReviewList'];
export type Confusion = Schemas['Confusion'];
export type Label = Schemas['Verdict'] | 'none';

export const reviewsPageSize = 25;

/** What reviews are narrowed to. */
export interface ReviewFilter {
  campaign_id?: string;
  trunk?: string;
  country?: string;
  verdict?: Schemas['Verdict'];
  labelled?: boolean;
}

const reviews = ['reviews'] as const;

/** useReviews gives one page, the newest first. */
export function useReviews(page: number, filter: ReviewFilter) {
  return useQuery<ReviewList, Problem>({
    queryKey: [...reviews, 'list', page, filter],
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      data(
        api.GET('/api/v1/amd/reviews', { params: { query: { ...filter, page, page_size: reviewsPageSize } }, signal }),
      ),
  });
}

/** useConfusion gives how often which verdict was given to what people heard. */
export function useConfusion(campaign: string | undefined) {
  return useQuery<Confusion, Problem>({
    queryKey: [...reviews, 'confusion', campaign ?? ''],
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      data(
        api.GET('/api/v1/amd/confusion', {
          params: { query: campaign === undefined ? {} : { campaign_id: campaign } },
          signal,
        }),
      ),
  });
}

export function useLabel() {
  return useChange(
    ({ attempt, label }: { attempt: string; label: Label }) =>
      api.PUT('/api/v1/amd/reviews/{attempt_id}', { params: { path: { attempt_id: attempt } }, body: { label } }),
    reviews,
  );
}

/** exportOf is where the labelled calls are, as a folder to measure and train on. */
export function exportOf(filter: ReviewFilter): string {
  const query = new URLSearchParams(
    Object.entries(filter).flatMap(([k, v]) => (v === undefined || k === 'labelled' ? [] : [[k, String(v)]])),
  );
  return `/api/v1/amd/export.zip${query.size === 0 ? '' : `?${query.toString()}`}`;
}

/** useCampaignNames gives the newest 200 campaigns, to choose one from. */
export function useCampaignNames() {
  return useQuery<{ value: string; label: string }[], Problem>({
    queryKey: ['campaign names'],
    queryFn: async ({ signal }) =>
      (await data(api.GET('/api/v1/campaigns', { params: { query: { page_size: 200 } }, signal }))).campaigns.map(
        (c) => ({ value: c.campaign_id, label: c.settings.name }),
      ),
  });
}
