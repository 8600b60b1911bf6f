import { useQuery } from '@tanstack/react-query';

import { useChange } from './change';
import type { Schemas } from './client';
import { api, data } from './client';
import type { Problem } from './problem';
import { keys } from './queries';

// Calendars: opening hours and holidays that campaigns share, and when they are open.

export type Calendar = Schemas['Calendar'];
export type Windows = Schemas['Windows'];

export function useCalendars() {
  return useQuery<Calendar[], Problem>({
    queryKey: keys.calendars,
    queryFn: async ({ signal }) => (await data(api.GET('/api/v1/calendars', { signal }))).calendars,
  });
}

/** useChoices tells what calendars can be made of. */
export function useChoices() {
  return useQuery({
    queryKey: ['calendar-choices'],
    staleTime: Infinity,
    queryFn: ({ signal }) => data(api.GET('/api/v1/calendars/choices', { signal })),
  });
}

export function usePutCalendar() {
  return useChange(
    ({ id, body }: { id: string; body: Schemas['CalendarRequest'] }) =>
      api.PUT('/api/v1/calendars/{calendar_id}', { params: { path: { calendar_id: id } }, body }),
    keys.calendars,
    keys.windows,
  );
}

export function useDeleteCalendar() {
  return useChange(
    (id: string) => api.DELETE('/api/v1/calendars/{calendar_id}', { params: { path: { calendar_id: id } } }),
    keys.calendars,
    keys.windows,
  );
}

/** The days of a strip. */
export const stripDays = 14;

/** From the beginning of today in any zone to the end of the last day. */
function span() {
  const now = Date.now();
  const day = 24 * 60 * 60 * 1000;
  return { from: new Date(now - day).toISOString(), to: new Date(now + (stripDays + 1) * day).toISOString() };
}

/** useCalendarWindows tells when a calendar is open, by the clock of a zone if it has none. */
export function useCalendarWindows(id: string, zone: string) {
  return useQuery<Windows, Problem>({
    queryKey: [...keys.windows, 'calendar', id, zone],
    queryFn: ({ signal }) =>
      data(
        api.GET('/api/v1/calendars/{calendar_id}/windows', {
          params: { path: { calendar_id: id }, query: { ...span(), zone } },
          signal,
        }),
      ),
  });
}

/** useCampaignWindows tells when a campaign calls; version is that of its settings. */
export function useCampaignWindows(id: string, version: number) {
  return useQuery<Windows, Problem>({
    queryKey: [...keys.windows, 'campaign', id, version],
    queryFn: ({ signal }) =>
      data(
        api.GET('/api/v1/campaigns/{campaign_id}/windows', {
          params: { path: { campaign_id: id }, query: span() },
          signal,
        }),
      ),
  });
}
