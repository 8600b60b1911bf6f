import { useQuery } from '@tanstack/react-query';

import { useChange } from './change';
import type { Schemas } from './client';
import { api, data } from './client';
import type { Problem } from './problem';
import type { BotRequest, NumberRequest, TrunkRequest } from './telephony';
import { keys } from './queries';

// How far the installation is from its first conversation.

export type SetUp = Schemas['SetUp'];
export type StepName = SetUp['steps'][number]['step'];

const setUp = ['set-up'] as const;

/** How often the page of the set-up asks how far it is. */
const progressMs = 1_500;

/** useSetUp gives how far the set-up is; `follow` asks again and again until it is complete. */
export function useSetUp({ enabled = true, follow = false } = {}) {
  return useQuery<SetUp, Problem>({
    queryKey: setUp,
    enabled,
    staleTime: follow ? 0 : 60_000,
    refetchInterval: (q) => (follow && q.state.data?.complete !== true ? progressMs : false),
    queryFn: ({ signal }) => data(api.GET('/api/v1/set-up', { signal })),
  });
}

export function useHideSetUp() {
  return useChange((hidden: boolean) => api.PUT('/api/v1/set-up', { body: { hidden } }), setUp);
}

/** What the model carrier and bot are called once they are used. */
export const modelName = 'model';

/** useModel makes the model carrier, its number and the model bot those of the installation. */
export function useModel() {
  return useChange(
    async ({ host, port, endpoint, caller_id }: NonNullable<SetUp['model']>) => {
      const trunk: TrunkRequest = { host, port, options_s: 10 };
      const number: NumberRequest = {};
      const bot: BotRequest = { name: 'Model bot', endpoints: [endpoint], seats: 10 };
      await data(api.PUT('/api/v1/trunks/{trunk_id}', { params: { path: { trunk_id: modelName } }, body: trunk }));
      await data(api.PUT('/api/v1/numbers/{number}', { params: { path: { number: caller_id } }, body: number }));
      return api.PUT('/api/v1/bots/{bot_id}', { params: { path: { bot_id: modelName } }, body: bot });
    },
    setUp,
    ['trunks'],
    keys.numbers,
    keys.bots,
  );
}
