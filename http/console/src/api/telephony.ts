import { useQuery } from '@tanstack/react-query';

import { useChange } from './change';
import type { Schemas } from './client';
import { api, data } from './client';
import type { Problem } from './problem';
import { keys } from './queries';

// Trunks, numbers and bots: what calls go over, as whom they come, and who talks.

export type Trunk = Schemas['Trunk'];
export type TrunkRequest = Schemas['TrunkRequest'];
export type NumberStatus = Schemas['NumberStatus'];
export type NumberRequest = Schemas['NumberRequest'];
export type Bot = Schemas['Bot'];
export type BotRequest = Schemas['BotRequest'];
export type Call = Schemas['Call'];
export type Ladder = Schemas['Ladder'];

/** How often pages that show health ask for it. */
const healthMs = 3_000;

const trunks = ['trunks'] as const;

export function useTrunks(enabled = true) {
  return useQuery<Trunk[], Problem>({
    queryKey: trunks,
    enabled,
    refetchInterval: healthMs,
    queryFn: async ({ signal }) => (await data(api.GET('/api/v1/trunks', { signal }))).trunks,
  });
}

export function usePutTrunk() {
  return useChange(
    ({ id, body }: { id: string; body: TrunkRequest }) =>
      api.PUT('/api/v1/trunks/{trunk_id}', { params: { path: { trunk_id: id } }, body }),
    trunks,
  );
}

export function useDeleteTrunk() {
  return useChange(
    (id: string) => api.DELETE('/api/v1/trunks/{trunk_id}', { params: { path: { trunk_id: id } } }),
    trunks,
  );
}

/** useNumberHealth gives the numbers as they stand at this moment. */
export function useNumberHealth() {
  return useQuery<NumberStatus[], Problem>({
    queryKey: [...keys.numbers, 'health'],
    refetchInterval: healthMs,
    queryFn: async ({ signal }) => (await data(api.GET('/api/v1/numbers', { signal }))).numbers,
  });
}

export function usePutNumber() {
  return useChange(
    ({ number, body }: { number: string; body: NumberRequest }) =>
      api.PUT('/api/v1/numbers/{number}', { params: { path: { number } }, body }),
    keys.numbers,
  );
}

/** useMessages gives the messages that callers and machines hear. */
export function useMessages() {
  return useQuery<Schemas['Voicemail'][], Problem>({
    queryKey: ['messages'],
    queryFn: async ({ signal }) => (await data(api.GET('/api/v1/voicemails', { signal }))).voicemails,
  });
}

/** useBotHealth gives the bots as they stand at this moment. */
export function useBotHealth(enabled = true) {
  return useQuery<Bot[], Problem>({
    queryKey: [...keys.bots, 'health'],
    enabled,
    refetchInterval: healthMs,
    queryFn: async ({ signal }) => (await data(api.GET('/api/v1/bots', { signal }))).bots,
  });
}

export function usePutBot() {
  return useChange(
    ({ id, body }: { id: string; body: BotRequest }) =>
      api.PUT('/api/v1/bots/{bot_id}', { params: { path: { bot_id: id } }, body }),
    keys.bots,
  );
}

export function useDeleteBot() {
  return useChange(
    ({ id, force }: { id: string; force: boolean }) =>
      api.DELETE('/api/v1/bots/{bot_id}', { params: { path: { bot_id: id }, query: { force } } }),
    keys.bots,
  );
}

/** What a test call is placed with; with a trunk, over that one alone. */
export interface TestCall {
  trunk: string | undefined;
  bot: string;
  to: string;
  from: string | undefined;
  variables: Record<string, string>;
}

export function useTestCall() {
  return useChange(({ trunk, bot, to, from, variables }: TestCall) => {
    const body = {
      bot_id: bot,
      to_number: to,
      ...(from === undefined ? {} : { from_number: from }),
      ...(Object.keys(variables).length === 0 ? {} : { variables }),
    };
    return trunk === undefined
      ? api.POST('/api/v1/sip/dialout', { body })
      : api.POST('/api/v1/trunks/{trunk_id}/test', { params: { path: { trunk_id: trunk } }, body });
  });
}

/** useCall follows a call until it has ended. */
export function useCall(id: string) {
  return useQuery<Call, Problem>({
    queryKey: ['call', id],
    refetchInterval: (q) => (q.state.data?.state === 'ended' ? false : 700),
    queryFn: ({ signal }) => data(api.GET('/api/v1/calls/{call_id}', { params: { path: { call_id: id } }, signal })),
  });
}

/** useCallLadder follows the SIP messages of a call; `over` is when there are no more. */
export function useCallLadder(id: string, over: boolean) {
  return useQuery<Ladder, Problem>({
    queryKey: ['call-ladder', id, over],
    refetchInterval: over ? false : 1_500,
    retry: false,
    queryFn: async ({ signal }) =>
      (await data(
        api.GET('/api/v1/calls/{call_id}/ladder', {
          params: { path: { call_id: id } },
          headers: { Accept: 'application/json' },
          signal,
        }),
      )) as Ladder,
  });
}

export function useHangUp() {
  return useChange((id: string) => api.POST('/api/v1/calls/{call_id}/hang-up', { params: { path: { call_id: id } } }));
}
