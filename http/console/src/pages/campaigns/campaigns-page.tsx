import { Button, Center, Group, Paper, SegmentedControl, Skeleton, Stack, Table, Text, TextInput, Title } from '@mantine/core';
import { useHotkeys } from '@mantine/hooks';
import { memo, useRef } from 'react';
import { Link, useSearchParams } from 'wouter';

import type { Campaign, Schemas } from '../../api/client';
import { useCampaigns } from '../../api/queries';
import { may, useUser } from '../../api/session';
import { CampaignBadges } from '../../components/campaign-badges';
import { Failure } from '../../components/failure';
import { PlusIcon, SearchIcon } from '../../components/icons';
import { PageBody } from '../../components/page';
import { ProgressBar } from '../../components/progress-bar';
import { When } from '../../components/when';
import { processed, scope } from '../../words/campaigns';
import { count, none, share } from '../../words/figures';
import { campaignStatus } from '../../words/states';
import css from './campaigns-page.module.css';
import listing from '../../components/listing.module.css';

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
  const found = all?.filter((c) => wanted === '' || c.settings.name.toLocaleLowerCase().includes(wanted) || c.campaign_id.toLowerCase().includes(wanted));
  const shown = found?.filter((c) => status === undefined || c.status === status);

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
            ...statuses.map((s) => ({ value: s, label: `${campaignStatus[s].label}${found ? ` ${count(found.filter((c) => c.status === s).length)}` : ''}` })),
          ]}
        />
      </Group>
      {query.isError && !all && <Failure title="The campaigns cannot be shown" problem={query.error} retry={() => void query.refetch()} />}
      {query.isPending && <Skeleton height={320} radius="md" aria-label="Loading" />}
      {shown && (
        <Paper withBorder className={css.card}>
          {shown.length === 0 ? <Nothing any={(all?.length ?? 0) > 0} /> : <CampaignTable campaigns={shown} />}
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
          {any ? 'Search for another name or choose another status.' : 'A campaign calls a list of contacts with a voice bot.'}
        </Text>
      </Stack>
    </Center>
  );
}

function CampaignTable({ campaigns }: { campaigns: Campaign[] }) {
  return (
    <Table.ScrollContainer type="native" minWidth={820} className={listing.scroller}>
      <Table verticalSpacing="sm" horizontalSpacing="sm" highlightOnHover className={css.table}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th className={css.campaign}>Campaign</Table.Th>
            <Table.Th>Status</Table.Th>
            <Table.Th className={css.progress}>Progress</Table.Th>
            <Table.Th ta="right">Ringing</Table.Th>
            <Table.Th ta="right">In progress</Table.Th>
            <Table.Th ta="right">Connected</Table.Th>
            <Table.Th ta="right">Answer rate</Table.Th>
            <Table.Th>Created</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {campaigns.map((c) => (
            <Row key={c.campaign_id} campaign={c} />
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

/** Row draws anew only when its campaign changes: the list may have two hundred. */
const Row = memo(function Row({ campaign: c }: { campaign: Campaign }) {
  const live = c.status === 'running' || c.status === 'paused' || c.draining ? c.live : undefined;
  return (
    <Table.Tr className={css.row} data-campaign={c.campaign_id}>
      <Table.Td>
        <Link href={`/campaigns/${encodeURIComponent(c.campaign_id)}`} className={css.name}>
          {c.settings.name}
        </Link>
        <Text size="xs" c="dimmed" ff="monospace">
          {c.campaign_id}
          {c.run > 1 && ` · run ${c.run}`}
        </Text>
      </Table.Td>
      <Table.Td>
        <CampaignBadges campaign={c} />
      </Table.Td>
      <Table.Td>
        <Group gap="xs" justify="space-between" mb={5} wrap="nowrap">
          <Text size="sm" className="figure" fw={500}>
            {c.counters.progress === null ? none : share(c.counters.progress)}
          </Text>
          <Text size="xs" c="dimmed" className="figure">
            {count(processed(c))} / {count(scope(c))}
          </Text>
        </Group>
        <ProgressBar campaign={c} height={6} />
      </Table.Td>
      <Figure value={live?.ringing} name="ringing" strong />
      <Figure value={live?.in_progress} name="in_progress" strong />
      <Figure value={c.counters.connected} name="connected" />
      <Table.Td ta="right" className="figure">
        {share(c.counters.answer_rate)}
      </Table.Td>
      <Table.Td>
        <Text size="sm" c="dimmed" className={css.created}>
          <When at={c.created_at} zone={c.settings.window.zone} />
        </Text>
      </Table.Td>
    </Table.Tr>
  );
});

function Figure({ value, name, strong = false }: { value: number | undefined; name: string; strong?: boolean }) {
  return (
    <Table.Td ta="right" className="figure" fw={strong && (value ?? 0) > 0 ? 600 : undefined} c={value ? undefined : 'dimmed'} data-figure={name}>
      {count(value)}
    </Table.Td>
  );
}
