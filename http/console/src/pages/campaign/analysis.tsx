import { Box, Grid, Group, NativeSelect, SegmentedControl, Skeleton, Stack, Table, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Suspense, memo, useMemo, useRef, useState } from 'react';

import type { Campaign, Schemas } from '../../api/client';
import type { ChartOf } from '../../api/queries';
import { useBreakdown, useSeries, useTail } from '../../api/queries';
import { Card } from '../../components/card';
import { code } from '../../components/code';
import { Failure } from '../../components/failure';
import { Later, useSeen } from '../../components/later';
import { ToneBadge, ToneWord } from '../../components/tone-badge';
import { count, none, plural, rate, share } from '../../words/figures';
import { extended, heardWithin, lastCalls, pointsOf, stepsOf, summaryOf } from '../../words/series';
import type { Tone } from '../../words/states';
import { named, outcome } from '../../words/states';
import { exact, viewerZone } from '../../words/times';
import css from './analysis.module.css';

/** The library that draws comes when somebody looks at a campaign that has run. */
const { Show: Charts } = code(() => import('./charts'));

const spans = [
  { value: '0', label: 'Whole run' },
  { value: '3600', label: 'Last hour' },
  { value: '900', label: '15 min' },
];

/** Analysis shows how a run goes, or went: over its time, and by what its dials came to. */
export function Analysis({ campaign: c }: { campaign: Campaign }) {
  const [chosen, setRun] = useState<number | null>(null);
  const run = Math.min(chosen ?? c.run, c.run);
  const open = run === c.run && (c.status === 'running' || c.status === 'paused');
  return (
    <>
      <ChartsCard
        key={run}
        campaign={c}
        run={run}
        open={open}
        choose={
          c.run > 1 && (
            <NativeSelect
              size="xs"
              aria-label="Run"
              value={String(run)}
              onChange={(e) => setRun(Number(e.currentTarget.value))}
              data={Array.from({ length: c.run }, (_, i) => c.run - i).map((n) => ({
                value: String(n),
                label: n === c.run ? `Run ${n} (present)` : `Run ${n}`,
              }))}
            />
          )
        }
      />
      <Later height={470}>
        <Breakdown id={c.campaign_id} run={run} open={open} />
      </Later>
    </>
  );
}

function ChartsCard({
  campaign: c,
  run,
  open,
  choose,
}: {
  campaign: Campaign;
  run: number;
  open: boolean;
  choose: ReactNode;
}) {
  const [last, setLast] = useState('0');
  const of: ChartOf = { run, last: open ? Number(last) : 0, open };
  const place = useRef<HTMLDivElement>(null);
  const seen = useSeen(place);
  const { data: series, error, refetch } = useSeries(c.campaign_id, of, seen);
  const tail = useTail(c.campaign_id);
  const points = useMemo(() => {
    if (series === undefined) return [];
    const counted = pointsOf(series, open, 1, lastCalls);
    return open ? extended(counted, series, tail) : counted;
  }, [series, open, tail]);
  const dialled = series?.dials.some((n) => n > 0) ?? false;
  return (
    <Card
      place={place}
      title="Timeline"
      aside={
        <Group gap="xs">
          {open && <SegmentedControl size="xs" aria-label="Time shown" value={last} onChange={setLast} data={spans} />}
          {choose}
        </Group>
      }
    >
      {error && series === undefined && (
        <Box p="md">
          <Failure title="The charts cannot be drawn" problem={error} retry={() => void refetch()} />
        </Box>
      )}
      {!error && series === undefined && <Skeleton height={380} m="md" />}
      {series !== undefined && !dialled && (
        <Text size="sm" c="dimmed" p="md">
          {last === '0' || !open
            ? 'No calls yet. Charts appear with the first call.'
            : 'No call was placed in this time. Choose Whole run to see the calls before.'}
        </Text>
      )}
      {series !== undefined && dialled && (
        <>
          <Suspense fallback={<Skeleton height={380} m="md" />}>
            <Charts points={points} cap={c.settings.abandon_cap_pct / 100} seen={seen} />
          </Suspense>
          <Text size="xs" c="dimmed" px="md" pb="sm" className="figure" data-summary>
            {summaryOf(series, points)} Times are of {viewerZone}.
          </Text>
          <AsTable series={series} open={open} />
        </>
      )}
    </Card>
  );
}

/** AsTable has the figures of the charts for whoever cannot see them. */
function AsTable({ series, open }: { series: Schemas['Series']; open: boolean }) {
  const [wanted, setWanted] = useState(false);
  return (
    <details className={css.table} onToggle={(e) => setWanted(e.currentTarget.open)}>
      <summary>Show as a table</summary>
      {wanted && (
        <Table.ScrollContainer
          type="native"
          minWidth={560}
          tabIndex={0}
          role="region"
          aria-label="The run as a table, scrollable"
        >
          <Table fz="sm" horizontalSpacing="md" aria-label="The run over its time">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Time</Table.Th>
                <Table.Th ta="right">Dials/s</Table.Th>
                <Table.Th ta="right">Ringing</Table.Th>
                <Table.Th ta="right">Connected</Table.Th>
                <Table.Th ta="right">Answer rate</Table.Th>
                <Table.Th ta="right">Abandon rate</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {stepsOf(series, open, 24).map((p) => (
                <Table.Tr key={p.at} className="figure">
                  <Table.Td>{exact(new Date(p.at * 1000))}</Table.Td>
                  <Table.Td ta="right">{rate(p.dialsPerS)}</Table.Td>
                  <Table.Td ta="right">{rate(p.ringing)}</Table.Td>
                  <Table.Td ta="right">{rate(p.connected)}</Table.Td>
                  <Table.Td ta="right">{share(p.answerRate)}</Table.Td>
                  <Table.Td ta="right">{share(p.abandonRate)}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
    </details>
  );
}

const Breakdown = memo(function Breakdown({ id, run, open }: { id: string; run: number; open: boolean }) {
  const place = useRef<HTMLDivElement>(null);
  const { data: b, error, refetch } = useBreakdown(id, run, open, useSeen(place));
  if (error && b === undefined)
    return <Failure title="Call results could not be loaded" problem={error} retry={() => void refetch()} />;
  return (
    <Grid gap="md" ref={place}>
      <Grid.Col span={{ base: 12, lg: 6 }}>
        <Card title="How calls ended" aside={b && <Aside text={plural(b.dials, 'call')} />}>
          {b === undefined ? <Skeleton height={160} m="md" /> : <Causes breakdown={b} />}
        </Card>
      </Grid.Col>
      <Grid.Col span={{ base: 12, lg: 6 }}>
        <Stack gap="md">
          <Card
            title="Number health"
            aside={b && b.numbers.length > 0 && <Aside text={plural(b.numbers.length, 'caller ID')} />}
          >
            {b === undefined ? <Skeleton height={80} m="md" /> : <Numbers breakdown={b} />}
          </Card>
          <Card title="Time to first audio">
            {b === undefined ? <Skeleton height={160} m="md" /> : <FirstAudio breakdown={b} />}
          </Card>
        </Stack>
      </Grid.Col>
    </Grid>
  );
});

function Aside({ text }: { text: string }) {
  return (
    <Text size="xs" c="dimmed" className="figure">
      {text}
    </Text>
  );
}

function Nothing({ children }: { children: string }) {
  return (
    <Text size="sm" c="dimmed" p="md">
      {children}
    </Text>
  );
}

/** Causes lists the final SIP codes with what they came to. */
function Causes({ breakdown: b }: { breakdown: Schemas['Breakdown'] }) {
  if (b.sip_causes.length === 0)
    return (
      <Nothing>
        As calls end, the carrier&apos;s final codes are counted here, each with what the dialler made of it.
      </Nothing>
    );
  return (
    <Table.ScrollContainer
      type="native"
      minWidth={430}
      maxHeight={460}
      tabIndex={0}
      role="region"
      aria-label="Final SIP codes, scrollable"
    >
      <Table fz="sm" horizontalSpacing="md" aria-label="Final SIP codes">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Final code</Table.Th>
            <Table.Th>Outcome</Table.Th>
            <Table.Th ta="right">Calls</Table.Th>
            <Table.Th ta="right">Share</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {b.sip_causes.map((cause) => {
            const { label, tone } = named(outcome, cause.outcome);
            return (
              <Table.Tr key={`${cause.sip_code} ${cause.outcome}`} data-cause={`${cause.sip_code} ${cause.outcome}`}>
                <Table.Td>
                  {cause.sip_code === 0 ? (
                    'No final answer'
                  ) : (
                    <>
                      <b className="figure">{cause.sip_code}</b> {cause.sip_reason}
                    </>
                  )}
                </Table.Td>
                <Table.Td>
                  <ToneWord tone={tone} label={label} />
                </Table.Td>
                <Table.Td ta="right" className="figure">
                  {count(cause.count)}
                </Table.Td>
                <Table.Td ta="right" className={`figure ${css.share}`}>
                  <span className={css.bar} data-tone={tone} style={{ width: `${cause.share * 100}%` }} />
                  <span>{share(cause.share)}</span>
                </Table.Td>
              </Table.Tr>
            );
          })}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

const numberTones: Record<string, Tone> = { active: 'green', resting: 'amber', quarantined: 'red', retired: 'grey' };

/** Numbers lists the caller IDs of the run with how they fare. */
function Numbers({ breakdown: b }: { breakdown: Schemas['Breakdown'] }) {
  if (b.numbers.length === 0)
    return (
      <Nothing>
        Once calls have ended, each caller ID stands here with its dials, its answer rate and whether it is quarantined.
      </Nothing>
    );
  return (
    <Table.ScrollContainer
      type="native"
      minWidth={430}
      maxHeight={300}
      tabIndex={0}
      role="region"
      aria-label="Caller IDs, scrollable"
    >
      <Table fz="sm" horizontalSpacing="md" aria-label="Number health">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Caller ID</Table.Th>
            <Table.Th>State</Table.Th>
            <Table.Th ta="right">Dials</Table.Th>
            <Table.Th ta="right">Answer rate</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {b.numbers.map((n) => (
            <Table.Tr key={n.number} data-number={n.number}>
              <Table.Td className="figure">{n.number}</Table.Td>
              <Table.Td>
                <Group gap={6} wrap="nowrap">
                  <ToneBadge
                    tone={numberTones[n.state] ?? 'grey'}
                    label={n.state.charAt(0).toUpperCase() + n.state.slice(1)}
                  />
                  {n.strikes > 0 && (
                    <Text
                      span
                      size="xs"
                      c="dimmed"
                      title="Caller ID refused in so many of the last 20 calls. At 5 the number is quarantined."
                    >
                      {plural(n.strikes, 'strike')}
                    </Text>
                  )}
                </Group>
              </Table.Td>
              <Table.Td ta="right" className="figure">
                {count(n.dials)}
              </Table.Td>
              <Table.Td
                ta="right"
                className="figure"
                title={`Of ${plural(n.decided, 'call')} that can no longer change`}
              >
                {share(n.answer_rate)}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

/** FirstAudio shows how long callees wait for the bot's first sound. */
function FirstAudio({ breakdown: b }: { breakdown: Schemas['Breakdown'] }) {
  const bars = b.first_audio;
  const all = bars.reduce((n, x) => n + x.count, 0);
  if (all === 0)
    return (
      <Nothing>
        How long callees wait from their answer until they hear the bot is counted here from the first conversation on.
        Silence of more than a second makes people hang up.
      </Nothing>
    );
  const most = Math.max(...bars.map((x) => x.count));
  const within = (part: number) => {
    const bound = heardWithin(bars, part);
    return bound === undefined
      ? none
      : bound === null
        ? 'more than 5 s'
        : bound < 1000
          ? `${bound} ms`
          : `${bound / 1000} s`;
  };
  return (
    <div className={css.heard}>
      <Text size="sm" className="figure">
        Half within <b data-figure="heard_half">{within(0.5)}</b>, 95 of 100 within{' '}
        <b data-figure="heard_95">{within(0.95)}</b>{' '}
        <Text span inherit c="dimmed">
          ({plural(all, 'call')})
        </Text>
      </Text>
      <ol className={css.columns} aria-label="Calls by the time from the answer to the first sound">
        {bars.map((x, i) => {
          const label = x.up_to_ms === null ? '> 5' : String(x.up_to_ms / 1000);
          const slow = (bars[i - 1]?.up_to_ms ?? 0) >= 1000;
          return (
            <li
              key={label}
              title={
                `${x.up_to_ms === null ? 'More than 5 s' : `Up to ${x.up_to_ms / 1000} s`}: ` + plural(x.count, 'call')
              }
            >
              <span
                className={css.column}
                data-tone={slow ? 'amber' : 'teal'}
                style={{ height: `${(x.count / most) * 110}px` }}
                data-empty={x.count === 0 || undefined}
              />
              <span className={css.bound}>
                <span className={css.unseen}>{x.up_to_ms === null ? 'Longer: ' : 'Up to '}</span>
                {label}
                <span className={css.unseen}> s: {plural(x.count, 'call')}</span>
              </span>
            </li>
          );
        })}
      </ol>
      <Text size="xs" c="dimmed" ta="center" aria-hidden>
        seconds
      </Text>
    </div>
  );
}
