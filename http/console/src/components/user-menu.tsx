import { Box, Group, Menu, Text, UnstyledButton } from '@mantine/core';
import { notifications } from '@mantine/notifications';

import { useLogOut } from '../api/queries';
import { useUser } from '../api/session';
import { words } from '../words/states';
import { LogOutIcon, UserIcon } from './icons';
import css from './shell.module.css';

export function UserMenu() {
  const user = useUser();
  const logOut = useLogOut();
  return (
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
                {words(user.role)}
              </Text>
            </Box>
          </Group>
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item
          leftSection={<LogOutIcon size={16} />}
          disabled={logOut.isPending}
          onClick={() =>
            logOut.mutate(undefined, {
              onError: (e) => {
                if (e.status !== 401) notifications.show({ color: 'red', title: 'Not logged out', message: e.message });
              },
            })
          }
        >
          Log out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
