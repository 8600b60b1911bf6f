import { Box, Button, Group, Skeleton, Text, Title } from '@mantine/core';
import { useFullscreenElement } from '@mantine/hooks';
import { memo } from 'react';
import { Link } from 'wouter';

import type { Campaign } from '../../api/client';
import { useCampaigns } from '../../api/queries';
import { AttentionBanner } from '../../components/attention-banner';
import { CampaignBadges } from '../../components/campaign-badges';
import { Failure } from '../../components/failure';
import { Empty } from '../../components/listing';
import { PageTitle } from '../../components/page';
import { ProgressBar } from '../../components/progress-bar';
import { StateLine } from '../../components/state-line';
import { ToneWord } from '../../components/tone-badge';
import { stopped } from '../../words/attention';
import { processed, scope } from '../../words/campaigns';
import { whyOf } from '../../words/constraints';
import { count, none, rate, share } from '../../words/figures';
import { sorted } from '../../words/order';
import { campaignStatus, named } from '../../words/states';
import css from './wall-page.module.css';

/** What a wall shows: what dials, what could, and what still talks. */
const goesOn = (c: Campaign) => c.status === 'running' || c.status === 'paused' || c.draining;

export default function WallPage() {
  const query = useCampaigns();
  const { ref, toggle, fullscreen } = useFullscreenElement<HTMLDivElement>();
  const list = query.data?.campaigns.filter(goesOn);
  const shown = list && sorted(sorted(list, { by: 'name', descending: false }), undefined);
  return (
    <div ref={ref} className={css.wall}>
      <PageTitle of="Live wall" />
      {fullscreen && <AttentionBanner />}
      <Group justify="space-between" mb="md">
        <Title order={1} size="h2">
          Live wall
        </Title>
        <Button variant="default" onClick={() => void toggle()}>
          {fullscreen ? 'Leave full screen' : 'Full screen'}
        </Button>
      </Group>
      {query.isError && (
        <Failure
          title={shown === undefined ? 'The campaigns cannot be shown' : 'These figures are no longer fresh'}
          problem={query.error}
          retry={() => void query.refetch()}
        />
      )}
      {shown === undefined && query.isPending && (
        <Skeleton height={320} radius="md" role="status" aria-label="Loading" />
      )}
      {shown?.length === 0 && (
        <Empty title="Nothing is dialled now">
          Running and paused campaigns stand here, each with what it does at this moment. Start one on its page.
        </Empty>
      )}
      {shown !== undefined && shown.length > 0 && (
        <>
          <Sums of={shown} />
          <ul className={css.tiles} aria-label="Campaigns" data-many={shown.length > few || undefined}>
            {shown.map((c) => (
              <Tile key={c.campaign_id} campaign={c} brief={shown.length > few} />
            ))}
          </ul>
        </>
      )}
    </div>
  );
}

/** So many tiles have room for every figure and the whole reason. */
const few = 6;

/** Sums is all campaigns together. */
function Sums({ of: list }: { of: Campaign[] }) {
  const sum = (f: (c: Campaign) => number | null | undefined) => list.reduce((n, c) => n + (f(c) ?? 0), 0);
  return (
    <dl className={css.sums} aria-label="All campaigns">
      <Figure name="in_progress" label="In progress" value={count(sum((c) => c.live?.in_progress))} />
      <Figure name="ringing" label="Ringing" value={count(sum((c) => c.live?.ringing))} />
      <Figure name="dials_per_s" label="Dials a second" value={rate(sum((c) => c.live?.dials_per_s))} />
      <Figure
        name="connected_per_h"
        label="Connected an hour"
        value={count(Math.round(sum((c) => c.live?.connected_per_h)))}
      />
      <Figure name="running" label="Running" value={count(list.filter((c) => c.status === 'running').length)} />
    </dl>
  );
}

/** Tile draws anew only when its campaign changes. A brief one has the figures that are read from afar, and a line. */
const Tile = memo(function Tile({ campaign: c, brief }: { campaign: Campaign; brief: boolean }) {
  const why = whyOf(c);
  const halted = stopped(c);
  const badge = named(campaignStatus, c.status);
  return (
    <li
      className={css.tile}
      data-tone={halted ? 'red' : badge.tone}
      data-stopped={halted || undefined}
      data-campaign={c.campaign_id}
    >
      <Group justify="space-between" align="flex-start" wrap="nowrap" gap="xs">
        <Link href={`/campaigns/${encodeURIComponent(c.campaign_id)}`} className={css.name} title={c.settings.name}>
          {c.settings.name}
        </Link>
        {!brief && <CampaignBadges campaign={c} halted={halted} />}
      </Group>
      <dl className={css.figures}>
        <Figure name="in_progress" label="In progress" value={count(c.live?.in_progress)} />
        <Figure name="ringing" label="Ringing" value={count(c.live?.ringing)} />
        {!brief && (
          <>
            <Figure name="dials_per_s" label="Dials a second" value={rate(c.live?.dials_per_s)} />
            <Figure name="connected" label="Connected" value={count(c.counters.connected)} />
            <Figure name="answer_rate" label="Answer rate" value={share(c.counters.answer_rate)} />
          </>
        )}
        <Figure name="abandon_rate" label="Abandon rate" value={share(c.counters.abandon_rate)} />
      </dl>
      <Group gap="xs" wrap="nowrap">
        <Box flex={1}>
          <ProgressBar campaign={c} height={8} />
        </Box>
        <Text size="xs" c="dimmed" className="figure">
          {c.counters.progress === null ? none : share(c.counters.progress)}
          {!brief && ` · ${count(processed(c))} / ${count(scope(c))}`}
        </Text>
      </Group>
      <div className={css.why}>
        {brief && (
          <ToneWord
            tone={c.draining ? 'amber' : halted ? 'red' : badge.tone}
            label={c.draining ? 'Draining' : badge.label}
          />
        )}
        <StateLine campaign={c} truncate={brief} />
        {!brief && why !== undefined && `${why.title}. ${why.sentence}`}
      </div>
    </li>
  );
});

function Figure({ name, label, value }: { name: string; label: string; value: string }) {
  return (
    <div>
      <dt className={css.label}>{label}</dt>
      <dd className={css.value} data-figure={name}>
        {value}
      </dd>
    </div>
  );
}
