import { Anchor, Button, Collapse, Group, Loader, Paper, Stack, Text } from '@mantine/core';
import { useId, useState } from 'react';
import { Link } from 'wouter';

import type { Attempt } from '../../api/client';
import { useLadder } from '../../api/queries';
import { may, useUser } from '../../api/session';
import { CopyControl } from '../../components/copy-control';
import { Failure } from '../../components/failure';
import { DownIcon, RightIcon } from '../../components/icons';
import { ToneWord } from '../../components/tone-badge';
import { When, useSeconds } from '../../components/when';
import { endsOf } from '../../words/calls';
import { count, none, seconds } from '../../words/figures';
import { stagesOf } from '../../words/stages';
import { attemptLabel } from '../../words/states';
import css from './contact.module.css';
import { Recording } from './recording';

/** AttemptDetail is one call: its stages on a line of time, what the network said, its messages and its recording. */
export function AttemptDetail({ attempt: a, zone, open: opened }: { attempt: Attempt; zone: string; open: boolean }) {
  const [open, setOpen] = useState(opened);
  const [ladder, setLadder] = useState(false);
  const { role } = useUser();
  const id = useId();
  const label = attemptLabel(a);
  const q = a.quality;
  const ends = endsOf(a);
  const facts: [string, React.ReactNode][] = [
    ...(a.returns_call_id === undefined
      ? []
      : ([['Calls back', <CallLink key="returns" id={a.returns_call_id} />]] as [string, React.ReactNode][])),
    ['To', ends.to === '' ? none : ends.to],
    ['From', ends.from === '' ? none : ends.from],
    ['Trunk', a.trunk ?? none],
    ['SIP reason', [a.sip_code, a.sip_reason].filter(Boolean).join(' ') || none],
    ['Hung up by', a.hung_up_by ?? none],
    ['Disposition', a.disposition ?? none],
    ...(a.amd_verdict === undefined ? [] : ([['Heard', a.amd_verdict]] as [string, React.ReactNode][])),
    ...(q === undefined
      ? []
      : ([
          [
            'Audio',
            q.codec +
              (q.srtp === undefined ? '' : ` by SRTP (${q.srtp})`) +
              `, ${count(q.packets_lost)} lost, jitter ${q.jitter_ms.toFixed(1)} ms` +
              (q.mos === undefined ? '' : `, MOS ${q.mos.toFixed(1)}`) +
              (q.heard_from === undefined ? '' : `, from ${q.heard_from}`) +
              (q.packets_dropped === undefined
                ? ''
                : `, not heard: ${count(q.packets_dropped.elsewhere)} from elsewhere, ` +
                  `${count(q.packets_dropped.ambiguous)} ambiguous`),
          ],
        ] as [string, React.ReactNode][])),
    ['Session', a.session_id ? <Id key="session" id={a.session_id} what="session ID" /> : none],
    ['Attempt', <Id key="attempt" id={a.attempt_id} what="attempt ID" />],
  ];
  return (
    <Paper withBorder p="sm" data-attempt-detail={a.short_id}>
      <Group justify="space-between" gap="sm">
        <Button
          variant="subtle"
          color="gray"
          size="compact-sm"
          c="var(--mantine-color-text)"
          aria-expanded={open}
          aria-controls={id}
          leftSection={open ? <DownIcon size={15} /> : <RightIcon size={15} />}
          onClick={() => setOpen(!open)}
        >
          {titleOf(a)}
          {a.run !== undefined && a.run > 1 ? `, run ${a.run}` : ''}
        </Button>
        <Text component="div" size="sm">
          <ToneWord tone={label.tone} label={label.label} />
        </Text>
        <Text component="div" size="xs" c="dimmed">
          {a.started_at ? <When at={a.started_at} zone={zone} precise /> : none} –{' '}
          {a.ended_at ? <When at={a.ended_at} zone={zone} precise /> : 'still open'}
        </Text>
      </Group>
      <Collapse expanded={open} id={id}>
        {open && (
          <Stack gap="sm" mt="sm">
            <Timeline attempt={a} />
            <dl className={css.facts}>
              {facts.map(([name, value]) => (
                <div key={name}>
                  <dt>{name}</dt>
                  <dd className="figure">{value}</dd>
                </div>
              ))}
            </dl>
            {a.recording &&
              (may(role, 'admin') ? (
                <Recording attempt={a} />
              ) : (
                <Text size="sm" c="dimmed">
                  There is a recording of {seconds(a.recording.duration_s)}; an admin may listen to it.
                </Text>
              ))}
            {ladder ? (
              <Ladder call={`CA${a.attempt_id}`} />
            ) : (
              <Group>
                <Button size="xs" variant="default" onClick={() => setLadder(true)}>
                  SIP messages
                </Button>
              </Group>
            )}
          </Stack>
        )}
      </Collapse>
    </Paper>
  );
}

/** titleOf names a call within the trail of its contact. */
function titleOf(a: Attempt): string {
  if (a.direction === 'inbound') return a.returns_call_id === undefined ? 'Call to us' : 'Call back';
  return a.number === undefined ? 'Not consumed' : `Attempt ${a.number}`;
}

function CallLink({ id }: { id: string }) {
  return (
    <Anchor component={Link} href={`/calls/${id}`} size="sm" underline="always" title={id}>
      call …{id.slice(-8)}
    </Anchor>
  );
}

function Id({ id, what }: { id: string; what: string }) {
  return (
    <Group gap={4} wrap="nowrap" component="span" display="inline-flex">
      <span title={id} className={css.id}>
        {id.length > 8 ? `…${id.slice(-8)}` : id}
      </span>
      <CopyControl text={id} what={what} />
    </Group>
  );
}

/** Timeline draws the stages to scale, with how long each took beside it. */
function Timeline({ attempt: a }: { attempt: Attempt }) {
  const now = useSeconds() * 1000;
  const stages = stagesOf(a).map((s) => ({ ...s, long: Math.max(0, (s.until ?? now) - s.from) / 1000 }));
  const all = stages.reduce((sum, s) => sum + s.long, 0);
  if (stages.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        The call did not leave.
      </Text>
    );
  }
  return (
    <div>
      <div className={css.line} aria-hidden>
        {stages.map((s) => (
          <div key={s.name} data-tone={s.tone} style={{ flexGrow: all > 0 ? s.long / all : 1 }} />
        ))}
      </div>
      <ol className={css.stages} aria-label="Stages">
        {stages.map((s) => (
          <li key={s.name}>
            <ToneWord tone={s.tone} label={s.name} />{' '}
            <span className="figure">{seconds(Math.round(s.long * 10) / 10)}</span>
          </li>
        ))}
      </ol>
    </div>
  );
}

function Ladder({ call }: { call: string }) {
  const query = useLadder(call);
  if (query.isPending) return <Loader size="sm" aria-label="Loading" />;
  if (query.isError)
    return <Failure title="The messages cannot be shown" problem={query.error} retry={() => void query.refetch()} />;
  if (query.data.messages.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        The messages of this call are not kept any more: they stay for two weeks when a call fails for a reason of
        trunk, network or media.
      </Text>
    );
  }
  return (
    <ol className={css.ladder} aria-label="SIP messages">
      {query.data.messages.map((m, i) => (
        <li key={`${m.at} ${i}`}>
          <span className={css.clock}>{m.at.slice(11, 23)}</span>
          <span aria-label={m.sent ? 'sent' : 'received'}>{m.sent ? '→' : '←'}</span>
          <span>
            <b>{m.title}</b>
            {m.repeats !== undefined && m.repeats > 0 && ` × ${m.repeats + 1}`}
            <Text span size="xs" c="dimmed" display="block">
              {m.explanation}
            </Text>
          </span>
        </li>
      ))}
    </ol>
  );
}
