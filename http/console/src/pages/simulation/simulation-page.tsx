import {
  Alert,
  Anchor,
  Button,
  Center,
  Fieldset,
  Grid,
  Group,
  Loader,
  NumberInput,
  Paper,
  SegmentedControl,
  SimpleGrid,
  Stack,
  Table,
  Text,
  TextInput,
  Title,
  Tooltip,
} from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { Link } from 'wouter';

import type { Campaign, Schemas } from '../../api/client';
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
import {
  apart,
  askedFields,
  between,
  change,
  ended,
  people as peopleWords,
  rows,
  trusted,
  valueOf,
  whatIf,
} from '../../words/simulation';
import { nameOf, rowOf, spoken, suffixOf } from '../../words/settings';
import { NotFoundPage } from '../not-found-page';
import css from './simulation.module.css';

/** SimulationPage asks what would become of the campaign's list by other settings. */
export default function SimulationPage({ params }: { params: Record<string, string> }) {
  const id = decodeURIComponent(params['id'] ?? '');
  const { data: campaign, error, link, refetch } = useCampaign(id);
  if (link === 'gone' || error?.status === 404) return <NotFoundPage what="campaign" />;
  const waiting = error ? (
    <Failure title="The campaign cannot be shown" problem={error} retry={() => void refetch()} />
  ) : (
    <Wait />
  );
  return (
    <PageBody title={campaign === undefined ? 'What if?' : `What if? ${campaign.settings.name}`}>
      <Stack gap="md">
        {campaign !== undefined && (
          <div>
            <Anchor
              component={Link}
              href={`/campaigns/${encodeURIComponent(id)}`}
              size="sm"
              c="dimmed"
              display="inline-flex"
              style={{ alignItems: 'center', gap: 4 }}
            >
              <LeftIcon size={14} /> {campaign.settings.name}
            </Anchor>
            <Title order={1} size="h2" mt={4}>
              What if?
            </Title>
            <Text c="dimmed" size="sm">
              The contacts that are left are dialled on a virtual clock, by the rules and the pacing of the real engine.
              Nothing is called, and nothing changes.
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
    queryFn: ({ signal }) =>
      data(
        api.POST('/api/v1/campaigns/{campaign_id}/simulate', {
          params: { path: { campaign_id: id } },
          body: asked,
          signal,
        }),
      ),
    staleTime: Infinity,
    gcTime: 0,
    retry: false,
  });
}

/** Simulate plays the campaign as it is first: what comes of that is what the form begins with. */
function Simulate({ campaign: c }: { campaign: Campaign }) {
  const first = useSimulation(c.campaign_id, {});
  if (first.error)
    return (
      <Failure title="The campaign could not be simulated" problem={first.error} retry={() => void first.refetch()} />
    );
  if (first.data === undefined) return <Wait />;
  return <Compare campaign={c} first={first.data} />;
}

/** Settings that are numbers and may be changed. */
type NumberSetting = { [K in keyof Values]: Values[K] extends number ? K : never }[keyof Values];

interface People {
  answer: number; // per cent
  talk: number; // s
}

/** moved gives the figures of people that were changed; the others stay as they were measured. */
function moved(first: Simulation, p: People): NonNullable<Asked['people']> {
  return {
    ...(p.answer === Math.round(first.people.answer_rate * 1000) / 10 ? {} : { answer_rate: p.answer / 100 }),
    ...(p.talk === first.people.talk_s ? {} : { talk_s: p.talk }),
  };
}

function Compare({ campaign: c, first }: { campaign: Campaign; first: Simulation }) {
  const is = first.as_is.settings;
  const [values, setValues] = useState<Values>(is);
  const [people, setPeople] = useState<People>(() => ({
    answer: Math.round(first.people.answer_rate * 1000) / 10,
    talk: first.people.talk_s,
  }));
  const [contacts, setContacts] = useState(first.contacts);
  const [asked, setAsked] = useState<Asked>();
  const [shown, setShown] = useState(first);
  const client = useQueryClient();
  const run = useQuery<Simulation, Problem>({
    queryKey: ['simulation', c.campaign_id, asked],
    enabled: asked !== undefined,
    queryFn: async ({ signal }) => {
      const got = await data(
        api.POST('/api/v1/campaigns/{campaign_id}/simulate', {
          params: { path: { campaign_id: c.campaign_id } },
          body: asked ?? {},
          signal,
        }),
      );
      setShown(got);
      return got;
    },
    staleTime: 0,
    gcTime: 0,
    retry: false,
  });
  const set = (v: Partial<Values>) => setValues((old) => ({ ...old, ...v }));
  const wrong = mistakes(run.error, ...askedFields);
  const busy = run.isFetching;
  const play = () => {
    const edited =
      people.answer !== Math.round(first.people.answer_rate * 1000) / 10 || people.talk !== first.people.talk_s;
    const next: Asked = {
      seed: first.seed,
      as_of: first.as_of,
      ...(contacts === first.contacts ? {} : { contacts }),
      ...(edited ? { people: moved(first, people) } : {}),
      what_if: whatIf(is, values),
    };
    if (JSON.stringify(next) === JSON.stringify(asked)) void run.refetch();
    else setAsked(next);
  };
  const setting = (name: NumberSetting) => {
    const f = rowOf(name);
    const per = f?.shown ?? 1;
    const suffix = f && suffixOf(f);
    return (
      <Figure
        label={spoken(nameOf(name))}
        {...(suffix === undefined ? {} : { suffix })}
        decimals={!f?.whole || per > 1}
        value={values[name] / per}
        change={(v) => set({ [name]: per > 1 ? Math.round(v * per) : v })}
        error={wrong.of(`what_if.${name}`)}
      />
    );
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
                <Figure
                  label="Seats of the bot"
                  value={values.seats}
                  change={(seats) => set({ seats })}
                  error={wrong.of('what_if.seats')}
                />
                {setting('concurrency')}
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
                  data={(rowOf('pacing_mode')?.choices ?? []).map((c) => ({ value: c.value, label: c.label }))}
                />
                <SimpleGrid cols={2}>
                  {setting('abandon_cap_pct')}
                  {setting('ring_timeout_s')}
                </SimpleGrid>
              </Stack>
            </Fieldset>
            <Fieldset legend="Attempts and window" variant="unstyled">
              <SimpleGrid cols={2}>
                {setting('max_attempts')}
                {setting('retry_delay_s')}
                <TextInput
                  label="From"
                  type="time"
                  required
                  withAsterisk={false}
                  value={values.window.start}
                  onChange={(e) => set({ window: { ...values.window, start: e.currentTarget.value } })}
                  error={wrong.of('what_if.window')}
                />
                <TextInput
                  label="Until"
                  type="time"
                  required
                  withAsterisk={false}
                  value={values.window.end}
                  onChange={(e) => set({ window: { ...values.window, end: e.currentTarget.value } })}
                />
              </SimpleGrid>
            </Fieldset>
            <Fieldset legend="People and list" variant="unstyled">
              <SimpleGrid cols={2}>
                <Figure
                  label="Dials answered"
                  suffix=" %"
                  decimals
                  value={people.answer}
                  change={(answer) => setPeople((p) => ({ ...p, answer }))}
                  error={wrong.of('people.answer_rate')}
                />
                <Figure
                  label="Conversation"
                  suffix=" s"
                  decimals
                  value={people.talk}
                  change={(talk) => setPeople((p) => ({ ...p, talk }))}
                  error={wrong.of('people.talk_s')}
                />
                <Figure label="Contacts left" value={contacts} change={setContacts} error={wrong.of('contacts')} />
              </SimpleGrid>
              <Text size="xs" c="dimmed" mt="xs">
                {first.people.source === 'measured'
                  ? `Measured on the latest ${plural(first.people.attempts, 'attempt')} ` +
                    `of this campaign: ${peopleWords(first.people.kinds)}.`
                  : 'Usual values: this campaign has not dialled enough to be measured.'}
              </Text>
            </Fieldset>
            <Group gap="xs">
              <Button type="submit" loading={busy}>
                Simulate
              </Button>
              {busy ? (
                <Button
                  variant="default"
                  onClick={() => void client.cancelQueries({ queryKey: ['simulation', c.campaign_id] })}
                >
                  Cancel
                </Button>
              ) : (
                <Button
                  variant="default"
                  onClick={() => {
                    setValues(is);
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
          <BackTests id={c.campaign_id} />
        </Stack>
      </Grid.Col>
    </Grid>
  );
}

/** Range is the band of eight in ten plays under its median. */
function Range({ text }: { text: string }) {
  if (text === '') return null;
  return (
    <Text size="xs" c="dimmed" data-range>
      {text}
    </Text>
  );
}

function Figure({
  label,
  value,
  change: set,
  suffix,
  decimals = false,
  error,
}: {
  label: string;
  value: number;
  change: (v: number) => void;
  suffix?: string;
  decimals?: boolean;
  error?: string | undefined;
}) {
  return (
    <NumberInput
      label={label}
      value={Number.isFinite(value) ? value : ''}
      allowDecimal={decimals}
      decimalScale={2}
      allowNegative={false}
      hideControls
      required
      withAsterisk={false}
      {...(suffix === undefined ? {} : { suffix })}
      onChange={(x) => set(x === '' ? NaN : Number(x))}
      error={error}
    />
  );
}

const toneOf = {
  more: (d: number) => (d > 0 ? 'green' : 'red'),
  less: (d: number) => (d < 0 ? 'green' : 'red'),
} as const;

/** Figures compares both sides, figure by figure. */
function Figures({ shown: s, zone }: { shown: Simulation; zone: string }) {
  const a = s.as_is;
  const b = s.what_if;
  const { people } = s;
  const last = (b ?? a).summary.ended;
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
              const [was, is] = [valueOf(r, a), b ? valueOf(r, b) : undefined];
              const by = b && (apart(r, a, b) ? change(was, is) : 'within chance');
              const tone =
                by &&
                by !== 'same' &&
                by !== 'within chance' &&
                r.better &&
                typeof was === 'number' &&
                typeof is === 'number'
                  ? toneOf[r.better](is - was)
                  : undefined;
              return (
                <Table.Tr key={r.name} data-row={r.name}>
                  <Table.Th fw={400} scope="row">
                    <Tooltip label={r.about}>
                      <span>{r.label}</span>
                    </Tooltip>
                  </Table.Th>
                  <Table.Td ta="right" className="figure" data-figure={`as_is_${r.name}`}>
                    {r.write(was)}
                    <Range text={between(r, a)} />
                  </Table.Td>
                  {b && (
                    <Table.Td ta="right" className="figure" data-figure={`what_if_${r.name}`}>
                      {r.write(is)}
                      <Range text={between(r, b)} />
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
        {ended[last]} {plural(s.contacts, 'contact')} from <When at={s.start_at} zone={zone} />;{' '}
        {percent(people.answer_rate)} of dials are answered after {seconds(people.ring_s)}, a conversation takes{' '}
        {seconds(people.talk_s)}
        {people.machine_share > 0 && <>, {percent(people.machine_share)} of answers are machines</>}. Median and the
        range of eight in ten of {plural(a.forecast.plays, 'play')}, as things stood at{' '}
        <When at={s.as_of} zone={zone} />. <span data-trust>{trusted(s.trust)}</span>
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
      lines: [
        lineOf(s.as_is, p.column, start, 'As it is', 'blue', false),
        ...(s.what_if ? [lineOf(s.what_if, p.column, start, 'What if', 'orange', false)] : []),
      ],
    }));
  }, [s]);
  const cap = (s.what_if ?? s.as_is).settings.abandon_cap_pct;
  const limit = useMemo(() => ({ name: `Cap ${percent(cap / 100)}`, at: cap }), [cap]);
  return (
    <Card title="Course">
      <div className={css.plots}>
        {drawn.map((p) => (
          <Plot
            key={p.column}
            title={p.title}
            lines={p.lines}
            zone={s.as_is.settings.window.zone}
            {...(p.unit === undefined ? {} : { unit: p.unit })}
            {...(p.column === 'abandon_pct' ? { limit } : {})}
          />
        ))}
      </div>
    </Card>
  );
}

/** BackTests shows what would have been foretold in the course of the campaign's earlier runs. */
function BackTests({ id }: { id: string }) {
  const tests = useQuery<Schemas['BackTests'], Problem>({
    queryKey: ['back-tests', id],
    queryFn: ({ signal }) =>
      data(api.GET('/api/v1/campaigns/{campaign_id}/back-tests', { params: { path: { campaign_id: id } }, signal })),
  });
  const list = tests.data?.back_tests ?? [];
  if (list.length === 0) return null;
  return (
    <Card title="How good were earlier forecasts?">
      <Table.ScrollContainer type="native" minWidth={320} tabIndex={0} role="region" aria-label="Back-tests">
        <Table horizontalSpacing="xs" fz="sm" aria-label="What would have been foretold, and what came">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Run, dials placed</Table.Th>
              <Table.Th ta="right">Duration</Table.Th>
              <Table.Th ta="right">Came</Table.Th>
              <Table.Th ta="right">Conversations</Table.Th>
              <Table.Th ta="right">Came</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {list.flatMap((t) =>
              t.points.map((p) => (
                <Table.Tr key={`${t.run} ${p.share_pct}`} data-back-test={`${t.run} ${p.share_pct}`}>
                  <Table.Th fw={400} scope="row">
                    Run {count(t.run)}, {percent(p.share_pct / 100)}
                    {!p.measured && ' (usual people)'}
                  </Table.Th>
                  <Told of={p.duration_s} write={seconds} />
                  <Told of={p.connected} write={count} />
                </Table.Tr>
              )),
            )}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      <Text size="xs" c="dimmed" px="md" py="sm">
        {trusted(tests.data?.trust)}
      </Text>
    </Card>
  );
}

function Told({ of: f, write }: { of: Schemas['Foretold']; write: (v: number) => string }) {
  const tone = f.real >= f.low && f.real <= f.high ? 'green' : 'red';
  return (
    <>
      <Table.Td ta="right" className="figure">
        {write(f.median)}
        <Range text={f.low === f.high ? '' : `${write(f.low)} – ${write(f.high)}`} />
      </Table.Td>
      <Table.Td ta="right" className="figure">
        <span data-tone={tone} style={{ color: 'var(--tone-text)' }}>
          {write(f.real)}
        </span>
      </Table.Td>
    </>
  );
}
