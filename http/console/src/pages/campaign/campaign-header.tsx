import { Anchor, Box, Group, Text, Title, VisuallyHidden } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'wouter';

import { useAttention } from '../../api/attention';
import type { Campaign } from '../../api/client';
import { CampaignBadges } from '../../components/campaign-badges';
import { CopyControl } from '../../components/copy-control';
import { LeftIcon } from '../../components/icons';
import { When, useNow } from '../../components/when';
import { minuteOf, viewerZone, windowOf } from '../../words/times';
import css from './campaign-header.module.css';
import { CommandBar } from './command-bar';
import type { Still } from './still';
import { still } from './still';

/** CampaignHeader names the campaign, says what state it is in and since when, and holds what can be done to it. */
export const CampaignHeader = still(function CampaignHeader({ campaign: c }: { campaign: Still }) {
  const zone = c.settings.window.zone;
  const now = useNow();
  const halted = useAttention().some((a) => a.campaigns.some((o) => o.campaign_id === c.campaign_id));
  const there = zone === viewerZone ? undefined : minuteOf(now, zone);
  return (
    <Box component="header">
      <Anchor component={Link} href="/campaigns" size="sm" c="dimmed" className={css.back}>
        <LeftIcon size={14} /> Campaigns
      </Anchor>
      <Group justify="space-between" align="flex-start" gap="md" mt={4}>
        <Box miw={0}>
          <Group gap="sm" align="center">
            <Title order={1} size="h2" className={css.name}>
              {c.settings.name}
            </Title>
            <CampaignBadges campaign={c} halted={halted} />
          </Group>
        </Box>
        <CommandBar campaign={c} />
      </Group>
      <dl className={css.facts}>
        <Fact name="Campaign ID">
          <Text span ff="monospace" size="sm" data-figure="campaign_id">
            {c.campaign_id}
          </Text>
          <CopyControl text={c.campaign_id} what="campaign ID" />
        </Fact>
        <Fact name="Run" figure="run">
          {c.run}
        </Fact>
        <Fact name="Created" figure="created">
          <By at={c.created_at} who={c.created_by} zone={zone} />
        </Fact>
        <Fact name="Current Run" figure="current_run">
          <By at={c.started_at} zone={zone} />
        </Fact>
        <Fact name="Restarted" figure="restarted" blank={!c.restarted_at}>
          <By at={c.restarted_at} who={c.restarted_by} zone={zone} />
        </Fact>
        <Fact name="Completed" figure="completed_at" blank={c.status !== 'completed'}>
          <By at={c.status === 'completed' ? c.completed_at : null} zone={zone} />
        </Fact>
        <Fact name="Time Window">
          {windowOf(c.settings.window)}
          {there !== undefined && ` (${there} there now)`}
        </Fact>
      </dl>
    </Box>
  );
});

/** By is when something was done and by whom; blank when it never was. */
function By({ at, who, zone }: { at: string | null | undefined; who?: Campaign['restarted_by']; zone: string }) {
  // What is null in an answer is absent in what the live stream made of it.
  if (!at) return <VisuallyHidden>never</VisuallyHidden>;
  return (
    <>
      <When at={at} zone={zone} />
      {who && <> by {who.name}</>}
    </>
  );
}

function Fact({
  name,
  figure,
  blank = false,
  children,
}: {
  name: string;
  figure?: string;
  blank?: boolean;
  children: ReactNode;
}) {
  return (
    <div className={css.fact} data-blank={blank || undefined}>
      <dt>{name}</dt>
      <dd data-figure={figure}>{children}</dd>
    </div>
  );
}
