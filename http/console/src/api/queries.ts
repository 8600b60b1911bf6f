import type { UseQueryResult } from '@tanstack/react-query';
import {
  QueryClient,
  keepPreviousData,
  queryOptions,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query';

import { useEffect } from 'react';

import type { Link } from '../live/feed';
import { noteHeard, useLive } from '../live/use-live';
import { serverNow } from './clock';
import type { Campaign, Schemas, Session } from './client';
import { api, data, setToken } from './client';
import { Problem } from './problem';

// What the pages know of the server lies in one place, the query cache: requests, answers to actions and live streams
// all write there.

/** Without a live stream the API is asked so often. */
const pollMs = 4_000;

export const keys = {
  session: ['session'] as const,
  campaigns: ['campaigns'] as const,
  campaign: (id: string) => ['campaign', id] as const,
  contacts: (id: string) => ['contacts', id] as const,
  contact: (id: string, contact: string) => ['contact', id, contact] as const,
  imports: (id: string) => ['imports', id] as const,
  activity: (id: string) => ['activity', id] as const,
  preflight: (id: string) => ['preflight', id] as const,
  series: (id: string) => ['series', id] as const,
  breakdown: (id: string) => ['breakdown', id] as const,
  tail: (id: string) => ['tail', id] as const,
  ladder: (call: string) => ['ladder', call] as const,
  bots: ['bots'] as const,
  cadences: ['cadences'] as const,
  calendars: ['calendars'] as const,
  windows: ['windows'] as const,
  numbers: ['numbers'] as const,
  health: ['health'] as const,
};

/** How often the console asks what works. */
const healthMs = 5_000;

export function newQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        // An answer that says no is an answer; only silence and overload are worth another try.
        retry: (count, e) =>
          count < 2 && e instanceof Problem && (e.status === 0 || e.status === 503) && e.code !== 'console_fault',
        refetchOnWindowFocus: false,
        networkMode: 'always',
      },
      mutations: { networkMode: 'always' },
    },
  });
}

/** useSession gives who is logged in, null when nobody is; `then` is called as soon as it is known who. */
export function useSession(then: () => void): UseQueryResult<Session | null, Problem> {
  return useQuery<Session | null, Problem>({
    queryKey: keys.session,
    staleTime: Infinity,
    queryFn: async ({ signal }) => {
      try {
        const session = await data(api.GET('/api/v1/session', { signal }));
        setToken(session.csrf_token);
        then();
        return session;
      } catch (e) {
        if (e instanceof Problem && e.status === 401) return null;
        throw e;
      }
    },
  });
}

export function useLogIn() {
  const client = useQueryClient();
  return useMutation<Session, Problem, { email: string; password: string }>({
    mutationFn: (body) => data(api.POST('/api/v1/session', { body })),
    onSuccess: (session) => {
      drop(client); // what another user saw
      setToken(session.csrf_token);
      client.setQueryData(keys.session, session);
    },
  });
}

/** useLogInWays gives how people can log in beside their passwords. */
export function useLogInWays() {
  return useQuery({
    queryKey: ['log-in-ways'],
    staleTime: 10_000,
    refetchInterval: 30_000,
    queryFn: ({ signal }) => data(api.GET('/api/v1/oidc', { signal })),
  });
}

export function useLogOut() {
  const client = useQueryClient();
  return useMutation<unknown, Problem>({
    mutationFn: () => data(api.DELETE('/api/v1/session')),
    onSettled: (_, e) => {
      if (e === null || e.status === 401) forget(client);
    },
  });
}

/** forget drops all that the ended session has seen; the log-in page follows. */
export function forget(client: QueryClient) {
  setToken('');
  client.setQueryData(keys.session, null);
  drop(client);
}

function drop(client: QueryClient) {
  client.removeQueries({ predicate: (q) => q.queryKey[0] !== keys.session[0] });
}

export interface CampaignsView {
  campaigns: Campaign[]; // newest first
  total: number;
}

/** What was asked for so lately is not asked for again by the page that shows it, ms. */
const freshMs = 2_000;

/** campaignsOf asks for the newest 200 campaigns. */
export const campaignsOf = queryOptions<CampaignsView, Problem>({
  queryKey: keys.campaigns,
  queryFn: async ({ signal }) => {
    const page = await data(api.GET('/api/v1/campaigns', { params: { query: { page_size: 200 } }, signal }));
    noteHeard();
    return { campaigns: page.campaigns, total: page.total };
  },
  staleTime: freshMs,
});

/** campaignOf asks for one campaign. */
export const campaignOf = (id: string) =>
  queryOptions<Campaign, Problem>({
    queryKey: keys.campaign(id),
    queryFn: ({ signal }) =>
      data(api.GET('/api/v1/campaigns/{campaign_id}', { params: { path: { campaign_id: id } }, signal })),
    staleTime: freshMs,
  });

/** useCampaigns gives the newest 200 campaigns as they change. */
export function useCampaigns(): UseQueryResult<CampaignsView, Problem> & { link: Link } {
  const client = useQueryClient();
  const link = useLive('/api/v1/live', (value) => {
    const live = value as unknown as Schemas['LiveCampaigns'];
    const campaigns = Object.values(live.campaigns).sort(
      (a, b) => b.created_at.localeCompare(a.created_at) || b.campaign_id.localeCompare(a.campaign_id),
    );
    client.setQueryData<CampaignsView>(keys.campaigns, { campaigns, total: live.total });
  });
  const query = useQuery({
    ...campaignsOf,
    staleTime: link === 'live' ? Infinity : freshMs,
    refetchInterval: link === 'live' ? false : pollMs,
  });
  return { ...query, link };
}

/** Sample is what was seen live of a campaign at one moment. */
export interface Sample {
  live: NonNullable<Campaign['live']>;
  counters: Campaign['counters'];
}

/** How many samples are kept for the charts: they reach from the last series to now. */
const tailCap = 120;

/** useTail gives the samples of a campaign that the page has seen recently, oldest first. */
export function useTail(id: string): Sample[] {
  return useQuery<Sample[]>({ queryKey: keys.tail(id), queryFn: () => [], initialData: [], staleTime: Infinity }).data;
}

/** useFresh asks at once for what is out of date when somebody looks at it again, not when its next turn comes. */
function useFresh<T>(query: UseQueryResult<T, Problem>, seen: boolean, ms: number): UseQueryResult<T, Problem> {
  const { dataUpdatedAt, refetch } = query;
  useEffect(() => {
    if (seen && dataUpdatedAt > 0 && Date.now() - dataUpdatedAt > ms) void refetch();
    // Another answer is no reason to ask again.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [seen]);
  return query;
}

/** How often the console asks for charts of a run that goes on. */
const chartMs = 10_000;

/** What a chart shows: a run, the last so many seconds of it or, with 0, the whole. */
export interface ChartOf {
  run: number;
  last: number;
  /** The run goes on. */
  open: boolean;
}

/** useSeries gives how a run went over its time. */
export function useSeries(id: string, of: ChartOf, seen: boolean) {
  const query = useQuery<Schemas['Series'], Problem>({
    queryKey: [...keys.series(id), of.run, of.last, of.open],
    queryFn: ({ signal }) => {
      // Whoever asks within the same seconds asks for the same, and the server counts once for all.
      const from = new Date((Math.floor(serverNow() / 5000) * 5 - of.last) * 1000).toISOString();
      return data(
        api.GET('/api/v1/campaigns/{campaign_id}/series', {
          params: { path: { campaign_id: id }, query: { run: of.run, ...(of.last > 0 ? { from } : {}) } },
          signal,
        }),
      );
    },
    refetchInterval: (query) =>
      of.open && seen ? Math.min(Math.max(chartMs, (query.state.data?.step_s ?? 0) * 500), 60_000) : false,
    placeholderData: (before) => (before?.run === of.run ? before : undefined),
  });
  return useFresh(query, seen, of.open ? chartMs : Infinity);
}

/** useBreakdown gives what the dials of a run came to. */
export function useBreakdown(id: string, run: number, open: boolean, seen: boolean) {
  const query = useQuery<Schemas['Breakdown'], Problem>({
    queryKey: [...keys.breakdown(id), run, open],
    queryFn: ({ signal }) =>
      data(
        api.GET('/api/v1/campaigns/{campaign_id}/breakdown', {
          params: { path: { campaign_id: id }, query: { run } },
          signal,
        }),
      ),
    refetchInterval: open && seen ? chartMs : false,
    placeholderData: (before) => (before?.run === run ? before : undefined),
  });
  return useFresh(query, seen, open ? chartMs : Infinity);
}

/** useBestHour gives what dialling at the best hour gains in a campaign, and at which hours people answer. */
export function useBestHour(id: string) {
  return useQuery<Schemas['BestHour'], Problem>({
    queryKey: ['best-hour', id],
    queryFn: ({ signal }) =>
      data(api.GET('/api/v1/campaigns/{campaign_id}/best-hour', { params: { path: { campaign_id: id } }, signal })),
    refetchInterval: 60_000,
  });
}

/** useCampaign gives one campaign as it changes. */
export function useCampaign(id: string): UseQueryResult<Campaign, Problem> & { link: Link } {
  const client = useQueryClient();
  const link = useLive(`/api/v1/campaigns/${encodeURIComponent(id)}/live`, (value) => {
    const campaign = value as unknown as Campaign;
    client.setQueryData<Campaign>(keys.campaign(id), campaign);
    const { live, counters } = campaign;
    if (live)
      client.setQueryData<Sample[]>(keys.tail(id), (tail = []) =>
        tail.at(-1)?.live.at === live.at ? tail : [...tail.slice(-tailCap), { live, counters }],
      );
  });
  const query = useQuery({
    ...campaignOf(id),
    staleTime: link === 'live' ? Infinity : freshMs,
    refetchInterval: link === 'live' || link === 'gone' ? false : pollMs,
  });
  return { ...query, link };
}

export type ContactsPage = Awaited<ReturnType<typeof contactsPage>>;

/** What a list of contacts is narrowed to. */
export interface ContactFilter {
  status?: Schemas['ContactFilter'] | undefined;
  callback?: Schemas['CallbackState'] | undefined;
  q?: string | undefined; // a search: words, or a number in part
}

function contactsPage(id: string, page: number, filter: ContactFilter, signal: AbortSignal) {
  const query = {
    page,
    page_size: 50,
    ...Object.fromEntries(Object.entries(filter).filter(([, v]) => v !== undefined)),
  };
  return data(
    api.GET('/api/v1/campaigns/{campaign_id}/contacts', { params: { path: { campaign_id: id }, query }, signal }),
  );
}

/**
 * useContacts gives one page of 50; the page before stays on the screen while the next is fetched, but not while
 * something else is looked for.
 */
export function useContacts(id: string, page: number, filter: ContactFilter): UseQueryResult<ContactsPage, Problem> {
  return useQuery<ContactsPage, Problem>({
    queryKey: [...keys.contacts(id), page, filter.status ?? '', filter.callback ?? '', filter.q ?? ''],
    queryFn: ({ signal }) => contactsPage(id, page, filter, signal),
    ...(filter.q === undefined ? {} : { retry: false }),
    placeholderData: (before, query) => (query?.queryKey.at(-1) === (filter.q ?? '') ? before : undefined),
  });
}

/** The lifecycle commands that the API has a route for. */
export type Command = 'start' | 'pause' | 'resume' | 'stop' | 'restart' | 'cancel-restart';

export function useCommand(id: string) {
  const client = useQueryClient();
  return useMutation<Campaign, Problem, Command>({
    mutationFn: (command) =>
      data(api.POST(`/api/v1/campaigns/{campaign_id}/${command}`, { params: { path: { campaign_id: id } } })),
    onSuccess: (campaign) => {
      client.setQueryData(keys.campaign(id), campaign);
      void client.invalidateQueries({ queryKey: keys.contacts(id) });
    },
  });
}

export function useDelete(id: string) {
  const client = useQueryClient();
  return useMutation<unknown, Problem>({
    mutationFn: () => data(api.DELETE('/api/v1/campaigns/{campaign_id}', { params: { path: { campaign_id: id } } })),
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: keys.campaigns });
    },
  });
}

/** useEdit saves a merge patch of the settings; it names the version that was edited. */
export function useEdit(id: string) {
  const client = useQueryClient();
  return useMutation<Campaign, Problem, Schemas['SettingsPatch']>({
    mutationFn: (body) =>
      data(api.PATCH('/api/v1/campaigns/{campaign_id}', { params: { path: { campaign_id: id } }, body })),
    onSuccess: (campaign) => {
      client.setQueryData(keys.campaign(id), campaign);
      void client.invalidateQueries({ queryKey: keys.activity(id) });
      void client.invalidateQueries({ queryKey: keys.preflight(id) });
    },
  });
}

/** useClone makes a copy, a draft of its own. */
export function useClone(id: string) {
  const client = useQueryClient();
  return useMutation<Campaign, Problem, { name: string }>({
    mutationFn: (body) =>
      data(api.POST('/api/v1/campaigns/{campaign_id}/clone', { params: { path: { campaign_id: id } }, body })),
    onSuccess: (campaign) => {
      client.setQueryData(keys.campaign(campaign.campaign_id), campaign);
      void client.invalidateQueries({ queryKey: keys.campaigns });
      void client.invalidateQueries({ queryKey: keys.activity(id) });
    },
  });
}

/** useActivity gives one page of who did what, newest first; `all` is more than starts, pauses, resumes and stops. */
export function useActivity(id: string, page: number, all: boolean, stamp: string) {
  return useQuery({
    queryKey: [...keys.activity(id), page, all, stamp],
    queryFn: ({ signal }) =>
      data(
        api.GET('/api/v1/campaigns/{campaign_id}/activity', {
          params: { path: { campaign_id: id }, query: { page, page_size: 20, ...(all ? { all } : {}) } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });
}

/** useLastEdit tells who edited the settings last. */
export function useLastEdit(id: string, version: number, wanted: boolean) {
  return useQuery<Schemas['Activity'] | null, Problem>({
    queryKey: [...keys.activity(id), 'last edit', version],
    enabled: wanted,
    queryFn: async ({ signal }) => {
      const page = await data(
        api.GET('/api/v1/campaigns/{campaign_id}/activity', {
          params: { path: { campaign_id: id }, query: { page_size: 1, kinds: 'edit' } },
          signal,
        }),
      );
      return page.activity[0] ?? null;
    },
  });
}

/** usePreflight asks what Start would meet. */
export function usePreflight(id: string) {
  return useQuery<Schemas['Preflight'], Problem>({
    queryKey: keys.preflight(id),
    queryFn: ({ signal }) =>
      data(api.GET('/api/v1/campaigns/{campaign_id}/preflight', { params: { path: { campaign_id: id } }, signal })),
  });
}

/** useContact gives one contact with its attempts, and why it is not dialled now. */
export function useContact(id: string, contact: string, pollMs: number | false) {
  return useQuery<Schemas['ContactDetail'], Problem>({
    queryKey: keys.contact(id, contact),
    refetchInterval: pollMs,
    queryFn: ({ signal }) =>
      data(
        api.GET('/api/v1/campaigns/{campaign_id}/contacts/{contact_id}', {
          params: { path: { campaign_id: id, contact_id: contact } },
          signal,
        }),
      ),
  });
}

/** What an operator does to one contact. */
export type ContactCommand =
  { action: 'exclude'; reason: string } | { action: 'call-back'; at: string } | { action: 'retry-now' };

/** useContactCommand carries it out; the contact is shown as it stands then. */
export function useContactCommand(id: string, contact: string) {
  const client = useQueryClient();
  return useMutation<Schemas['ContactDetail'], Problem, ContactCommand>({
    mutationFn: (c) => {
      const params = { path: { campaign_id: id, contact_id: contact } };
      switch (c.action) {
        case 'exclude':
          return data(
            api.POST('/api/v1/campaigns/{campaign_id}/contacts/{contact_id}/exclude', {
              params,
              body: c.reason === '' ? {} : { reason: c.reason },
            }),
          );
        case 'call-back':
          return data(
            api.POST('/api/v1/campaigns/{campaign_id}/contacts/{contact_id}/call-back', { params, body: { at: c.at } }),
          );
        case 'retry-now':
          return data(api.POST('/api/v1/campaigns/{campaign_id}/contacts/{contact_id}/retry-now', { params }));
      }
    },
    onSuccess: (detail) => {
      client.setQueryData(keys.contact(id, contact), detail);
      void client.invalidateQueries({ queryKey: keys.contacts(id) });
      void client.invalidateQueries({ queryKey: keys.activity(id) });
    },
  });
}

/** useLadder gives the SIP messages of a call; none when they are not kept. */
export function useLadder(call: string) {
  return useQuery<Schemas['Ladder'], Problem>({
    queryKey: keys.ladder(call),
    queryFn: async ({ signal }) => {
      const ladder = await data(
        api.GET('/api/v1/calls/{call_id}/ladder', {
          params: { path: { call_id: call } },
          headers: { Accept: 'application/json' },
          signal,
        }),
      );
      if (typeof ladder === 'string') throw new Problem(0, 'console_fault', 'The ladder came as text.');
      return ladder;
    },
  });
}

export function useCreateCampaign() {
  const client = useQueryClient();
  return useMutation<Campaign, Problem, Schemas['SettingsRequest']>({
    mutationFn: (body) => data(api.POST('/api/v1/campaigns', { body })),
    onSuccess: (campaign) => {
      client.setQueryData(keys.campaign(campaign.campaign_id), campaign);
      void client.invalidateQueries({ queryKey: keys.campaigns });
    },
  });
}

export function useBots() {
  return useQuery<Schemas['Bot'][], Problem>({
    queryKey: keys.bots,
    queryFn: async ({ signal }) => (await data(api.GET('/api/v1/bots', { signal }))).bots,
  });
}

export function useNumbers() {
  return useQuery<Schemas['Number'][], Problem>({
    queryKey: keys.numbers,
    queryFn: async ({ signal }) => (await data(api.GET('/api/v1/numbers', { signal }))).numbers,
  });
}

export type Check = Schemas['Ready']['checks'][number];

/** useHealth gives what works and what does not. */
export function useHealth() {
  return useQuery<Check[], Problem>({
    queryKey: keys.health,
    queryFn: async ({ signal }) => (await data(api.GET('/api/v1/health', { signal }))).checks,
    refetchInterval: healthMs,
    retry: false,
  });
}
