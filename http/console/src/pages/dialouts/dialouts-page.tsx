import { Button, Group, Table, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';

import { useCancelDialout, useScheduled } from '../../api/dialouts';
import type { Call } from '../../api/telephony';
import { Confirm } from '../../components/confirm';
import { ActionsHead, Empty, ListingPage, Rows } from '../../components/listing';
import { When } from '../../components/when';
import { viewerZone } from '../../words/times';

export default function DialoutsPage() {
  const query = useScheduled();
  const [cancelled, setCancelled] = useState<Call>();
  return (
    <ListingPage
      title="Scheduled calls"
      intro="Calls outside campaigns that were asked for with a time: each is placed then, or ends when it expires."
      query={query}
    >
      {(calls) => (
        <>
          {calls.length === 0 ? (
            <Empty title="No call waits for its time">
              Whoever asks for a call with not_before finds it here until it is placed.
            </Empty>
          ) : (
            <Rows
              label="Scheduled calls"
              minWidth={820}
              heads={
                <>
                  <Table.Th>Number</Table.Th>
                  <Table.Th>Bot</Table.Th>
                  <Table.Th>Scheduled for</Table.Th>
                  <Table.Th>Expires</Table.Th>
                  <Table.Th>Priority</Table.Th>
                  <Table.Th>Why not now</Table.Th>
                  <ActionsHead />
                </>
              }
              foot={
                query.hasNextPage && (
                  <Group justify="center" p="md">
                    <Button
                      variant="default"
                      loading={query.isFetchingNextPage}
                      onClick={() => void query.fetchNextPage()}
                    >
                      Show more
                    </Button>
                  </Group>
                )
              }
            >
              {calls.map((c) => (
                <Row key={c.call_id} call={c} cancel={() => setCancelled(c)} />
              ))}
            </Rows>
          )}
          {cancelled !== undefined && <Cancel call={cancelled} close={() => setCancelled(undefined)} />}
        </>
      )}
    </ListingPage>
  );
}

function Row({ call, cancel }: { call: Call; cancel: () => void }) {
  const times = call.scheduled;
  if (times === undefined) return null;
  return (
    <Table.Tr>
      <Table.Td className="figure" fw={600}>
        {call.to_number}
      </Table.Td>
      <Table.Td>{call.bot_id}</Table.Td>
      <Table.Td>
        <When at={times.not_before} zone={viewerZone} />
      </Table.Td>
      <Table.Td>
        <When at={times.expires_at} zone={viewerZone} />
      </Table.Td>
      <Table.Td className="figure">{times.priority}</Table.Td>
      <Table.Td>
        <Text size="sm">{call.explanation?.message}</Text>
      </Table.Td>
      <Table.Td ta="right">
        <Button size="xs" variant="subtle" onClick={cancel} aria-label={`Cancel the call to ${call.to_number}`}>
          Cancel…
        </Button>
      </Table.Td>
    </Table.Tr>
  );
}

function Cancel({ call, close }: { call: Call; close: () => void }) {
  const cancel = useCancelDialout();
  return (
    <Confirm
      title={`Cancel the call to ${call.to_number}?`}
      lines={['It is not placed. Whoever asked for it is told by webhook that it ended as cancelled.']}
      confirm="Cancel the call"
      grave
      busy={cancel.isPending}
      problem={cancel.error}
      close={close}
      carryOut={() =>
        cancel.mutate(call.call_id, {
          onSuccess: () => {
            notifications.show({ color: 'green', message: `The call to ${call.to_number} is cancelled.` });
            close();
          },
        })
      }
    />
  );
}
