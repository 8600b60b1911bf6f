import { useQuery } from '@tanstack/react-query';

import type { Wave } from '../words/wave';
import { waveOf } from '../words/wave';
import { noteRefusal } from './client';
import type { Problem } from './problem';
import { asProblem, problemOf } from './problem';

/** useWave fetches an audio file and gives its shape in so many parts; null when it is in no form that can be drawn. */
export function useWave(address: string, parts: number, wanted: boolean) {
  return useQuery<Wave | null, Problem>({
    queryKey: ['wave', address, parts],
    enabled: wanted,
    staleTime: Infinity, // audio does not change
    gcTime: 60_000,
    queryFn: async ({ signal }) => {
      try {
        const answer = await fetch(address, { signal });
        if (!answer.ok) throw problemOf(answer.status, await answer.text(), answer.headers.get('Retry-After'));
        return waveOf(await answer.arrayBuffer(), parts) ?? null;
      } catch (e) {
        if (signal.aborted) throw e;
        const p = asProblem(e);
        void noteRefusal(p);
        throw p;
      }
    },
  });
}
