import { Button, Table, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';

import { may, useUser } from '../../api/session';
import type { Trunk } from '../../api/telephony';
import { useDeleteTrunk, useTrunks } from '../../api/telephony';
import { Confirm } from '../../components/confirm';
import { PlusIcon } from '../../components/icons';
import { ActionsHead, Empty, ListingPage, Rows } from '../../components/listing';
import { RowMenu } from '../../components/row-menu';
import { ToneBadge } from '../../components/tone-badge';
import { When } from '../../components/when';
import { count, rate, share } from '../../words/figures';
import { address, trunkHealth } from '../../words/telephony';
import { viewerZone } from '../../words/times';
import { TestCall } from './test-call';
import { TrunkForm } from './trunk-form';

type Asked = { what: 'change' | 'delete' | 'test'; trunk: Trunk };

export default function TrunksPage() {
  const query = useTrunks();
  const admin = may(useUser().role, 'admin');
  const [creating, { open, close }] = useDisclosure(false);
  const [asked, setAsked] = useState<Asked>();
  const done = () => setAsked(undefined);
  return (
    <ListingPage
      title="Trunks"
      intro={
        'The carrier connections that calls go over. Health is asked every few seconds by OPTIONS; ' +
        'a change holds from the next call on.'
      }
      action={
        admin && (
          <Button leftSection={<PlusIcon />} onClick={open}>
            New trunk
          </Button>
        )
      }
      query={query}
    >
      {(list) => (
        <>
          {list.length === 0 ? (
            <Empty title="No trunk yet" action={admin && <Button onClick={open}>Add the first one</Button>}>
              Without a trunk no call can be placed. Your carrier gives you a host name, how it knows you (your address,
              or a username and password), and how many calls a second it takes.
            </Empty>
          ) : (
            <Rows
              label="Trunks"
              minWidth={820}
              heads={
                <>
                  <Table.Th>Trunk</Table.Th>
                  <Table.Th>Health</Table.Th>
                  <Table.Th ta="right">Calls a second</Table.Th>
                  <Table.Th ta="right">Channels</Table.Th>
                  <Table.Th ta="right">Priority</Table.Th>
                  {admin && <ActionsHead />}
                </>
              }
            >
              {list.map((t) => (
                <Table.Tr key={t.id} data-trunk={t.id}>
                  <Table.Td>
                    <Text size="sm" fw={600}>
                      {t.id}
                    </Text>
                    <Text size="xs" c="dimmed">
                      {address(t)}
                      {t.kind !== 'ip' && ` · ${t.username ?? ''}`}
                      {t.origin === 'file' && ' · of the configuration file'}
                    </Text>
                  </Table.Td>
                  <Table.Td>
                    <Health of={t} />
                  </Table.Td>
                  <Table.Td ta="right" className="figure">
                    {rate(t.status?.calls_per_second)} / {count(t.cps_cap)}
                    {t.status !== undefined && t.status.cps_share < 1 && (
                      <Text size="xs" c="dimmed">
                        throttled to {share(t.status.cps_share)}
                      </Text>
                    )}
                  </Table.Td>
                  <Table.Td ta="right" className="figure" data-figure="live_legs">
                    {count(t.status?.live_legs)} / {count(t.channel_cap)}
                  </Table.Td>
                  <Table.Td ta="right" className="figure">
                    {t.priority}
                    {list.some((o) => o.id !== t.id && o.priority === t.priority) && ` (weight ${t.weight})`}
                  </Table.Td>
                  {admin && (
                    <Table.Td ta="right">
                      <RowMenu
                        of={t.id}
                        items={[
                          { label: 'Test call…', act: () => setAsked({ what: 'test', trunk: t }) },
                          { label: 'Change…', act: () => setAsked({ what: 'change', trunk: t }) },
                          { label: 'Delete…', act: () => setAsked({ what: 'delete', trunk: t }), grave: true },
                        ]}
                      />
                    </Table.Td>
                  )}
                </Table.Tr>
              ))}
            </Rows>
          )}
          {creating && <TrunkForm close={close} />}
          {asked?.what === 'change' && <TrunkForm of={asked.trunk} close={done} />}
          {asked?.what === 'test' && <TestCall trunk={asked.trunk.id} close={done} />}
          {asked?.what === 'delete' && <Delete of={asked.trunk} last={list.length === 1} close={done} />}
        </>
      )}
    </ListingPage>
  );
}

function Health({ of: t }: { of: Trunk }) {
  const status = t.status;
  if (status === undefined)
    return (
      <Text size="sm" c="dimmed">
        not asked yet
      </Text>
    );
  const h = trunkHealth[status.health];
  return (
    <>
      <ToneBadge tone={h.tone} label={h.label} title={h.more} />
      <Text size="xs" c="dimmed" mt={4}>
        {status.reason}
        {status.registered_until !== null && (
          <>
            {' · registered until '}
            <When at={status.registered_until} zone={viewerZone} />
          </>
        )}
        {status.retry_at !== null && (
          <>
            {status.health === 'up' ? ' · throttled until ' : ' · tried again '}
            <When at={status.retry_at} zone={viewerZone} precise />
          </>
        )}
      </Text>
      {status.rtp_elsewhere !== undefined && (
        <Text size="xs" c={status.rtp_elsewhere.unheard > 0 ? 'red' : 'dimmed'}>
          {`${status.rtp_elsewhere.calls} of the last ${status.rtp_elsewhere.of} answered calls ` +
            'sent RTP from elsewhere than the SDP says' +
            (status.rtp_elsewhere.unheard > 0 ? `; ${status.rtp_elsewhere.unheard} were not heard` : '')}
        </Text>
      )}
    </>
  );
}

function Delete({ of: t, last, close }: { of: Trunk; last: boolean; close: () => void }) {
  const remove = useDeleteTrunk();
  return (
    <Confirm
      title={`Delete ${t.id}?`}
      lines={[
        'No more calls go over it; calls that are under way go on.',
        ...(last ? ['It is the only trunk: nothing can be dialled until there is another one.'] : []),
        'Its password is forgotten. To hold it for a while, make it inactive instead.',
      ]}
      confirm="Delete"
      grave
      busy={remove.isPending}
      problem={remove.error}
      close={close}
      carryOut={() =>
        remove.mutate(t.id, {
          onSuccess: () => {
            notifications.show({ color: 'green', message: `Deleted: ${t.id}` });
            close();
          },
        })
      }
    />
  );
}
