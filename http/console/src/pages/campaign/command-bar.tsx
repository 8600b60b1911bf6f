import { ActionIcon, Button, Group, Menu } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { ComponentType } from 'react';
import { useEffect, useRef, useState } from 'react';
import { Link } from 'wouter';

import type { Campaign } from '../../api/client';
import { useUser } from '../../api/session';
import { CommandDialog } from '../../components/command-dialog';
import { ChartIcon, CopyIcon, EditIcon, ListIcon, MoreIcon, PauseIcon, PlayIcon, RestartIcon, StopIcon, TrashIcon, UndoIcon, UploadIcon } from '../../components/icons';
import type { Action, Asked } from '../../words/commands';
import { actionsOf, labels, mayAddContacts } from '../../words/commands';
import { ActivityDrawer } from './activity-drawer';
import { AddContacts } from './add-contacts';
import { CloneDialog } from './clone-dialog';
import { ReportButton } from './report-button';

const icons: Record<Action, ComponentType<{ size?: number }>> = {
  start: PlayIcon,
  pause: PauseIcon,
  resume: PlayIcon,
  stop: StopIcon,
  restart: RestartIcon,
  'cancel-restart': UndoIcon,
  delete: TrashIcon,
  edit: EditIcon,
  clone: CopyIcon,
};

const looks: Partial<Record<Action, { variant: string; c?: string }>> = {
  start: { variant: 'filled' },
  resume: { variant: 'filled' },
  stop: { variant: 'default', c: 'var(--mantine-color-error)' },
};

/** By then a dialog that was closed has given the focus back. */
const returnedMs = 100;

/** CommandBar holds what can be done to the campaign in its present state. Every command asks first. */
export function CommandBar({ campaign: c }: { campaign: Campaign }) {
  const { role } = useUser();
  const actions = actionsOf(c, role);
  const [asked, setAsked] = useState<Asked>();
  const [adding, { open: add, close: closeAdding }] = useDisclosure(false);
  const [cloning, { open: clone, close: closeCloning }] = useDisclosure(false);
  const [logging, { open: log, close: closeLog }] = useDisclosure(false);
  const commands = actions.filter((a): a is Exclude<Asked, 'delete'> => a !== 'delete' && a !== 'edit' && a !== 'clone');
  // A button that was pressed goes with the state that it ended: who uses the keyboard finds the focus at the next one.
  const bar = useRef<HTMLDivElement>(null);
  const acted = useRef(false);
  const offered = commands.join();
  useEffect(() => {
    if (asked !== undefined) acted.current = true;
    if (!acted.current || asked !== undefined) return undefined;
    const wait = setTimeout(() => {
      if (document.activeElement === document.body) bar.current?.querySelector('button')?.focus();
    }, returnedMs);
    return () => clearTimeout(wait);
  }, [asked, offered]);
  return (
    <Group gap="xs" ref={bar}>
      <ReportButton campaign={c} />
      {mayAddContacts(c, role) && (
        <Button variant="default" leftSection={<UploadIcon size={16} />} onClick={add}>
          Add contacts
        </Button>
      )}
      {actions.includes('edit') && (
        <Button variant="default" leftSection={<EditIcon size={16} />} component={Link} href={`/campaigns/${encodeURIComponent(c.campaign_id)}/edit`}>
          Edit
        </Button>
      )}
      {commands.reverse().map((a) => {
        const Icon = icons[a];
        return (
          <Button key={a} {...(looks[a] ?? { variant: 'default' })} leftSection={<Icon size={16} />} onClick={() => setAsked(a)}>
            {labels[a]}
          </Button>
        );
      })}
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="default" size={36} aria-label="More actions">
            <MoreIcon />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<ListIcon size={16} />} onClick={log}>
            Activity log
          </Menu.Item>
          <Menu.Item leftSection={<ChartIcon size={16} />} component={Link} href={`/campaigns/${encodeURIComponent(c.campaign_id)}/simulate`}>
            What if?
          </Menu.Item>
          {actions.includes('clone') && (
            <Menu.Item leftSection={<CopyIcon size={16} />} onClick={clone}>
              Clone…
            </Menu.Item>
          )}
          {actions.includes('delete') && (
            <Menu.Item color="red" leftSection={<TrashIcon size={16} />} onClick={() => setAsked('delete')}>
              Delete…
            </Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
      {asked && <CommandDialog action={asked} campaign={c} close={() => setAsked(undefined)} />}
      <AddContacts campaign={c} opened={adding} close={closeAdding} />
      {cloning && <CloneDialog campaign={c} close={closeCloning} />}
      <ActivityDrawer campaign={c} opened={logging} close={closeLog} />
    </Group>
  );
}
