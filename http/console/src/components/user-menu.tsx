import { Box, Group, Menu, Text, UnstyledButton } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { lazy, Suspense } from 'react';

import { useLogOut } from '../api/queries';
import { useUser } from '../api/session';
import { roles } from '../words/roles';
import { LockIcon } from './admin-icons';
import { AlertIcon, LogOutIcon, UserIcon } from './icons';
import css from './shell.module.css';

const AlertsDialog = lazy(() => import('./alerts-dialog'));
const OwnPassword = lazy(() => import('../pages/users/own-password'));

export function UserMenu() {
  const [changing, { open, close }] = useDisclosure(false);
  const [alerting, alerts] = useDisclosure(false);
  const user = useUser();
  const logOut = useLogOut();
  return (
    <>
      <Menu position="top-start" width="target" withinPortal>
        <Menu.Target>
          <UnstyledButton className={css.user} aria-label={`User menu of ${user.email}`}>
            <Group gap={10} wrap="nowrap">
              <UserIcon size={20} />
              <Box miw={0}>
                <Text size="sm" fw={500} truncate>
                  {user.email}
                </Text>
                <Text size="xs" c="dimmed">
                  {roles[user.role].label}
                </Text>
              </Box>
            </Group>
          </UnstyledButton>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<AlertIcon size={16} />} onClick={alerts.open}>
            Alerts…
          </Menu.Item>
          <Menu.Item leftSection={<LockIcon size={16} />} onClick={open}>
            Change password…
          </Menu.Item>
          <Menu.Item
            leftSection={<LogOutIcon size={16} />}
            disabled={logOut.isPending}
            onClick={() =>
              logOut.mutate(undefined, {
                onError: (e) => {
                  if (e.status !== 401)
                    notifications.show({ color: 'red', title: 'Not logged out', message: e.message });
                },
              })
            }
          >
            Log out
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {alerting && (
        <Suspense>
          <AlertsDialog close={alerts.close} />
        </Suspense>
      )}
      {changing && (
        <Suspense>
          <OwnPassword close={close} />
        </Suspense>
      )}
    </>
  );
}
