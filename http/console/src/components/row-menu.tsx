import { ActionIcon, Menu } from '@mantine/core';

import { MoreIcon } from './icons';

interface Item {
  label: string;
  act: () => void;
  /** It takes something away. */
  grave?: boolean;
}

/** RowMenu has the actions for what a row of a table shows; what is false is left out. */
export function RowMenu({ of: name, items }: { of: string; items: (Item | false)[] }) {
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={`Actions for ${name}`}>
          <MoreIcon />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {items.map(
          (item) =>
            item && (
              <Menu.Item
                key={item.label}
                onClick={item.act}
                {...(item.grave ? { c: 'var(--mantine-color-error)' } : {})}
              >
                {item.label}
              </Menu.Item>
            ),
        )}
      </Menu.Dropdown>
    </Menu>
  );
}
