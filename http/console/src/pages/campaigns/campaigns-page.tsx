import {
  Box,
  Button,
  Center,
  Group,
  Paper,
  SegmentedControl,
  Skeleton,
  Stack,
  Table,
  Text,
  TextInput,
  Title,
  UnstyledButton,
} from '@mantine/core';
import { useHotkeys } from '@mantine/hooks';
import { Suspense, lazy, memo, useRef, useState } from 'react';
import { Link, useLocation, useSearchParams } from 'wouter';

import type { Campaign, Schemas } from '../../api/client';
import { useCampaigns } from '../../api/queries';
import { may, useUser } from '../../api/session';
import { useSetUp } from '../../api/set-up';
import { CampaignBadges } from '../../components/campaign-badges';
import { CommandDialog } from '../../components/command-dialog';
import { Failure } from '../../components/failure';
import { PlusIcon, SearchIcon } from '../../components/icons';
import { ActionsHead } from '../../components/listing';
import { PageBody } from '../../components/page';
import { ProgressBar } from '../../components/progress-bar';
import { RowMenu } from '../../components/row-menu';
import { StateLine } from '../../components/state-line';
import { When } from '../../components/when';
import { stopped } from '../../words/attention';
import { processed, scope } from '../../words/campaigns';
import type { Asked } from '../../words/commands';
import { actionsOf, labels } from '../../words/commands';
import { count, none, share } from '../../words/figures';
import type { Column, Order } from '../../words/order';
import { addressOf, next, orderOf, sorted } from '../../words/order';
import { campaignStatus } from '../../words/states';
import { CloneDialog } from '../campaign/clone-dialog';
import css from './campaigns-page.module.css';
import listing from '../../components/listing.module.css';

const SetUp = lazy(() => import('../set-up/set-up'));

const statuses: Schemas['CampaignStatus'][] = ['running', 'paused', 'draft', 'completed', 'failed'];

export default function CampaignsPage() {
  const query = useCampaigns();
  const user = useUser();
  const [search, setSearch] = useSearchParams();
  const field = useRef<HTMLInputElement>(null);
  useHotkeys([['/', () => field.current?.focus()]]);

  const text = search.get('q') ?? '';
  const status = statuses.find((s) => s === search.get('status'));
  const set = (name: string, value: string) =>
    setSearch(
      (old) => {
        const next = new URLSearchParams(old);
        if (value === '') next.delete(name);
        else next.set(name, value);
        return next;
      },
      { replace: true },
    );
  const all = query.data?.campaigns;
  const wanted = text.trim().toLocaleLowerCase();
  const found = all?.filter(
    (c) =>
      wanted === '' ||
      c.settings.name.toLocaleLowerCase().includes(wanted) ||
      c.campaign_id.toLowerCase().includes(wanted),
  );
  const order = orderOf(search.get('sort'));
  const shown =
    found &&
    sorted(
      found.filter((c) => status === undefined || c.status === status),
      order,
    );

  // Without any campaign there is nothing to search: what a new installation needs stands in place of the list.
  const beginning = query.data?.total === 0;
  const setUp = useSetUp({ enabled: beginning });
  const listed = !beginning || (!setUp.isPending && setUp.data?.hidden !== false);

  return (
    <PageBody title="Campaigns">
      <Group justify="space-between" mb="lg">
        <Title order={1} size="h2">
          Campaigns
        </Title>
        {may(user.role, 'operator') && (
          <Button leftSection={<PlusIcon />} component={Link} href="/campaigns/new">
            New campaign
          </Button>
        )}
      </Group>
      {beginning && !listed && (
        <Suspense fallback={<Skeleton height={320} radius="md" role="status" aria-label="Loading" />}>
          <SetUp />
        </Suspense>
      )}
      {listed && (
        <Group mb="md" gap="sm">
          <TextInput
            ref={field}
            type="search"
            aria-label="Search campaigns by name"
            placeholder="Search by name"
            leftSection={<SearchIcon size={16} />}
            value={text}
            onChange={(e) => set('q', e.currentTarget.value)}
            w={{ base: '100%', sm: 280 }}
          />
          <SegmentedControl
            aria-label="Status"
            value={status ?? ''}
            onChange={(v) => set('status', v)}
            className={css.statuses}
            data={[
              { value: '', label: `All${found ? ` ${count(found.length)}` : ''}` },
              ...statuses.map((s) => {
                const many = found ? ` ${count(found.filter((c) => c.status === s).length)}` : '';
                return { value: s, label: `${campaignStatus[s].label}${many}` };
              }),
            ]}
          />
        </Group>
      )}
      {query.isError && !all && (
        <Failure title="The campaigns cannot be shown" problem={query.error} retry={() => void query.refetch()} />
      )}
      {query.isPending && <Skeleton height={320} radius="md" role="status" aria-label="Loading" />}
      {listed && shown && (
        <Paper withBorder className={css.card}>
          {shown.length === 0 ? (
            <Nothing any={(all?.length ?? 0) > 0} />
          ) : (
            <CampaignTable campaigns={shown} order={order} sort={(by) => set('sort', addressOf(next(order, by)))} />
          )}
        </Paper>
      )}
      {query.data && query.data.total > query.data.campaigns.length && (
        <Text size="sm" c="dimmed" mt="sm">
          The newest {count(query.data.campaigns.length)} of {count(query.data.total)} campaigns.
        </Text>
      )}
    </PageBody>
  );
}

function Nothing({ any }: { any: boolean }) {
  return (
    <Center p={64}>
      <Stack align="center" gap={4}>
        <Text fw={600}>{any ? 'No campaign fits' : 'No campaigns yet'}</Text>
        <Text size="sm" c="dimmed">
          {any
            ? 'Search for another name or choose another status.'
            : 'A campaign calls a list of contacts with a voice bot.'}
        </Text>
      </Stack>
    </Center>
  );
}

type Todo = Asked | 'clone';

function CampaignTable({
  campaigns,
  order,
  sort,
}: {
  campaigns: Campaign[];
  order: Order | undefined;
  sort: (by: Column) => void;
}) {
  const { role } = useUser();
  const [todo, setTodo] = useState<{ what: Todo; campaign: Campaign }>();
  const done = () => setTodo(undefined);
  const operator = may(role, 'operator');
  const head = (by: Column, text: string, figure = false) => (
    <Head by={by} text={text} figure={figure} order={order} sort={sort} />
  );
  return (
    <>
      <Table.ScrollContainer type="native" minWidth={980} className={listing.scroller}>
        <Table aria-label="Campaigns" verticalSpacing={5} horizontalSpacing="sm" highlightOnHover className={css.table}>
          <Table.Thead>
            <Table.Tr>
              {head('name', 'Campaign')}
              {head('status', 'Status')}
              <Table.Th className={css.does}>Now</Table.Th>
              {head('progress', 'Progress')}
              {head('ringing', 'Ringing', true)}
              {head('in_progress', 'In progress', true)}
              {head('connected', 'Connected', true)}
              {head('answer_rate', 'Answer rate', true)}
              {head('created', 'Created')}
              {operator && <ActionsHead />}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {campaigns.map((c) => (
              <Row key={c.campaign_id} campaign={c} {...(operator ? { act: setTodo } : {})} />
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      {todo &&
        (todo.what === 'clone' ? (
          <CloneDialog campaign={todo.campaign} close={done} />
        ) : (
          <CommandDialog action={todo.what} campaign={todo.campaign} close={done} />
        ))}
    </>
  );
}

/** Head is a column's name, which sorts by it when it is pressed. */
function Head({
  by,
  text,
  figure,
  order,
  sort,
}: {
  by: Column;
  text: string;
  figure: boolean;
  order: Order | undefined;
  sort: (by: Column) => void;
}) {
  const mine = order?.by === by ? order : undefined;
  return (
    <Table.Th
      ta={figure ? 'right' : undefined}
      className={css[by]}
      {...(mine ? { 'aria-sort': mine.descending ? 'descending' : 'ascending' } : {})}
    >
      <UnstyledButton className={css.sort} onClick={() => sort(by)}>
        {text}
        <Box
          component="span"
          aria-hidden="true"
          className={css.arrow}
          data-way={mine && (mine.descending ? 'down' : 'up')}
        />
      </UnstyledButton>
    </Table.Th>
  );
}

/** Row draws anew only when its campaign changes: the list may have two hundred. */
const Row = memo(function Row({
  campaign: c,
  act,
}: {
  campaign: Campaign;
  act?: (todo: { what: Todo; campaign: Campaign }) => void;
}) {
  const live = c.status === 'running' || c.status === 'paused' || c.draining ? c.live : undefined;
  return (
    <Table.Tr className={css.row} data-campaign={c.campaign_id} data-stopped={stopped(c) || undefined}>
      <Table.Td className={css.called}>
        <Link href={`/campaigns/${encodeURIComponent(c.campaign_id)}`} className={css.link} title={c.settings.name}>
          {c.settings.name}
        </Link>
        {c.run > 1 && (
          <Text span size="xs" c="dimmed" ml={6} style={{ whiteSpace: 'nowrap' }}>
            run {c.run}
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <CampaignBadges campaign={c} halted={stopped(c)} line />
      </Table.Td>
      <Table.Td className={css.does}>
        <StateLine campaign={c} truncate />
      </Table.Td>
      <Table.Td>
        <Group gap={8} wrap="nowrap" title={`${count(processed(c))} of ${count(scope(c))} contacts`}>
          <Box flex={1} miw={48}>
            <ProgressBar campaign={c} height={6} />
          </Box>
          <Text size="sm" className={`figure ${css.share}`}>
            {c.counters.progress === null ? none : share(c.counters.progress)}
          </Text>
        </Group>
      </Table.Td>
      <Figure value={live?.ringing} name="ringing" strong />
      <Figure value={live?.in_progress} name="in_progress" strong />
      <Figure value={c.counters.connected} name="connected" />
      <Table.Td ta="right" className="figure">
        {share(c.counters.answer_rate)}
      </Table.Td>
      <Table.Td className={css.created}>
        <Text size="sm" c="dimmed" className={css.when}>
          <When at={c.created_at} zone={c.settings.window.zone} brief />
        </Text>
      </Table.Td>
      {act && (
        <Table.Td ta="right" className={css.actions}>
          <Actions campaign={c} act={act} />
        </Table.Td>
      )}
    </Table.Tr>
  );
});

/** Actions are what the campaign's state allows; each asks before it is done, as on the campaign's page. */
function Actions({
  campaign: c,
  act,
}: {
  campaign: Campaign;
  act: (todo: { what: Todo; campaign: Campaign }) => void;
}) {
  const { role } = useUser();
  const [, go] = useLocation();
  return (
    <RowMenu
      of={c.settings.name}
      items={actionsOf(c, role).map((what) => ({
        label: what === 'edit' ? labels.edit : `${labels[what]}…`,
        grave: what === 'stop' || what === 'delete',
        act: () => {
          if (what === 'edit') go(`/campaigns/${encodeURIComponent(c.campaign_id)}/edit`);
          else act({ what, campaign: c });
        },
      }))}
    />
  );
}

function Figure({ value, name, strong = false }: { value: number | undefined; name: string; strong?: boolean }) {
  return (
    <Table.Td
      ta="right"
      className="figure"
      fw={strong && (value ?? 0) > 0 ? 600 : undefined}
      c={value ? undefined : 'dimmed'}
      data-figure={name}
    >
      {count(value)}
    </Table.Td>
  );
}
