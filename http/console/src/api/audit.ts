import { keepPreviousData, useQuery } from '@tanstack/react-query';

import type { Schemas } from './client';
import { api, data } from './client';
import type { Problem } from './problem';

export type Activity = Schemas['Activity'];

export interface AuditPage {
  activity: Activity[];
  total: number;
}

/** useAudit gives one page of who changed what of the set-up, the newest first. */
export function useAudit(page: number, kinds: readonly string[]) {
  return useQuery<AuditPage, Problem>({
    queryKey: ['audit', page, ...kinds],
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      data(
        api.GET('/api/v1/activity', {
          params: { query: { page, page_size: 50, ...(kinds.length === 0 ? {} : { kinds: kinds.join(',') }) } },
          signal,
        }),
      ),
  });
}
