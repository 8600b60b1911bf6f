import { Alert, Anchor, Button, Center, Fieldset, Grid, Group, Loader, NumberInput, Paper, SegmentedControl, SimpleGrid, Stack, Table, Text, TextInput, Title, Tooltip } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { Link } from 'wouter';

import type { Campaign } from '../../api/client';
import { api, data } from '../../api/client';
import { mistakes } from '../../api/mistakes';
import type { Problem } from '../../api/problem';
import { useCampaign } from '../../api/queries';
import { Card } from '../../components/card';
import { Failure } from '../../components/failure';
import { InfoIcon, LeftIcon } from '../../components/icons';
import { PageBody } from '../../components/page';
import type { Line } from '../../components/plot';
import { Plot } from '../../components/plot';
import { When } from '../../components/when';
import { count, percent, plural, seconds } from '../../words/figures';
import type { Asked, Side, Simulation, Values } from '../../words/simulation';
import { change, ended, rows, valuesOf, whatIf } from '../../words/simulation';
import { NotFoundPage } from '../not-found-page';
import css from './simulation.module.css';

/** SimulationPage asks what would become of the campaign's list by other settings. */
export default function SimulationPage({ params }: { params: Record<string, string> }) {
  const id = decodeURIComponent(params['id'] ?? '');
  const { data: campaign, error, link, refetch } = useCampaign(id);
  if (link === 'gone' || error?.status === 404) return <NotFoundPage what="campaign" />;
  const waiting = error ? <Failure title="The campaign cannot be shown" problem={error} retry={() => void refetch()} /> : <Wait />;
  return (
    <PageBody title={campaign === undefined ? 'What if?' : `What if? ${campaign.settings.name}`}>
      <Stack gap="md">
        {campaign !== undefined && (
          <div>
            <Anchor component={Link} href={`/campaigns/${encodeURIComponent(id)}`} size="sm" c="dimmed" display="inline-flex" style={{ alignItems: 'center', gap: 4 }}>
              <LeftIcon size={14} /> {campaign.settings.name}
            </Anchor>
            <Title order={1} size="h2" mt={4}>
              What if?
            </Title>
            <Text c="dimmed" size="sm">
              The contacts that are left are dialled on a virtual clock, by the rules and the pacing of the real engine. Nothing is called, and nothing changes.
            </Text>
          </div>
        )}
        {campaign === undefined ? waiting : <Simulate key={id} campaign={campaign} />}
      </Stack>
    </PageBody>
  );
}

function Wait() {
  return (
    <Center h="40vh">
      <Loader aria-label="Simulating" />
    </Center>
  );
}

/** useSimulation asks for one; leaving the page, or cancelling, ends it in the engine too. */
function useSimulation(id: string, asked: Asked) {
  return useQuery<Simulation, Problem>({
    queryKey: ['simulation', id, asked],
    queryFn: ({ signal }) => data(api.POST('/api/v1/campaigns/{campaign_id}/simulate', { params: { path: { campaign_id: id } }, body: asked, signal })),
    staleTime: Infinity,
    gcTime: 0,
    retry: false,
  });
}

/** Simulate plays the campaign as it is first: what comes of that is what the form begins with. */
function Simulate({ campaign: c }: { campaign: Campaign }) {
  const first = useSimulation(c.campaign_id, {});
  if (first.error) return <Failure title="The campaign could not be simulated" problem={first.error} retry={() => void first.refetch()} />;
  if (first.data === undefined) return <Wait />;
  return <Compare campaign={c} first={first.data} />;
}

const fields = ['what_if.seats', 'what_if.concurrency', 'what_if.abandon_cap_pct', 'what_if.max_attempts', 'what_if.retry_delay_s', 'what_if.ring_timeout_s', 'what_if.window', 'people.answer_rate', 'people.talk_s', 'contacts'];

interface People {
  answer: number; // per cent
  talk: number; // s
}

function Compare({ campaign: c, first }: { campaign: Campaign; first: Simulation }) {
  const is = first.as_is.settings;
  const [values, setValues] = useState<Values>(() => valuesOf(is));
  const [people, setPeople] = useState<People>(() => ({ answer: Math.round(first.people.answer_rate * 1000) / 10, talk: first.people.talk_s }));
  const [contacts, setContacts] = useState(first.contacts);
  const [asked, setAsked] = useState<Asked>();
  const [shown, setShown] = useState(first);
  const client = useQueryClient();
  const run = useQuery<Simulation, Problem>({
    queryKey: ['simulation', c.campaign_id, asked],
    enabled: asked !== undefined,
    queryFn: async ({ signal }) => {
      const got = await data(api.POST('/api/v1/campaigns/{campaign_id}/simulate', { params: { path: { campaign_id: c.campaign_id } }, body: asked ?? {}, signal }));
      setShown(got);
      return got;
    },
    staleTime: 0,
    gcTime: 0,
    retry: false,
  });
  const set = (v: Partial<Values>) => setValues((old) => ({ ...old, ...v }));
  const wrong = mistakes(run.error, ...fields);
  const busy = run.isFetching;
  const play = () => {
    const edited = people.answer !== Math.round(first.people.answer_rate * 1000) / 10 || people.talk !== first.people.talk_s;
    const next: Asked = {
      seed: first.seed,
      start_at: first.start_at,
      contacts,
      ...(contacts === first.contacts ? { attempts_used: first.attempts_used } : {}),
      ...(edited ? { people: { answer_rate: people.answer / 100, talk_s: people.talk } } : {}),
      what_if: whatIf(is, values),
    };
    if (JSON.stringify(next) === JSON.stringify(asked)) void run.refetch();
    else setAsked(next);
  };
  return (
    <Grid gap="md">
      <Grid.Col span={{ base: 12, lg: 4 }}>
        <Paper
          withBorder
          p="md"
          component="form"
          onSubmit={(e) => {
            e.preventDefault();
            play();
          }}
        >
          <Stack gap="sm">
            <Fieldset legend="Capacity" variant="unstyled">
              <SimpleGrid cols={2}>
                <Figure label="Seats of the bot" value={values.seats} change={(seats) => set({ seats })} error={wrong.of('what_if.seats')} />
                <Figure label="Concurrency" value={values.concurrency} change={(concurrency) => set({ concurrency })} error={wrong.of('what_if.concurrency')} />
              </SimpleGrid>
            </Fieldset>
            <Fieldset legend="Pacing" variant="unstyled">
              <Stack gap="xs">
                <SegmentedControl
                  fullWidth
                  size="xs"
                  aria-label="Pacing"
                  value={values.pacing_mode}
                  onChange={(v) => set({ pacing_mode: v })}
                  data={[
                    { value: 'strict', label: 'Strict' },
                    { value: 'hybrid', label: 'Hybrid' },
                    { value: 'progressive', label: 'Progressive' },
                  ]}
                />
                <SimpleGrid cols={2}>
                  <Figure label="Abandon cap" suffix=" %" decimals value={values.abandon_cap_pct} change={(abandon_cap_pct) => set({ abandon_cap_pct })} error={wrong.of('what_if.abandon_cap_pct')} />
                  <Figure label="Ring time-out" suffix=" s" value={values.ring_timeout_s} change={(ring_timeout_s) => set({ ring_timeout_s })} error={wrong.of('what_if.ring_timeout_s')} />
                </SimpleGrid>
              </Stack>
            </Fieldset>
            <Fieldset legend="Attempts and window" variant="unstyled">
              <SimpleGrid cols={2}>
                <Figure label="Max attempts" value={values.max_attempts} change={(max_attempts) => set({ max_attempts })} error={wrong.of('what_if.max_attempts')} />
                <Figure label="Retry delay" suffix=" min" decimals value={values.retry_delay_min} change={(retry_delay_min) => set({ retry_delay_min })} error={wrong.of('what_if.retry_delay_s')} />
                <TextInput label="From" type="time" required withAsterisk={false} value={values.start} onChange={(e) => set({ start: e.currentTarget.value })} error={wrong.of('what_if.window')} />
                <TextInput label="Until" type="time" required withAsterisk={false} value={values.end} onChange={(e) => set({ end: e.currentTarget.value })} />
              </SimpleGrid>
            </Fieldset>
            <Fieldset legend="People and list" variant="unstyled">
              <SimpleGrid cols={2}>
                <Figure label="Dials answered" suffix=" %" decimals value={people.answer} change={(answer) => setPeople((p) => ({ ...p, answer }))} error={wrong.of('people.answer_rate')} />
                <Figure label="Conversation" suffix=" s" decimals value={people.talk} change={(talk) => setPeople((p) => ({ ...p, talk }))} error={wrong.of('people.talk_s')} />
                <Figure label="Contacts left" value={contacts} change={setContacts} error={wrong.of('contacts')} />
              </SimpleGrid>
              <Text size="xs" c="dimmed" mt="xs">
                {first.people.source === 'measured' ? `Measured on the latest ${plural(first.people.attempts, 'attempt')} of this campaign.` : 'Usual values: this campaign has not dialled enough to be measured.'}
              </Text>
            </Fieldset>
            <Group gap="xs">
              <Button type="submit" loading={busy}>
                Simulate
              </Button>
              {busy ? (
                <Button variant="default" onClick={() => void client.cancelQueries({ queryKey: ['simulation', c.campaign_id] })}>
                  Cancel
                </Button>
              ) : (
                <Button
                  variant="default"
                  onClick={() => {
                    setValues(valuesOf(is));
                    setPeople({ answer: Math.round(first.people.answer_rate * 1000) / 10, talk: first.people.talk_s });
                    setContacts(first.contacts);
                  }}
                >
                  As it is
                </Button>
              )}
            </Group>
          </Stack>
        </Paper>
      </Grid.Col>
      <Grid.Col span={{ base: 12, lg: 8 }}>
        <Stack gap="md" aria-busy={busy}>
          {wrong.rest && <Failure title="That was not simulated" problem={wrong.rest} retry={play} />}
          <Figures shown={shown} zone={c.settings.window.zone} />
          <Plots shown={shown} />
        </Stack>
      </Grid.Col>
    </Grid>
  );
}

function Figure({ label, value, change: set, suffix, decimals = false, error }: { label: string; value: number; change: (v: number) => void; suffix?: string; decimals?: boolean; error?: string | undefined }) {
  return <NumberInput label={label} value={Number.isFinite(value) ? value : ''} allowDecimal={decimals} decimalScale={2} allowNegative={false} hideControls required withAsterisk={false} {...(suffix === undefined ? {} : { suffix })} onChange={(x) => set(x === '' ? NaN : Number(x))} error={error} />;
}

const toneOf = { more: (d: number) => (d > 0 ? 'green' : 'red'), less: (d: number) => (d < 0 ? 'green' : 'red') } as const;

/** Figures compares both sides, figure by figure. */
function Figures({ shown: s, zone }: { shown: Simulation; zone: string }) {
  const a = s.as_is.summary;
  const b = s.what_if?.summary;
  const last = (b ?? a).ended;
  return (
    <Card title="Outcome">
      <Table.ScrollContainer type="native" minWidth={320} tabIndex={0} role="region" aria-label="Figures of both sides">
        <Table horizontalSpacing="xs" fz="sm" aria-label="Outcome of the simulation">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Figure</Table.Th>
              <Table.Th ta="right">As it is</Table.Th>
              {b && <Table.Th ta="right">What if</Table.Th>}
              {b && <Table.Th ta="right">Change</Table.Th>}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {rows.map((r) => {
              const [was, is] = [r.of(a), b && r.of(b)];
              const by = b && change(was, is);
              const tone = by && by !== 'same' && r.better && typeof was === 'number' && typeof is === 'number' ? toneOf[r.better](is - was) : undefined;
              return (
                <Table.Tr key={r.name} data-row={r.name}>
                  <Table.Th fw={400} scope="row">
                    <Tooltip label={r.about}>
                      <span>{r.label}</span>
                    </Tooltip>
                  </Table.Th>
                  <Table.Td ta="right" className="figure" data-figure={`as_is_${r.name}`}>
                    {r.write(was)}
                  </Table.Td>
                  {b && (
                    <Table.Td ta="right" className="figure" data-figure={`what_if_${r.name}`}>
                      {r.write(is)}
                    </Table.Td>
                  )}
                  {b && (
                    <Table.Td ta="right" className="figure">
                      <span data-tone={tone} style={tone === undefined ? undefined : { color: 'var(--tone-text)' }}>
                        {by ?? ''}
                      </span>
                    </Table.Td>
                  )}
                </Table.Tr>
              );
            })}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      <Text size="xs" c="dimmed" px="md" py="sm">
        {ended[last]} {plural(s.contacts, 'contact')} from <When at={s.start_at} zone={zone} />; {percent(s.people.answer_rate)} of dials are answered after {seconds(s.people.ring_s)}, a conversation takes{' '}
        {seconds(s.people.talk_s)}
        {s.people.machine_share > 0 && <>, {percent(s.people.machine_share)} of answers are machines</>}. The abandon allowance begins anew. Seed {count(s.seed)}: asked again, the figures are the same.
      </Text>
      {!s.what_if && (
        <Alert variant="light" icon={<InfoIcon />} m="md" mt={0} p="xs">
          <Text size="sm">Change a value on the form and press Simulate to compare.</Text>
        </Alert>
      )}
    </Card>
  );
}

type Column = 'busy_pct' | 'dials_per_s' | 'connected' | 'abandon_pct' | 'contacts_left';

const plots: { column: Column; title: string; unit?: string }[] = [
  { column: 'busy_pct', title: 'Seats busy', unit: ' %' },
  { column: 'dials_per_s', title: 'Dials a second' },
  { column: 'connected', title: 'Conversations so far' },
  { column: 'contacts_left', title: 'Contacts left' },
  { column: 'abandon_pct', title: 'Abandoned so far', unit: ' %' },
];

function lineOf(side: Side, column: Column, start: number, name: string, tone: Line['tone'], dashed: boolean): Line {
  return { name, tone, dashed, x: side.series.at_s.map((s) => start + s), y: side.series[column] };
}

function Plots({ shown: s }: { shown: Simulation }) {
  const drawn = useMemo(() => {
    const start = Date.parse(s.start_at) / 1000;
    return plots.map((p) => ({
      ...p,
      lines: [lineOf(s.as_is, p.column, start, 'As it is', 'blue', false), ...(s.what_if ? [lineOf(s.what_if, p.column, start, 'What if', 'orange', false)] : [])],
    }));
  }, [s]);
  const cap = (s.what_if ?? s.as_is).settings.abandon_cap_pct;
  const limit = useMemo(() => ({ name: `Cap ${percent(cap / 100)}`, at: cap }), [cap]);
  return (
    <Card title="Course">
      <div className={css.plots}>
        {drawn.map((p) => (
          <Plot key={p.column} title={p.title} lines={p.lines} zone={s.as_is.settings.window.zone} {...(p.unit === undefined ? {} : { unit: p.unit })} {...(p.column === 'abandon_pct' ? { limit } : {})} />
        ))}
      </div>
    </Card>
  );
}
