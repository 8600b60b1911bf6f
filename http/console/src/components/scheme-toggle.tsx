import { ActionIcon, Menu, useMantineColorScheme } from '@mantine/core';

import { CheckIcon, MoonIcon, ScreenIcon, SunIcon } from './icons';

const schemes = [
  { value: 'light', label: 'Light', icon: SunIcon },
  { value: 'dark', label: 'Dark', icon: MoonIcon },
  { value: 'auto', label: 'As the system', icon: ScreenIcon },
] as const;

export function SchemeToggle() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const current = schemes.find((s) => s.value === colorScheme) ?? schemes[2];
  return (
    <Menu position="top-end" withinPortal>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={`Colours: ${current.label}`}>
          <current.icon />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {schemes.map((s) => (
          <Menu.Item
            key={s.value}
            leftSection={<s.icon size={16} />}
            rightSection={s.value === colorScheme ? <CheckIcon size={15} /> : null}
            onClick={() => setColorScheme(s.value)}
          >
            {s.label}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
