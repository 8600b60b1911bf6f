import { Anchor, Box, Group, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'wouter';

import type { Campaign } from '../../api/client';
import { CampaignBadges } from '../../components/campaign-badges';
import { CopyControl } from '../../components/copy-control';
import { LeftIcon } from '../../components/icons';
import { When, useNow } from '../../components/when';
import { minuteOf, viewerZone, windowOf } from '../../words/times';
import css from './campaign-header.module.css';
import { CommandBar } from './command-bar';

/** CampaignHeader names the campaign, says what state it is in and since when, and holds what can be done to it. */
export function CampaignHeader({ campaign: c }: { campaign: Campaign }) {
  const zone = c.settings.window.zone;
  const now = useNow();
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
            <CampaignBadges campaign={c} />
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
        <Fact name="Run">{c.run}</Fact>
        <Fact name="Bot">{c.settings.bot_id}</Fact>
        <Fact name="Created">
          <When at={c.created_at} zone={zone} /> by {c.created_by.name}
        </Fact>
        {c.started_at && (
          <Fact name="Current Run">
            <When at={c.started_at} zone={zone} />
          </Fact>
        )}
        {c.restarted_at && (
          <Fact name="Restarted">
            <When at={c.restarted_at} zone={zone} />
            {c.restarted_by && <> by {c.restarted_by.name}</>}
          </Fact>
        )}
        {c.completed_at && c.status === 'completed' && (
          <Fact name="Completed">
            <When at={c.completed_at} zone={zone} />
          </Fact>
        )}
        <Fact name="Time Window">
          {windowOf(c.settings.window)}
          {there !== undefined && ` (${there} there now)`}
        </Fact>
        <Fact name="Concurrency">{c.settings.concurrency}</Fact>
        <Fact name="Max Attempts">{c.settings.max_attempts}</Fact>
      </dl>
    </Box>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className={css.fact}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
