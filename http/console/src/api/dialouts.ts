import { useInfiniteQuery } from '@tanstack/react-query';

import { useChange } from './change';
import { api, data } from './client';
import type { Problem } from './problem';
import type { Call } from './telephony';

// Calls outside campaigns that wait for their time.

const dialouts = ['dialouts'] as const;

/** useScheduled gives the calls that wait, the last to come first, further on a part at a time. */
export function useScheduled() {
  return useInfiniteQuery<{ calls: Call[]; next_cursor: string | null }, Problem, Call[], typeof dialouts, string>({
    queryKey: dialouts,
    refetchInterval: 3_000,
    initialPageParam: '',
    queryFn: ({ signal, pageParam }) =>
      data(
        api.GET('/api/v1/calls', {
          params: { query: { state: 'scheduled', page_size: 50, ...(pageParam === '' ? {} : { cursor: pageParam }) } },
          signal,
        }),
      ),
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    select: ({ pages }) => pages.flatMap((p) => p.calls),
  });
}

export function useCancelDialout() {
  return useChange(
    (id: string) => api.DELETE('/api/v1/calls/{call_id}', { params: { path: { call_id: id } } }),
    dialouts,
  );
}
