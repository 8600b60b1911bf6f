import { Group, Text } from '@mantine/core';

import type { Campaign } from '../../api/client';
import { Card } from '../../components/card';
import { ProgressBar } from '../../components/progress-bar';
import { Stat, Stats } from '../../components/stat';
import { ToneWord } from '../../components/tone-badge';
import { parts, scope } from '../../words/campaigns';
import { progressOf } from '../../words/commands';
import { count, none, percent, rate, seconds, share } from '../../words/figures';
import { contactStatus } from '../../words/states';
import { AbandonGauge } from './capacity';
import css from './counters.module.css';

/** CountersCard shows the counters of the run; the last three only above zero (spec: Campaign counters and metrics). */
export function CountersCard({ campaign }: { campaign: Campaign }) {
  const k = campaign.counters;
  return (
    <Card title="Contacts" aside={<Outcomes campaign={campaign} />}>
      <ProgressLine campaign={campaign} />
      <Stats figures="any">
        <Stat name="total" label="Total" about="All contacts.">
          {count(k.total)}
        </Stat>
        <Stat name="pending" label="Pending" about="Contacts not yet attempted.">
          {count(k.pending)}
        </Stat>
        <Stat name="connected" label="Connected" about="Contacts whose call reached the bot.">
          {count(k.connected)}
        </Stat>
        <Stat name="completed" label="Completed" about="Contacts whose conversation finished and a result was stored.">
          {count(k.completed)}
        </Stat>
        <Stat name="unanswered" label="Unanswered" about="Contacts that rang and were not answered.">
          {count(k.unanswered)}
        </Stat>
        <Stat name="retries_left" label="Retries Left" about="Attempts still available across the pool.">
          {count(k.retries_left)}
        </Stat>
        <Stat
          name="abandoned"
          label="Abandoned"
          about="Answered calls that found no free worker. They count toward the abandon rate."
          tone={k.abandoned > 0 ? 'orange' : undefined}
        >
          {count(k.abandoned)}
        </Stat>
        {k.machine_detected > 0 && (
          <Stat
            name="machine_detected"
            label="AMD Machine"
            about="Calls detected as an answering machine and torn down."
          >
            {count(k.machine_detected)}
          </Stat>
        )}
        {k.window_closed > 0 && (
          <Stat
            name="window_closed"
            label="Window Closed"
            about="Contacts still waiting when the single-day calling window ended."
          >
            {count(k.window_closed)}
          </Stat>
        )}
        {k.manually_stopped > 0 && (
          <Stat
            name="manually_stopped"
            label="Manually Stopped"
            about="Contacts still waiting when an operator stopped the campaign."
          >
            {count(k.manually_stopped)}
          </Stat>
        )}
        {k.expired > 0 && (
          <Stat
            name="expired"
            label="Expired"
            about="Contacts that were not reached before the time until which they may be called."
          >
            {count(k.expired)}
          </Stat>
        )}
      </Stats>
    </Card>
  );
}

/** ProgressLine shows how many contacts are processed. */
function ProgressLine({ campaign: c }: { campaign: Campaign }) {
  return (
    <div className={css.progress}>
      <Group gap="sm" align="baseline" mb={8}>
        <Text className="figure" fw={650} size="lg" data-figure="progress">
          {scope(c) === 0 ? none : share(c.counters.progress)}
        </Text>
        <Text size="sm" c="dimmed" className="figure">
          {progressOf(c)}
        </Text>
      </Group>
      <ProgressBar campaign={c} height={10} />
      <Finished campaign={c} />
    </div>
  );
}

/**
 * Finished is what the run came to, beside its progress (spec: "For a finished campaign the progress bar also shows").
 */
function Finished({ campaign: c }: { campaign: Campaign }) {
  const t = c.totals;
  if (!t) return null;
  const figures = [
    { name: 'total_connected', label: 'Total connected', value: count(t.total_connected) },
    { name: 'total_dials_per_s', label: 'Dials/sec', value: rate(t.dials_per_s) },
    { name: 'total_connected_per_h', label: 'Connected/hr', value: count(t.connected_per_h) },
    { name: 'total_calls_per_min', label: 'Calls/min', value: rate(t.calls_per_min) },
  ];
  return (
    <dl className={css.totals}>
      {figures.map((f) => (
        <div key={f.name}>
          <dt>{f.label}</dt>
          <dd className="figure" data-figure={f.name}>
            {f.value}
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** Outcomes is the legend of the progress bar. */
function Outcomes({ campaign: c }: { campaign: Campaign }) {
  return (
    <Group gap="md">
      {parts(c).map((p) => (
        <Text component="div" size="xs" c="dimmed" className="figure" key={p.state}>
          <ToneWord tone={contactStatus[p.state].tone} label={`${contactStatus[p.state].label} ${count(p.contacts)}`} />
        </Text>
      ))}
    </Group>
  );
}

/** RatesCard shows what the run's figures are of each other. */
export function RatesCard({ campaign }: { campaign: Campaign }) {
  const k = campaign.counters;
  const cap = campaign.settings.abandon_cap_pct / 100;
  return (
    <Card title="Rates">
      <Stats figures="four">
        <Stat
          name="answer_rate"
          label="Answer Rate %"
          about={`Share of attempts answered, of ${k.decided ?? 0} that can no longer change.`}
        >
          {share(k.answer_rate)}
        </Stat>
        <Stat
          name="completion_rate"
          label="Completion Rate %"
          about={`Share of connected calls that completed a conversation, of ${k.connected_calls ?? 0}.`}
        >
          {share(k.completion_rate)}
        </Stat>
        <Stat
          name="abandon_rate"
          label="Abandon Rate %"
          about={
            `Share of answered calls abandoned because no worker was free, of ${k.live_answers ?? 0}. ` +
            `The campaign's cap is ${percent(cap)}.`
          }
          tone={(k.abandon_rate ?? 0) > cap ? 'red' : undefined}
        >
          {share(k.abandon_rate)}
        </Stat>
        <Stat name="aht_s" label="AHT" about="Average length of a connected conversation.">
          {seconds(k.aht_s)}
        </Stat>
      </Stats>
      {campaign.ever_run && <AbandonGauge campaign={campaign} />}
    </Card>
  );
}
