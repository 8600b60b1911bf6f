import { Anchor, Box, Button, Center, Group, Select, Skeleton, Stack, Table, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQueryClient } from '@tanstack/react-query';
import { Suspense, useCallback, useDeferredValue, useEffect, useMemo, useRef, useState } from 'react';
import { Link, useSearchParams } from 'wouter';

import type { Campaign, Schemas } from '../../api/client';
import { keys, useContacts } from '../../api/queries';
import { Card } from '../../components/card';
import { code } from '../../components/code';
import { Failure } from '../../components/failure';
import { LeftIcon, RightIcon, SearchIcon } from '../../components/icons';
import { useSeen } from '../../components/later';
import { count, plural } from '../../words/figures';
import { peopleSearch } from '../../words/people-search';
import { contactFilter } from '../../words/states';
import css from './contacts-card.module.css';
import { ContactRow } from './contact-row';
import type { Still } from './still';
import { still } from './still';

const { Show: ContactDrawer } = code(() => import('../contact/contact-drawer'));

const pageSize = 50;

/** The filters of the specification, there when callback detection is on: contacts by their newest callback. */
const callbackFilters: { value: '' | Schemas['CallbackState']; label: string }[] = [
  { value: '', label: 'All calls' },
  { value: 'requested', label: 'Callbacks requested' },
  { value: 'pending', label: 'Callbacks pending' },
  { value: 'completed', label: 'Callbacks completed' },
  { value: 'cancelled', label: 'Callbacks cancelled' },
];

/** How long typing rests before it is searched for, ms. */
const restMs = 150;

/** How often the table follows what the live figures tell. */
const followMs = 2_500;

/** ContactsCard is the call list: 50 contacts a page. */
export const ContactsCard = still(function ContactsCard({ campaign: c }: { campaign: Still }) {
  const place = useRef<HTMLDivElement>(null);
  // What is looked for, and the contact that is open, stand in the address: it is kept, and a link can be sent to a
  // colleague.
  const [address, setAddress] = useSearchParams();
  const page = Math.max(1, Number.parseInt(address.get('page') ?? '1', 10) || 1);
  const status = keyOf(contactFilter, address.get('status'));
  const callback = callbackFilters.find(({ value }) => value !== '' && value === address.get('callback'))?.value;
  const open = address.get('contact');
  const put = useCallback(
    (what: Record<string, string | undefined>, replace = true) =>
      setAddress(
        (old) => {
          const next = new URLSearchParams(old);
          for (const [key, value] of Object.entries(what))
            if (value === undefined || value === '') next.delete(key);
            else next.set(key, value);
          return next;
        },
        { replace },
      ),
    [setAddress],
  );
  const show = useCallback((contact: string | undefined) => put({ contact }, false), [put]);
  const setPage = (n: number) => put({ page: n > 1 ? String(n) : undefined });
  const [typed, setTyped] = useState(address.get('q') ?? '');
  const [rested] = useDebouncedValue(typed, restMs);
  const sought = peopleSearch(typed);
  const asked = peopleSearch(rested).q;
  const query = useContacts(c.campaign_id, page, { status, callback: callback || undefined, q: asked });
  useFollow(c.campaign_id, useSeen(place));
  // Fifty rows are drawn piece by piece: meanwhile the page answers.
  const answer = useMemo(() => ({ q: asked, list: query.data }), [asked, query.data]);
  const drawn = useDeferredValue(answer);
  // Rows that were not looked for never stand under a search.
  const list = sought.reason === undefined && sought.q === drawn.q && query.data !== undefined ? drawn.list : undefined;
  const pages = Math.max(1, Math.ceil((list?.total ?? 0) / pageSize));
  // The list became shorter (another filter, another run): the page that is shown exists no more.
  const beyond = list !== undefined && !query.isPlaceholderData && page > pages;
  useEffect(() => {
    if (beyond) put({ page: pages > 1 ? String(pages) : undefined });
  }, [beyond, pages, put]);
  return (
    <Card
      place={place}
      title="Call list"
      aside={
        <Group gap="xs">
          <Anchor component={Link} href={`/campaigns/${encodeURIComponent(c.campaign_id)}/exclusions`} size="sm">
            Exclusions
          </Anchor>
          <TextInput
            aria-label="Find contacts by number, name or variable"
            placeholder="Number, name, variable"
            size="xs"
            w={190}
            type="search"
            maxLength={100}
            leftSection={<SearchIcon size={14} />}
            value={typed}
            error={sought.reason !== undefined}
            onChange={(e) => {
              setTyped(e.currentTarget.value);
              put({ q: peopleSearch(e.currentTarget.value).q, page: undefined });
            }}
          />
          {c.settings.callback_detection && (
            <Select
              aria-label="Show calls by callback"
              title="Contacts by their newest callback"
              size="xs"
              w={180}
              value={callback ?? ''}
              onChange={(v) => put({ callback: v ?? undefined, page: undefined })}
              allowDeselect={false}
              data={callbackFilters}
            />
          )}
          <Select
            aria-label="Show contacts by status"
            size="xs"
            w={170}
            value={status ?? ''}
            onChange={(v) => put({ status: v ?? undefined, page: undefined })}
            allowDeselect={false}
            data={[
              { value: '', label: 'All contacts' },
              ...Object.entries(contactFilter).map(([value, label]) => ({ value, label })),
            ]}
          />
        </Group>
      }
    >
      {sought.reason !== undefined && <Unsought reason={sought.reason} />}
      {sought.reason === undefined && query.isError && !list && (
        <Box p="md">
          <Failure title="The contacts cannot be shown" problem={query.error} retry={() => void query.refetch()} />
        </Box>
      )}
      {sought.reason === undefined && list === undefined && !query.isError && (
        <Skeleton height={240} role="status" aria-label="Loading" />
      )}
      {list && list.contacts.length === 0 && (
        <Nothing id={c.campaign_id} filtered={status !== undefined || callback !== undefined || asked !== undefined} />
      )}
      {list && list.contacts.length > 0 && (
        <Table.ScrollContainer type="native" minWidth={980}>
          <Table
            horizontalSpacing="md"
            verticalSpacing={10}
            className={css.table}
            aria-label="Contacts"
            data-busy={query.isPlaceholderData || undefined}
          >
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Phone</Table.Th>
                <Table.Th>Status</Table.Th>
                <Table.Th ta="right">Attempts</Table.Th>
                <Table.Th>Attempt Trail</Table.Th>
                <Table.Th>Last Result</Table.Th>
                <Table.Th>Variables</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {list.contacts.map((contact) => (
                <ContactRow key={contact.contact_id} contact={contact} zone={c.settings.window.zone} show={show} />
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
      {list && (
        <Group justify="space-between" className={css.foot}>
          <Text size="sm" c="dimmed" className="figure">
            Total contacts: <span data-figure="contacts_total">{count(list.total)}</span>
            {list.total > pageSize && ` · page ${count(page)} of ${count(pages)}`}
          </Text>
          <Group gap="xs">
            <Button
              size="xs"
              variant="default"
              leftSection={<LeftIcon size={14} />}
              disabled={page <= 1}
              onClick={() => setPage(page - 1)}
            >
              Previous
            </Button>
            <Button
              size="xs"
              variant="default"
              rightSection={<RightIcon size={14} />}
              disabled={page >= pages}
              onClick={() => setPage(page + 1)}
            >
              Next
            </Button>
          </Group>
        </Group>
      )}
      <Suspense>
        {open !== null && <ContactDrawer campaign={c} contact={open} close={() => show(undefined)} />}
      </Suspense>
    </Card>
  );
});

/** keyOf is a key of a table as it stands in the address, undefined for another text. */
function keyOf<K extends string>(table: Record<K, unknown>, text: string | null): K | undefined {
  return text !== null && Object.hasOwn(table, text) ? (text as K) : undefined;
}

/** Unsought stands in place of the rows when a search cannot be applied. */
function Unsought({ reason }: { reason: string }) {
  return (
    <Center p={48}>
      <Stack gap={4} align="center" role="status">
        <Text fw={600}>This cannot be searched for</Text>
        <Text size="sm" c="dimmed" ta="center">
          {reason}
        </Text>
      </Stack>
    </Center>
  );
}

function Nothing({ id, filtered }: { id: string; filtered: boolean }) {
  const all = useQueryClient().getQueryData<Campaign>(keys.campaign(id))?.counters.total;
  return (
    <Center p={48}>
      <Stack gap={4} align="center">
        <Text fw={600}>{filtered ? 'No contact fits' : 'No contacts yet'}</Text>
        <Text size="sm" c="dimmed">
          {filtered
            ? all !== undefined && `The campaign has ${plural(all, 'contact')} in all.`
            : 'Add contacts from a CSV file with a phone_number column, or by the trigger endpoint of the API.'}
        </Text>
      </Stack>
    </Center>
  );
}

/**
 * useFollow fetches the table anew when the live figures say that something happened, but not with every event, and
 * only while it is seen.
 */
function useFollow(id: string, seen: boolean) {
  const client = useQueryClient();
  const fetched = useRef<{ at: number; what: string }>(undefined);
  useEffect(() => {
    if (!seen) return undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = () => {
      const c = client.getQueryData<Campaign>(keys.campaign(id));
      if (c === undefined) return;
      const what = JSON.stringify([
        c.run,
        c.status,
        c.counters,
        c.live?.dialling,
        c.live?.ringing,
        c.live?.in_progress,
      ]);
      // The page has just been fetched, but in a run perhaps before these figures: it is fetched once more.
      fetched.current ??= { at: Date.now(), what: c.status === 'running' ? '' : what };
      if (what === fetched.current.what || timer !== undefined) return;
      timer = setTimeout(
        () => {
          timer = undefined;
          fetched.current = { at: Date.now(), what };
          void client.invalidateQueries({ queryKey: keys.contacts(id) });
          look(); // more has happened meanwhile
        },
        Math.max(0, fetched.current.at + followMs - Date.now()),
      );
    };
    look();
    const end = client.getQueryCache().subscribe((e) => {
      const [what, of] = e.query.queryKey as readonly unknown[];
      if (e.type === 'updated' && what === keys.campaign(id)[0] && of === id) look();
    });
    return () => {
      end();
      clearTimeout(timer);
    };
  }, [seen, client, id]);
}
