import { Button, Group, Table, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';

import { useUser } from '../../api/session';
import type { User } from '../../api/users';
import { useChangeUser, useUsers } from '../../api/users';
import { Activation } from '../../components/activation';
import { Confirm } from '../../components/confirm';
import { PlusIcon } from '../../components/icons';
import { ActionsHead, ListingPage, Rows } from '../../components/listing';
import { RowMenu } from '../../components/row-menu';
import { ToneBadge } from '../../components/tone-badge';
import { When } from '../../components/when';
import { roles } from '../../words/roles';
import { viewerZone } from '../../words/times';
import { AddUser, ChangeRole, Password } from './user-form';

type Asked = { what: 'role' | 'active' | 'password' | 'unlock'; user: User };

export default function UsersPage() {
  const query = useUsers();
  const self = useUser();
  const [adding, { open, close }] = useDisclosure(false);
  const [asked, setAsked] = useState<Asked>();
  const done = () => setAsked(undefined);
  return (
    <ListingPage
      title="Users"
      intro={
        'Who may log in, and what each may do. Users are deactivated, not deleted: what somebody did stays theirs. ' +
        'One administrator always remains.'
      }
      action={
        <Button leftSection={<PlusIcon />} onClick={open}>
          Add a user
        </Button>
      }
      query={query}
    >
      {(list) => (
        <>
          <Rows
            label="Users"
            minWidth={680}
            heads={
              <>
                <Table.Th>E-mail</Table.Th>
                <Table.Th>Role</Table.Th>
                <Table.Th>State</Table.Th>
                <Table.Th>Last log-in</Table.Th>
                <Table.Th>Added</Table.Th>
                <ActionsHead />
              </>
            }
          >
            {list.map((u) => (
              <Table.Tr key={u.id} data-user={u.email}>
                <Table.Td>
                  <Group gap="xs" wrap="nowrap">
                    <Text size="sm" fw={600}>
                      {u.email}
                    </Text>
                    {u.id === self.user_id && (
                      <Text size="xs" c="dimmed">
                        you
                      </Text>
                    )}
                  </Group>
                </Table.Td>
                <Table.Td title={roles[u.role].may}>{roles[u.role].label}</Table.Td>
                <Table.Td>
                  {u.is_active && u.locked_until !== null ? (
                    <ToneBadge tone="red" label="Locked" />
                  ) : (
                    <ToneBadge tone={u.is_active ? 'green' : 'grey'} label={u.is_active ? 'Active' : 'Deactivated'} />
                  )}
                </Table.Td>
                <Table.Td>
                  {u.last_login_at === null ? (
                    <Text c="dimmed" size="sm">
                      never
                    </Text>
                  ) : (
                    <When at={u.last_login_at} zone={viewerZone} />
                  )}
                </Table.Td>
                <Table.Td>
                  <When at={u.created_at} zone={viewerZone} />
                </Table.Td>
                <Table.Td ta="right">
                  <RowMenu
                    of={u.email}
                    items={[
                      { label: 'Change the role…', act: () => setAsked({ what: 'role', user: u }) },
                      u.is_active &&
                        u.id !== self.user_id && {
                          label: 'New password…',
                          act: () => setAsked({ what: 'password', user: u }),
                        },
                      u.locked_until !== null && { label: 'Unlock…', act: () => setAsked({ what: 'unlock', user: u }) },
                      {
                        label: u.is_active ? 'Deactivate…' : 'Activate…',
                        act: () => setAsked({ what: 'active', user: u }),
                      },
                    ]}
                  />
                </Table.Td>
              </Table.Tr>
            ))}
          </Rows>
          {adding && <AddUser close={close} />}
          {asked?.what === 'role' && <ChangeRole of={asked.user} close={done} />}
          {asked?.what === 'active' && <Activity of={asked.user} self={asked.user.id === self.user_id} close={done} />}
          {asked?.what === 'unlock' && <Unlock of={asked.user} close={done} />}
          {asked?.what === 'password' && <NewPassword of={asked.user} close={done} />}
        </>
      )}
    </ListingPage>
  );
}

function Activity({ of: u, self, close }: { of: User; self: boolean; close: () => void }) {
  const change = useChangeUser();
  return (
    <Activation
      of={u.email}
      active={u.is_active}
      lines={
        u.is_active
          ? [
              self
                ? 'You are logged out and cannot log in again.'
                : 'Their sessions and tokens end within a second, and they cannot log in.',
              'Campaigns that they started go on.',
              'They can be activated again.',
            ]
          : ['They may log in again with the password that they had.']
      }
      change={change}
      carryOut={(answer) => change.mutate({ id: u.id, change: { is_active: !u.is_active } }, answer)}
      close={close}
    />
  );
}

function Unlock({ of: u, close }: { of: User; close: () => void }) {
  const change = useChangeUser();
  return (
    <Confirm
      title={`Unlock ${u.email}?`}
      lines={[
        'Too many log-ins failed, one after the other. ' +
          'For 15 minutes log-ins from browsers that are new to the account wait their turn.',
        'Was it not them who tried? Give them a new password instead.',
      ]}
      confirm="Unlock"
      busy={change.isPending}
      problem={change.error}
      close={close}
      carryOut={() =>
        change.mutate(
          { id: u.id, change: { unlock: true } },
          {
            onSuccess: () => {
              notifications.show({ color: 'green', message: `Unlocked: ${u.email}` });
              close();
            },
          },
        )
      }
    />
  );
}

function NewPassword({ of: u, close }: { of: User; close: () => void }) {
  const change = useChangeUser();
  if (change.data?.password !== undefined)
    return <Password of={u.email} password={change.data.password} close={close} />;
  return (
    <Confirm
      title={`New password for ${u.email}?`}
      lines={[
        'One is generated and shown once.',
        'The password before it stops working.',
        'Their sessions and tokens end within a second.',
      ]}
      confirm="Make a new password"
      grave
      busy={change.isPending}
      problem={change.error}
      close={close}
      carryOut={() => change.mutate({ id: u.id, change: { reset_password: true } })}
    />
  );
}
