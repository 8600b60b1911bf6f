import { Table, Text } from '@mantine/core';
import { memo } from 'react';

import type { Campaign } from '../../api/client';
import { Card } from '../../components/card';
import { Stat, Stats } from '../../components/stat';
import { When } from '../../components/when';
import { count, none, seconds, share } from '../../words/figures';

/** PassesCard shows the run pass by pass: pass 1 is the first attempt of every contact (spec: Pass breakdown). */
export const PassesCard = memo(function PassesCard({
  passes = [],
  zone,
}: {
  passes: Campaign['passes'];
  zone: string;
}) {
  return (
    <Card title="Passes">
      {passes.length === 0 ? (
        <Text size="sm" c="dimmed" p="md">
          Pass 1 begins with the first dial: every contact is tried once before anybody is tried again.
        </Text>
      ) : (
        <Table.ScrollContainer type="native" minWidth={520} tabIndex={0} role="region" aria-label="Pass breakdown">
          <Table horizontalSpacing="md" fz="sm" aria-label="Passes">
            <Table.Thead>
              <Table.Tr>
                <Table.Th style={{ whiteSpace: 'nowrap' }}>Pass #</Table.Th>
                <Table.Th ta="right">Attempted / Eligible</Table.Th>
                <Table.Th ta="right">Connected %</Table.Th>
                <Table.Th>Time range</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {passes.map((p) => (
                <Table.Tr key={p.pass} data-pass={p.pass}>
                  <Table.Td style={{ whiteSpace: 'nowrap' }}>Pass {p.pass}</Table.Td>
                  <Table.Td ta="right" className="figure">
                    {count(p.attempted)} / {count(p.eligible)}
                  </Table.Td>
                  <Table.Td ta="right" className="figure">
                    {share(p.connected_rate)}
                  </Table.Td>
                  <Table.Td>
                    {p.first_dial_at ? <When at={p.first_dial_at} zone={zone} precise /> : none} –{' '}
                    {p.running || !p.last_dial_at ? (
                      p.first_dial_at ? (
                        'still running'
                      ) : (
                        none
                      )
                    ) : (
                      <When at={p.last_dial_at} zone={zone} precise />
                    )}
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
    </Card>
  );
});

/** CallbacksCard is there only when callback detection is on (spec: Callbacks panel). */
export function CallbacksCard({ campaign: c }: { campaign: Campaign }) {
  const k = c.callbacks;
  if (!c.settings.callback_detection || !k) return null;
  return (
    <Card title="Callbacks">
      <Stats figures="four">
        <Stat
          name="callbacks_requested"
          label="Callbacks requested"
          about="Callbacks that were asked for or promised, counting each one of a contact that had several."
          size="small"
        >
          {count(k.requested)}
        </Stat>
        <Stat
          name="callbacks_pending"
          label="Callbacks pending"
          about="Callbacks that are still to come, or are being dialled."
          size="small"
        >
          {count(k.pending)}
        </Stat>
        <Stat name="callbacks_completed" label="Callbacks completed" about="Callbacks that were dialled." size="small">
          {count(k.completed)}
        </Stat>
        <Stat
          name="callbacks_delay"
          label="Average delay"
          about="From when a completed callback was due until it was dialled."
          size="small"
        >
          {seconds(k.mean_delay_s)}
        </Stat>
      </Stats>
    </Card>
  );
}
