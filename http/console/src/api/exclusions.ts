import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';

import { useChange } from './change';
import type { Schemas } from './client';
import { api, data } from './client';
import type { Problem } from './problem';
import type { paths } from './schema';

export type Exclusion = Schemas['Exclusion'];
export type ExclusionPage =
  paths['/api/v1/campaigns/{campaign_id}/exclusions']['get']['responses']['200']['content']['application/json'];
type Import = paths['/api/v1/campaigns/{campaign_id}/exclusions/imports']['post'];
export type ExclusionImport = Import['responses']['200']['content']['application/json'];

const exclusions = ['exclusions'] as const;

/** useExclusions gives one page of 50, the newest first; with a number, whether that one is excluded. */
export function useExclusions(campaign: string, page: number, number: string) {
  return useQuery<ExclusionPage, Problem>({
    queryKey: [...exclusions, campaign, page, number],
    // None of another search.
    placeholderData: (before, query) => (query?.queryKey.at(-1) === number ? before : undefined),
    queryFn: ({ signal }) =>
      data(
        api.GET('/api/v1/campaigns/{campaign_id}/exclusions', {
          params: {
            path: { campaign_id: campaign },
            query: { page, page_size: 50, ...(number === '' ? {} : { number }) },
          },
          signal,
        }),
      ),
  });
}

export function useExclude(campaign: string) {
  return useChange(
    ({ mobile, reason }: { mobile: string; reason: string }) =>
      api.POST('/api/v1/campaigns/{campaign_id}/exclusions', {
        params: { path: { campaign_id: campaign } },
        body: { mobile, ...(reason === '' ? {} : { reason }) },
      }),
    exclusions,
  );
}

/** useLiftExclusion takes one back, by the number or the metadata that it has. */
export function useLiftExclusion(campaign: string) {
  return useChange(
    ({ mobile, match }: Exclusion) =>
      api.POST('/api/v1/campaigns/{campaign_id}/exclusions/lift', {
        params: { path: { campaign_id: campaign } },
        body: mobile === undefined ? { match: match ?? {} } : { mobile },
      }),
    exclusions,
  );
}

/** useImportExclusions sends a file as it is. */
export function useImportExclusions(campaign: string) {
  const client = useQueryClient();
  return useMutation<ExclusionImport, Problem, { file: File; reason: string }>({
    mutationFn: ({ file, reason }) =>
      data(
        api.POST('/api/v1/campaigns/{campaign_id}/exclusions/imports', {
          params: { path: { campaign_id: campaign }, query: reason === '' ? {} : { reason } },
          headers: { 'Content-Type': 'text/csv' },
          body: '',
          bodySerializer: () => file,
        }),
      ),
    // Also of a file that broke off: what was read is excluded.
    onSettled: () => client.invalidateQueries({ queryKey: exclusions }),
  });
}
