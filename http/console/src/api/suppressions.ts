import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';

import { useChange } from './change';
import type { Schemas } from './client';
import { api, data } from './client';
import type { Problem } from './problem';
import type { paths } from './schema';

export type Suppression = Schemas['Suppression'];
export type SuppressionPage = paths['/api/v1/suppressions']['get']['responses']['200']['content']['application/json'];
export type SuppressionImport =
  paths['/api/v1/suppressions/imports']['post']['responses']['200']['content']['application/json'];

const suppressions = ['suppressions'] as const;

/** useSuppressions gives one page of 50, the newest first; with a number, whether that one is on the list. */
export function useSuppressions(page: number, number: string) {
  return useQuery<SuppressionPage, Problem>({
    queryKey: [...suppressions, page, number],
    // None of another search.
    placeholderData: (before, query) => (query?.queryKey.at(-1) === number ? before : undefined),
    queryFn: ({ signal }) =>
      data(
        api.GET('/api/v1/suppressions', {
          params: { query: { page, page_size: 50, ...(number === '' ? {} : { number }) } },
          signal,
        }),
      ),
  });
}

export function useSuppress() {
  return useChange(
    ({ numbers, reason }: { numbers: string[]; reason: string }) =>
      api.POST('/api/v1/suppressions', { body: { numbers, ...(reason === '' ? {} : { reason }) } }),
    suppressions,
  );
}

export function useLift() {
  return useChange(
    (number: string) => api.DELETE('/api/v1/suppressions/{number}', { params: { path: { number } } }),
    suppressions,
  );
}

/** useImportSuppressions sends a file as it is. */
export function useImportSuppressions() {
  const client = useQueryClient();
  return useMutation<SuppressionImport, Problem, { file: File; reason: string }>({
    mutationFn: ({ file, reason }) =>
      data(
        api.POST('/api/v1/suppressions/imports', {
          params: { query: reason === '' ? {} : { reason } },
          headers: { 'Content-Type': 'text/csv' },
          body: '',
          bodySerializer: () => file,
        }),
      ),
    // Also of a file that broke off: what was read is on the list.
    onSettled: () => client.invalidateQueries({ queryKey: suppressions }),
  });
}
