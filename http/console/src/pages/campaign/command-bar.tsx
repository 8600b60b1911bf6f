import { ActionIcon, Button, Group, Menu } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQueryClient } from '@tanstack/react-query';
import type { ComponentType } from 'react';
import { Suspense, useEffect, useRef, useState } from 'react';
import { Link } from 'wouter';

import type { Campaign } from '../../api/client';
import { keys } from '../../api/queries';
import { useUser } from '../../api/session';
import { code } from '../../components/code';
import { CommandDialog } from '../../components/command-dialog';
import { lost, whenSettled } from '../../components/focus-back';
import {
  ChartIcon,
  CopyIcon,
  EditIcon,
  ListIcon,
  MoreIcon,
  PauseIcon,
  PlayIcon,
  RestartIcon,
  StopIcon,
  TrashIcon,
  UndoIcon,
  UploadIcon,
} from '../../components/icons';
import type { Action, Asked } from '../../words/commands';
import { actionsOf, labels, mayAddContacts } from '../../words/commands';
import { ActivityDrawer } from './activity-drawer';
import { CloneDialog } from './clone-dialog';
import { ReportButton } from './report-button';
import type { Still } from './still';

// What is long comes when it is opened.
const { Show: AddContacts } = code(() => import('./add-contacts'));
const { Show: ListsDrawer } = code(() => import('./lists-drawer'));

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

/** CommandBar holds what can be done to the campaign in its present state. Every command asks first. */
export function CommandBar({ campaign: c }: { campaign: Still }) {
  const client = useQueryClient();
  // A question is asked of the campaign as it is then, with its figures.
  const current = () => client.getQueryData<Campaign>(keys.campaign(c.campaign_id));
  const { role } = useUser();
  const actions = actionsOf(c, role);
  const [asked, setQuestion] = useState<{ action: Asked; campaign: Campaign }>();
  const [cloning, setCloning] = useState<Campaign>();
  const ask = (action: Asked) => {
    const campaign = current();
    if (campaign) setQuestion({ action, campaign });
  };
  const [adding, { open: add, close: closeAdding }] = useDisclosure(false);
  const [listing, { open: list, close: closeList }] = useDisclosure(false);
  const [logging, { open: log, close: closeLog }] = useDisclosure(false);
  const commands = actions.filter(
    (a): a is Exclude<Asked, 'delete'> => a !== 'delete' && a !== 'edit' && a !== 'clone',
  );
  // A button that was pressed goes with the state that it ended: who uses the keyboard finds the focus at the next one.
  const bar = useRef<HTMLDivElement>(null);
  const acted = useRef(false);
  const offered = commands.join();
  useEffect(() => {
    if (asked !== undefined) acted.current = true;
    if (!acted.current || asked !== undefined) return undefined;
    return whenSettled(() => {
      if (lost()) bar.current?.querySelector('button')?.focus();
    });
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
        <Button
          variant="default"
          leftSection={<EditIcon size={16} />}
          component={Link}
          href={`/campaigns/${encodeURIComponent(c.campaign_id)}/edit`}
        >
          Edit
        </Button>
      )}
      {commands.reverse().map((a) => {
        const Icon = icons[a];
        return (
          <Button
            key={a}
            {...(looks[a] ?? { variant: 'default' })}
            leftSection={<Icon size={16} />}
            onClick={() => ask(a)}
          >
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
          <Menu.Item leftSection={<UploadIcon size={16} />} onClick={list}>
            Uploaded lists
          </Menu.Item>
          <Menu.Item
            leftSection={<ChartIcon size={16} />}
            component={Link}
            href={`/campaigns/${encodeURIComponent(c.campaign_id)}/simulate`}
          >
            What if?
          </Menu.Item>
          {actions.includes('clone') && (
            <Menu.Item leftSection={<CopyIcon size={16} />} onClick={() => setCloning(current())}>
              Clone…
            </Menu.Item>
          )}
          {actions.includes('delete') && (
            <Menu.Item color="red" leftSection={<TrashIcon size={16} />} onClick={() => ask('delete')}>
              Delete…
            </Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
      {asked && <CommandDialog {...asked} close={() => setQuestion(undefined)} />}
      {cloning && <CloneDialog campaign={cloning} close={() => setCloning(undefined)} />}
      {logging && <ActivityDrawer campaign={c} close={closeLog} />}
      <Suspense>{listing && <ListsDrawer campaign={c} close={closeList} />}</Suspense>
      <Suspense>{adding && <AddContacts campaign={c} close={closeAdding} />}</Suspense>
    </Group>
  );
}
