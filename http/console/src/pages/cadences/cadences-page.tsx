import { Button, Table, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';

import type { Cadence } from '../../api/cadences';
import { useCadences, useDeleteCadence } from '../../api/cadences';
import { Confirm } from '../../components/confirm';
import { PlusIcon } from '../../components/icons';
import { ActionsHead, Empty, ListingPage, Rows } from '../../components/listing';
import { RowMenu } from '../../components/row-menu';
import { When } from '../../components/when';
import { viewerZone } from '../../words/times';
import { CadenceForm, rulesOf } from './cadence-form';

type Asked = { what: 'change' | 'delete'; of: Cadence };

export default function CadencesPage() {
  const query = useCadences();
  const [creating, { open, close }] = useDisclosure(false);
  const [asked, setAsked] = useState<Asked>();
  const done = () => setAsked(undefined);
  return (
    <ListingPage
      title="Cadences"
      intro="When each outcome is redialled, in place of one Retry Delay. Campaigns share them."
      action={
        <Button leftSection={<PlusIcon />} onClick={open}>
          New cadence
        </Button>
      }
      query={query}
    >
      {(list) => (
        <>
          {list.length === 0 ? (
            <Empty title="No cadences yet" action={<Button onClick={open}>Make the first one</Button>}>
              Campaigns redial after their Retry Delay, whatever became of the last call.
            </Empty>
          ) : (
            <Rows
              label="Cadences"
              heads={
                <>
                  <Table.Th>Cadence</Table.Th>
                  <Table.Th>Rules</Table.Th>
                  <Table.Th>Changed</Table.Th>
                  <ActionsHead />
                </>
              }
            >
              {list.map((c) => (
                <Table.Tr key={c.cadence_id} data-cadence={c.cadence_id}>
                  <Table.Td>
                    <Text size="sm" fw={600}>
                      {c.name}
                    </Text>
                    <Text size="xs" c="dimmed" ff="monospace">
                      {c.cadence_id}
                    </Text>
                  </Table.Td>
                  <Table.Td>
                    {rulesOf(c.rules).map((rule) => (
                      <Text key={rule} size="sm">
                        {rule}
                      </Text>
                    ))}
                  </Table.Td>
                  <Table.Td>
                    <When at={c.updated_at} zone={viewerZone} />
                  </Table.Td>
                  <Table.Td ta="right">
                    <RowMenu
                      of={c.name}
                      items={[
                        { label: 'Change…', act: () => setAsked({ what: 'change', of: c }) },
                        { label: 'Delete…', act: () => setAsked({ what: 'delete', of: c }), grave: true },
                      ]}
                    />
                  </Table.Td>
                </Table.Tr>
              ))}
            </Rows>
          )}
          {creating && <CadenceForm close={close} />}
          {asked?.what === 'change' && <CadenceForm of={asked.of} close={done} />}
          {asked?.what === 'delete' && <Delete of={asked.of} close={done} />}
        </>
      )}
    </ListingPage>
  );
}

function Delete({ of: c, close }: { of: Cadence; close: () => void }) {
  const remove = useDeleteCadence();
  return (
    <Confirm
      title={`Delete ${c.name}?`}
      lines={['No campaign can be given it any more.']}
      confirm="Delete"
      grave
      busy={remove.isPending}
      problem={remove.error}
      close={close}
      carryOut={() =>
        remove.mutate(c.cadence_id, {
          onSuccess: () => {
            notifications.show({ color: 'green', message: `Deleted: ${c.name}` });
            close();
          },
        })
      }
    />
  );
}
