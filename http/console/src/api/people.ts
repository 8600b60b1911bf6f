import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';

import type { Schemas } from './client';
import { api, data } from './client';
import type { Problem } from './problem';
import type { paths } from './schema';

export type Person = Schemas['Person'];
export type PersonContact = Schemas['PersonContact'];
export type Found = paths['/api/v1/search']['get']['responses']['200']['content']['application/json'];

const personKey = (number: string) => ['person', number] as const;

/** useSearch finds people and campaigns; nothing is asked without a text. */
export function useSearch(q: string | undefined, limit: number) {
  return useQuery<Found, Problem>({
    queryKey: ['search', q, limit],
    enabled: q !== undefined,
    staleTime: 5_000,
    retry: false, // what is refused under load is not asked for thrice
    queryFn: ({ signal }) => data(api.GET('/api/v1/search', { params: { query: { q: q ?? '', limit } }, signal })),
  });
}

/** How often an open person is asked for: calls go on meanwhile. */
const askMs = 3_000;

/** usePerson gives what is known of a number in all campaigns. */
export function usePerson(number: string) {
  return useQuery<Person, Problem>({
    queryKey: personKey(number),
    refetchInterval: askMs,
    queryFn: ({ signal }) => data(api.GET('/api/v1/persons/{number}', { params: { path: { number } }, signal })),
  });
}

/** useExcludeEverywhere puts numbers of a person on the suppression list. */
export function useExcludeEverywhere(number: string) {
  const client = useQueryClient();
  return useMutation<{ added: number }, Problem, { numbers: string[]; reason: string }>({
    mutationFn: ({ numbers, reason }) =>
      data(api.POST('/api/v1/suppressions', { body: { numbers, ...(reason === '' ? {} : { reason }) } })),
    onSuccess: () =>
      Promise.all([
        client.invalidateQueries({ queryKey: personKey(number) }),
        client.invalidateQueries({ queryKey: ['suppressions'] }),
      ]),
  });
}

/** useErase erases a person; `suppress` keeps the number from being called again. */
export function useErase(number: string) {
  const client = useQueryClient();
  return useMutation<{ contacts: number; attempts: number; recordings: number }, Problem, { suppress: boolean }>({
    mutationFn: ({ suppress }) =>
      data(api.DELETE('/api/v1/persons/{number}', { params: { path: { number }, query: { suppress } } })),
    onSuccess: () =>
      Promise.all(
        [personKey(number), ['search'], ['contacts'], ['contact'], ['calls']].map((queryKey) =>
          client.invalidateQueries({ queryKey }),
        ),
      ),
  });
}
