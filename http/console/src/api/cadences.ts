import { keepPreviousData, useQuery } from '@tanstack/react-query';

import { useChange } from './change';
import type { Schemas } from './client';
import { api, data } from './client';
import type { Problem } from './problem';
import { keys } from './queries';
import type { paths } from './schema';

// Cadences: when each outcome is redialled, and on which dates that would be.

export type Cadence = Schemas['Cadence'];

export function useCadences() {
  return useQuery<Cadence[], Problem>({
    queryKey: keys.cadences,
    queryFn: async ({ signal }) => (await data(api.GET('/api/v1/cadences', { signal }))).cadences,
  });
}

export function usePutCadence() {
  return useChange(
    ({ id, body }: { id: string; body: Schemas['CadenceRequest'] }) =>
      api.PUT('/api/v1/cadences/{cadence_id}', { params: { path: { cadence_id: id } }, body }),
    keys.cadences,
  );
}

export function useDeleteCadence() {
  return useChange(
    (id: string) => api.DELETE('/api/v1/cadences/{cadence_id}', { params: { path: { cadence_id: id } } }),
    keys.cadences,
  );
}

/** What a preview is asked for: a campaign, or settings in its place. */
export type Preview = NonNullable<
  paths['/api/v1/cadences/preview']['post']['requestBody']
>['content']['application/json'];

/** usePreview tells when a contact would be dialled; what it told last stands until the next answer. */
export function usePreview(of: Preview) {
  return useQuery({
    queryKey: [...keys.cadences, 'preview', of],
    enabled: of.rules.trim() !== '',
    placeholderData: keepPreviousData,
    retry: false,
    queryFn: ({ signal }) => data(api.POST('/api/v1/cadences/preview', { body: of, signal })),
  });
}

export type Planned = NonNullable<ReturnType<typeof usePreview>['data']>;
