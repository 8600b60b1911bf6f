import { Anchor, Box, Group, Text } from '@mantine/core';
import { Link } from 'wouter';

import type { Campaign } from '../../api/client';
import { Card } from '../../components/card';
import { Stat, Stats } from '../../components/stat';
import { ToneBadge } from '../../components/tone-badge';
import { StateLine } from '../../components/state-line';
import { Age, useSeconds } from '../../components/when';
import { remedyOf, whyOf } from '../../words/constraints';
import { count, eta, none, rate, seconds, share } from '../../words/figures';
import { indicator } from '../../words/states';
import { CapacityBar } from './capacity';
import css from './live-card.module.css';

/** The age from which the last dial is shown as overdue (spec: "turns orange beyond 30 seconds"). */
const overdueS = 30;

/** LiveCard shows what the dialler does now, and why it does not do more. */
export function LiveCard({ campaign: c }: { campaign: Campaign }) {
  const live = c.live;
  const shown = indicator(c);
  const why = whyOf(c);
  const remedy = remedyOf(c);
  const ends = eta(live?.eta_s);
  return (
    <Card
      title="Live activity"
      aside={
        <Group gap="sm">
          {ends !== undefined && (
            <Text size="sm" c="dimmed" className="figure" title="Until the run is expected to end, at the present rate">
              ETA <span data-figure="eta">{ends}</span>
            </Text>
          )}
          {shown && <ToneBadge tone={shown.tone} label={shown.label} alive={shown.tone === 'green'} />}
        </Group>
      }
    >
      <Stats figures="six">
        <Stat name="ringing" label="Ringing" about="Lines ringing now.">
          {count(live?.ringing)}
        </Stat>
        <Stat name="in_progress" label="In Progress" about="Conversations with the bot now.">
          {count(live?.in_progress)}
        </Stat>
        <Stat
          name="dials_per_s"
          label="Dials/sec"
          about="Calls placed per second, over the last 60 seconds; -- when idle."
        >
          {rate(live?.dials_per_s)}
        </Stat>
        <Stat
          name="connected_per_h"
          label="Connected/hr"
          about="Calls that reached the bot per hour, over the last 60 seconds; -- when idle."
        >
          {count(live?.connected_per_h)}
        </Stat>
        <Stat
          name="avg_ring_s"
          label="Avg Ring Time"
          about="From the dial to the answer or the end of ringing, over the last 60 seconds."
        >
          {seconds(live?.avg_ring_s)}
        </Stat>
        <LastDial at={live?.last_dial_at} />
      </Stats>
      {why && (
        <Box className={css.why} data-constraint={live?.constraint}>
          <Text size="sm">
            <Text span c="dimmed" mr={8}>
              {why.normal ? 'Limited by' : 'Why it is not dialling'}
            </Text>
            <Text span fw={600}>
              {why.title}.
            </Text>{' '}
            {why.sentence}
            {live?.constraint_share !== undefined &&
              live.constraint_share < 0.995 &&
              ` For ${share(live.constraint_share)} of the last 10 seconds.`}{' '}
            {remedy && (
              <Anchor component={Link} href={remedy.page} inherit underline="always">
                {remedy.label}
              </Anchor>
            )}
          </Text>
          <StateLine campaign={c} />
        </Box>
      )}
      {live && live.resources.length > 0 && <CapacityBar of={live.resources} />}
    </Card>
  );
}

function LastDial({ at }: { at: string | undefined }) {
  const now = useSeconds();
  const overdue = at !== undefined && now - Date.parse(at) / 1000 > overdueS;
  return (
    <Stat
      name="last_dial"
      label="Last Dial"
      about="Age of the last placed call; orange beyond 30 seconds."
      tone={overdue ? 'orange' : undefined}
    >
      {at === undefined ? none : <Age at={at} />}
    </Stat>
  );
}
