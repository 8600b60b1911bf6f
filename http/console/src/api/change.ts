import type { QueryKey } from '@tanstack/react-query';
import { useMutation, useQueryClient } from '@tanstack/react-query';

import { data } from './client';
import type { Problem } from './problem';

/** useChange sends a command; once it has been carried out, what it concerns is fetched anew. */
export function useChange<T, V = void>(send: (what: V) => Promise<{ data?: T }>, ...concerns: QueryKey[]) {
  const client = useQueryClient();
  return useMutation<T, Problem, V>({
    mutationFn: (what) => data(send(what)),
    onSuccess: () => Promise.all(concerns.map((queryKey) => client.invalidateQueries({ queryKey }))),
  });
}
