import { Button, Group, Table, Text, TextInput } from '@mantine/core';
import { useDebouncedValue, useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';

import { may, useUser } from '../../api/session';
import { useLift, useSuppressions } from '../../api/suppressions';
import { Confirm } from '../../components/confirm';
import { PlusIcon, SearchIcon } from '../../components/icons';
import { ActionsHead, Empty, ListingPage, Rows, Sought } from '../../components/listing';
import { Pager } from '../../components/pager';
import { When } from '../../components/when';
import { numberSearch } from '../../words/number-search';
import { words } from '../../words/states';
import { viewerZone } from '../../words/times';
import { Suppress } from './suppress';

export default function SuppressionsPage() {
  const admin = may(useUser().role, 'admin');
  const [page, setPage] = useState(1);
  const [typed, setTyped] = useState('');
  const sought = numberSearch(typed);
  const [settled] = useDebouncedValue(sought.number ?? '', 250);
  const complete = settled !== '';
  const query = useSuppressions(complete ? 1 : page, settled);
  const [adding, { open, close }] = useDisclosure(false);
  const [lifted, setLifted] = useState<string>();
  return (
    <ListingPage
      title="Suppression list"
      intro={
        'Numbers that this installation never calls, in any campaign or outside: ' +
        'who asked not to be called, who pressed the opt-out digit, and whom you put here.'
      }
      action={
        <Button leftSection={<PlusIcon />} onClick={open}>
          Block numbers
        </Button>
      }
      above={
        <Group mb="md">
          <TextInput
            type="search"
            label="Find a number"
            description="Whether it is on the list"
            placeholder="+4915112345678"
            leftSection={<SearchIcon size={16} />}
            value={typed}
            error={sought.reason !== undefined}
            onChange={(e) => setTyped(e.currentTarget.value)}
            w={{ base: '100%', sm: 320 }}
          />
        </Group>
      }
      query={query}
    >
      {(list) => (
        <>
          <Sought search={sought} asked={settled}>
            {list.suppressions.length === 0 ? (
              <Empty title={complete ? `${settled} is not on the list` : 'The list is empty'}>
                {complete
                  ? 'It may be called.'
                  : 'Bots put numbers here with do_not_call in a result. ' +
                    'Import the list of numbers that you must not call before the first campaign.'}
              </Empty>
            ) : (
              <Rows
                label="Suppression list"
                minWidth={560}
                heads={
                  <>
                    <Table.Th>Number</Table.Th>
                    <Table.Th>Reason</Table.Th>
                    <Table.Th>Since</Table.Th>
                    {admin && <ActionsHead />}
                  </>
                }
                foot={<Pager page={page} size={50} total={list.total} go={setPage} />}
              >
                {list.suppressions.map((s) => (
                  <Table.Tr key={s.number}>
                    <Table.Td className="figure" fw={600}>
                      {s.number.startsWith('hmac:') ? (
                        <Text size="sm" c="dimmed">
                          of an erased person
                        </Text>
                      ) : (
                        s.number
                      )}
                    </Table.Td>
                    <Table.Td>
                      {['do_not_call', 'opt_out', 'manual', 'import'].includes(s.reason) ? words(s.reason) : s.reason}
                    </Table.Td>
                    <Table.Td>
                      <When at={s.created_at} zone={viewerZone} />
                    </Table.Td>
                    {admin && (
                      <Table.Td ta="right">
                        {!s.number.startsWith('hmac:') && (
                          <Button
                            size="xs"
                            variant="subtle"
                            onClick={() => setLifted(s.number)}
                            aria-label={`Take ${s.number} off the list`}
                          >
                            Take off…
                          </Button>
                        )}
                      </Table.Td>
                    )}
                  </Table.Tr>
                ))}
              </Rows>
            )}
          </Sought>
          {adding && <Suppress close={close} />}
          {lifted !== undefined && <Lift number={lifted} close={() => setLifted(undefined)} />}
        </>
      )}
    </ListingPage>
  );
}

function Lift({ number, close }: { number: string; close: () => void }) {
  const lift = useLift();
  return (
    <Confirm
      title={`Take ${number} off the list?`}
      lines={[
        'It may be called again, by every campaign that has it.',
        'Has the person agreed? The audit keeps who took it off, and when.',
      ]}
      confirm="Take it off"
      grave
      busy={lift.isPending}
      problem={lift.error}
      close={close}
      carryOut={() =>
        lift.mutate(number, {
          onSuccess: () => {
            notifications.show({ color: 'green', message: `${number} may be called again.` });
            close();
          },
        })
      }
    />
  );
}
