import { Button, Grid, Group, Pill, Select, Stack, Table, Text } from '@mantine/core';
import { useRef, useState } from 'react';
import { Link, useSearchParams } from 'wouter';

import type { Label, Review, ReviewFilter } from '../../api/reviews';
import { exportOf, reviewsPageSize, useCampaignNames, useLabel, useReviews } from '../../api/reviews';
import { may, useUser } from '../../api/session';
import { Card } from '../../components/card';
import { DownloadIcon } from '../../components/icons';
import { ActionsHead, Empty, ListingPage, Rows } from '../../components/listing';
import { Pager } from '../../components/pager';
import { ToneWord } from '../../components/tone-badge';
import { When } from '../../components/when';
import { seconds, share } from '../../words/figures';
import { viewerZone } from '../../words/times';
import { country, verdictOf, verdicts } from '../../words/verdicts';
import { ConfusionCard } from './confusion-card';
import { Listen } from './listen';
import css from './reviews.module.css';

/** useFilter keeps what the list is narrowed to in the address, so that a link to it can be sent. */
function useFilter() {
  const [search, setSearch] = useSearchParams();
  const filter: ReviewFilter = {};
  for (const name of ['campaign_id', 'trunk', 'country'] as const) {
    const v = search.get(name);
    if (v !== null && v !== '') filter[name] = v;
  }
  const verdict = verdicts.find((v) => v.verdict === search.get('verdict'))?.verdict;
  if (verdict !== undefined) filter.verdict = verdict;
  const labelled = search.get('labelled');
  if (labelled === 'true' || labelled === 'false') filter.labelled = labelled === 'true';
  const set = (change: Record<string, string | null>) =>
    setSearch((old) => {
      const next = new URLSearchParams(old);
      for (const [name, v] of Object.entries(change)) {
        if (v === null || v === '') next.delete(name);
        else next.set(name, v);
      }
      return next;
    });
  return { filter, set };
}

/** ReviewsPage lets people hear calls and say who answered, and shows how often the dialler was right. */
export default function ReviewsPage() {
  const admin = may(useUser().role, 'admin');
  const { filter, set } = useFilter();
  const [page, setPage] = useState(1);
  const query = useReviews(page, filter);
  const names = useCampaignNames();
  const narrow = (change: Record<string, string | null>) => {
    setPage(1);
    set(change);
  };
  const narrowed = Object.keys(filter).length > 0;
  const nameOf = (id: string) => names.data?.find((c) => c.value === id)?.label ?? id;
  return (
    <ListingPage
      title="AMD review"
      intro={
        'Check voicemail detection: listen to a sample of calls and mark who answered. ' +
        'That shows how often the dialler is right, and gives recordings to measure and train on.'
      }
      action={
        admin ? (
          <Button
            component="a"
            href={exportOf(filter)}
            download
            variant="default"
            leftSection={<DownloadIcon size={16} />}
          >
            Export labelled calls
          </Button>
        ) : undefined
      }
      above={
        <Group mb="md" align="flex-end">
          <Select
            label="Campaign"
            placeholder="All campaigns"
            data={names.data ?? []}
            value={filter.campaign_id ?? null}
            onChange={(v) => narrow({ campaign_id: v })}
            searchable
            clearable
            clearButtonProps={{ 'aria-label': 'All campaigns' }}
            w={{ base: '100%', sm: 280 }}
          />
          <Select
            label="Verdict"
            data={[
              { value: '', label: 'All verdicts' },
              ...verdicts.map((v) => ({ value: v.verdict, label: v.label })),
            ]}
            value={filter.verdict ?? ''}
            onChange={(v) => narrow({ verdict: v })}
            allowDeselect={false}
            w={{ base: '100%', xs: 200 }}
          />
          <Select
            label="Label"
            data={[
              { value: '', label: 'With and without' },
              { value: 'false', label: 'Not labelled yet' },
              { value: 'true', label: 'Labelled' },
            ]}
            value={filter.labelled === undefined ? '' : String(filter.labelled)}
            onChange={(v) => narrow({ labelled: v })}
            allowDeselect={false}
            w={{ base: '100%', xs: 180 }}
          />
          {(filter.trunk !== undefined || filter.country !== undefined) && (
            <Pill
              size="md"
              withRemoveButton
              onRemove={() => narrow({ trunk: null, country: null })}
              removeButtonProps={{ 'aria-label': 'All trunks and countries', 'aria-hidden': false, tabIndex: 0 }}
            >
              {[filter.trunk, filter.country === undefined ? undefined : country(filter.country)]
                .filter(Boolean)
                .join(', ')}
            </Pill>
          )}
        </Group>
      }
      query={query}
    >
      {(list) => (
        <Stack gap="md">
          {list.reviews.length === 0 ? (
            <Empty title={narrowed ? 'No call fits' : 'No call to hear yet'}>
              {narrowed
                ? 'Other filters may find some.'
                : 'Set “AMD review share” in the dialler configuration of a campaign that records its calls: ' +
                  'so many of its verdicts are listed here.'}
            </Empty>
          ) : (
            <Reviewing
              list={list.reviews}
              nameOf={nameOf}
              admin={admin}
              foot={<Pager page={page} size={reviewsPageSize} total={list.total} go={setPage} />}
            />
          )}
          <ConfusionCard
            campaign={filter.campaign_id}
            trunk={filter.trunk}
            region={filter.country}
            choose={(trunk, region) => narrow({ trunk, country: region })}
          />
        </Stack>
      )}
    </ListingPage>
  );
}

interface ReviewingProps {
  list: Review[];
  nameOf: (campaign: string) => string;
  admin: boolean;
  foot: React.ReactNode;
}

/** Reviewing is the list beside the call that is being heard. */
function Reviewing({ list, nameOf, admin, foot }: ReviewingProps) {
  const [chosen, setChosen] = useState<{ attempt: string; moved: boolean }>();
  const [last, setLast] = useState<{ attempt: string; label: Label }>();
  const label = useLabel();
  const region = useRef<HTMLDivElement>(null);
  const i = Math.max(
    0,
    list.findIndex((r) => r.attempt_id === chosen?.attempt),
  );
  const current = list[i];
  const choose = (r: Review | undefined) => {
    if (r === undefined) return;
    setChosen({ attempt: r.attempt_id, moved: true });
    region.current?.focus();
  };
  const say = (r: Review, what: Label) => {
    // The next that nobody has labelled; of the list as it was, for the label may take this one out of it.
    const next = [...list.slice(i + 1), ...list.slice(0, i)].find((o) => o.label === undefined) ?? list[i + 1];
    label.mutate(
      { attempt: r.attempt_id, label: what },
      {
        onSuccess: () => {
          setLast(what === 'none' ? undefined : { attempt: r.attempt_id, label: what });
          if (what !== 'none') choose(next);
        },
      },
    );
  };
  const takeBack = () => {
    if (last === undefined) return;
    label.mutate(
      { attempt: last.attempt, label: 'none' },
      {
        onSuccess: () => {
          setLast(undefined);
          setChosen({ attempt: last.attempt, moved: true });
        },
      },
    );
  };
  return (
    <Grid gap="md" align="flex-start">
      <Grid.Col span={{ base: 12, lg: 5 }} order={{ base: 1, lg: 2 }}>
        <div className={css.side}>
          {current !== undefined &&
            (admin ? (
              <Listen
                region={region}
                review={current}
                place={`${i + 1} of ${list.length} on this page`}
                autoPlay={chosen?.moved === true && chosen.attempt === current.attempt_id}
                busy={label.isPending}
                problem={label.error}
                last={last}
                say={(what) => say(current, what)}
                takeBack={takeBack}
                previous={list[i - 1] === undefined ? undefined : () => choose(list[i - 1])}
                next={list[i + 1] === undefined ? undefined : () => choose(list[i + 1])}
              />
            ) : (
              <Card title="Listen">
                <Text p="md" size="sm" c="dimmed">
                  An administrator hears the calls and says who answered.
                </Text>
              </Card>
            ))}
        </div>
      </Grid.Col>
      <Grid.Col span={{ base: 12, lg: 7 }} order={{ base: 2, lg: 1 }}>
        <Rows
          label="Verdicts"
          minWidth={500}
          heads={
            <>
              <Table.Th>Call</Table.Th>
              <Table.Th>Taken for</Table.Th>
              <Table.Th>People heard</Table.Th>
              {admin && <ActionsHead />}
            </>
          }
          foot={foot}
        >
          {list.map((r) => (
            <Table.Tr
              key={r.attempt_id}
              data-review={r.attempt_id}
              data-label={r.label}
              aria-current={admin && r === current ? true : undefined}
              bg={admin && r === current ? 'var(--mantine-color-default-hover)' : undefined}
            >
              <Table.Td>
                <Text
                  component={Link}
                  href={`/campaigns/${encodeURIComponent(r.campaign_id)}`}
                  size="sm"
                  c="inherit"
                  display="block"
                >
                  {nameOf(r.campaign_id)}
                </Text>
                <Text component="div" size="xs" c="dimmed">
                  <When at={r.answered_at} zone={viewerZone} precise /> · {r.trunk} · {country(r.country)}
                </Text>
              </Table.Td>
              <Table.Td>
                <ToneWord {...verdictOf(r.verdict)} />
                <Text size="xs" c="dimmed" className="figure">
                  {r.took_ms > 0
                    ? `${share(r.confidence)} sure, ${seconds(r.took_ms / 1000).replaceAll(' ', '\u00a0')}`
                    : 'nothing was decided'}
                  {r.revised_from !== undefined && `, first ${verdictOf(r.revised_from).label.toLowerCase()}`}
                </Text>
              </Table.Td>
              <Table.Td>
                {r.label === undefined ? (
                  <Text size="sm" c="dimmed">
                    Not labelled
                  </Text>
                ) : (
                  <>
                    <ToneWord {...verdictOf(r.label)} />
                    <Text size="xs" c="dimmed">
                      {r.labelled_by}
                    </Text>
                  </>
                )}
              </Table.Td>
              {admin && (
                <Table.Td ta="right">
                  <Button
                    size="xs"
                    variant="subtle"
                    onClick={() => choose(r)}
                    aria-label={`Listen to call ${r.attempt_id.slice(-8)}`}
                  >
                    Listen
                  </Button>
                </Table.Td>
              )}
            </Table.Tr>
          ))}
        </Rows>
      </Grid.Col>
    </Grid>
  );
}
