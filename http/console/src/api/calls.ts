import { useInfiniteQuery } from '@tanstack/react-query';

import type { Direction } from '../words/calls';
import { api, data } from './client';
import type { Problem } from './problem';
import type { Call } from './telephony';

/** useCalls gives calls by direction, newest first, further on a part at a time; left out, those of both. */
export function useCalls(direction: Direction | undefined) {
  return useInfiniteQuery<
    { calls: Call[]; next_cursor: string | null },
    Problem,
    Call[],
    readonly ['calls', Direction | undefined],
    string
  >({
    queryKey: ['calls', direction],
    refetchInterval: 3_000,
    initialPageParam: '',
    queryFn: ({ signal, pageParam }) =>
      data(
        api.GET('/api/v1/calls', {
          params: {
            query: {
              page_size: 50,
              ...(direction === undefined ? {} : { direction }),
              ...(pageParam === '' ? {} : { cursor: pageParam }),
            },
          },
          signal,
        }),
      ),
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    select: ({ pages }) => pages.flatMap((p) => p.calls),
  });
}
