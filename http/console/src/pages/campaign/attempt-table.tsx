import { Group, Table, Text } from '@mantine/core';

import type { Attempt } from '../../api/client';
import { CopyControl } from '../../components/copy-control';
import { DirectionMark } from '../../components/direction-word';
import { ToneWord } from '../../components/tone-badge';
import { When } from '../../components/when';
import { endsOf } from '../../words/calls';
import { none, seconds } from '../../words/figures';
import { attemptLabel, words } from '../../words/states';
import css from './attempt-table.module.css';

/** AttemptTable shows all that is known of each attempt, newest last (spec: Attempt). */
export function AttemptTable({ attempts, zone }: { attempts: Attempt[]; zone: string }) {
  if (attempts.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        Not dialled yet.
      </Text>
    );
  }
  return (
    <Table fz="sm" verticalSpacing={6} horizontalSpacing="sm" className={css.table} aria-label="Attempts">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>No.</Table.Th>
          <Table.Th>Outcome</Table.Th>
          <Table.Th>To</Table.Th>
          <Table.Th>From</Table.Th>
          <Table.Th>Start</Table.Th>
          <Table.Th>End</Table.Th>
          <Table.Th>Talk</Table.Th>
          <Table.Th>SIP reason</Table.Th>
          <Table.Th>Session</Table.Th>
          <Table.Th>Attempt</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {attempts.map((a) => (
          <AttemptRow key={a.attempt_id} attempt={a} zone={zone} />
        ))}
      </Table.Tbody>
    </Table>
  );
}

function AttemptRow({ attempt: a, zone }: { attempt: Attempt; zone: string }) {
  const label = attemptLabel(a);
  const ends = endsOf(a);
  return (
    <Table.Tr>
      <Table.Td
        title={
          a.number === undefined && a.direction === 'outbound'
            ? 'Not consumed: the call did not leave, or the trunk could not take it'
            : undefined
        }
      >
        {a.direction === 'inbound' ? <DirectionMark of="inbound" /> : (a.number ?? '–')}
      </Table.Td>
      <Table.Td>
        <ToneWord tone={label.tone} label={label.label} />
        {detail(a) && (
          <Text size="xs" c="dimmed">
            {detail(a)}
          </Text>
        )}
      </Table.Td>
      <Table.Td className="figure">{ends.to || none}</Table.Td>
      <Table.Td className="figure">{ends.from || none}</Table.Td>
      <Table.Td>{a.started_at ? <When at={a.started_at} zone={zone} precise /> : none}</Table.Td>
      <Table.Td>{a.ended_at ? <When at={a.ended_at} zone={zone} precise /> : 'still open'}</Table.Td>
      <Table.Td className="figure">{seconds(a.talk_s)}</Table.Td>
      <Table.Td>{[a.sip_code, a.sip_reason].filter(Boolean).join(' ') || none}</Table.Td>
      <Table.Td>
        {a.session_id ? (
          <Group gap={4} wrap="nowrap">
            <span title={a.session_id} className={css.id}>
              …{a.session_id.slice(-8)}
            </span>
            <CopyControl text={a.session_id} what="session ID" />
          </Group>
        ) : (
          none
        )}
      </Table.Td>
      <Table.Td>
        <Group gap={4} wrap="nowrap">
          <span title={a.attempt_id} className={css.id}>
            {a.short_id}
          </span>
          <CopyControl text={a.attempt_id} what="attempt ID" />
        </Group>
      </Table.Td>
    </Table.Tr>
  );
}

/** detail is what qualifies an outcome. */
function detail(a: Attempt): string {
  const parts = [
    a.disposition,
    a.abandon_cause && words(a.abandon_cause).toLowerCase(),
    a.amd_verdict && a.outcome !== 'machine' && a.outcome !== 'fax' && `AMD: ${a.amd_verdict}`,
    a.hung_up_by && `hung up by ${a.hung_up_by}`,
    a.callback && 'callback',
    a.returns_call_id && 'calls back',
  ];
  return parts.filter((p): p is string => typeof p === 'string' && p !== '').join(' · ');
}
