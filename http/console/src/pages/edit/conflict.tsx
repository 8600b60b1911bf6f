import { Alert, Button, Group, SegmentedControl, Table, Text } from '@mantine/core';
import { useState } from 'react';

import type { Campaign } from '../../api/client';
import { useLastEdit } from '../../api/queries';
import { AlertIcon } from '../../components/icons';
import type { Draft } from '../../words/mistakes';
import type { Settings } from '../../words/settings';
import { clashes, nameOf, valueOf } from '../../words/settings';
import css from './conflict.module.css';

interface Props {
  campaign: Campaign;
  before: Settings;
  now: { settings: Settings; version: number };
  draft: Draft;
  /** Goes on with what holds now and one's own changes; of what both changed, one's own only where it is named. */
  takeOver: (keptMine: ReadonlySet<string>) => void;
  discard: () => void;
}

/** Conflict shows what somebody else saved while one was editing, setting by setting. */
export function Conflict({ campaign: c, before, now, draft, takeOver, discard }: Props) {
  const [mine, setMine] = useState<ReadonlySet<string>>(new Set());
  const last = useLastEdit(c.campaign_id, now.version, true);
  const list = clashes(before, now.settings, draft);
  const who = last.data?.who.name;
  const choose = (field: string, own: boolean) =>
    setMine((old) => {
      const next = new Set(old);
      if (own) next.add(field);
      else next.delete(field);
      return next;
    });
  return (
    <Alert
      role="alert"
      color="yellow"
      styles={{ body: { minWidth: 0 }, title: { overflowWrap: 'anywhere' }, label: { whiteSpace: 'normal' } }}
      icon={<AlertIcon />}
      title={`${who ?? 'Somebody else'} changed this campaign meanwhile`}
      data-conflict={now.version}
    >
      <Text size="sm">
        Nothing of your edit is lost: look at what changed, then go on with it. What you changed and they did not is
        kept.
      </Text>
      <Table.ScrollContainer type="native" minWidth={0} tabIndex={0} role="region" aria-label="What changed meanwhile">
        <Table fz="sm" mt="xs" aria-label="Changes of others" className={css.table}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Setting</Table.Th>
              <Table.Th>Before</Table.Th>
              <Table.Th>Theirs, saved</Table.Th>
              <Table.Th>Yours</Table.Th>
              <Table.Th>Go on with</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {list.map((l) => (
              <Table.Tr key={l.field} role="row" data-clash={l.field} data-both={l.both || undefined}>
                <Table.Td role="cell">{nameOf(l.field)}</Table.Td>
                <Table.Td role="cell" data-label="Before">
                  {valueOf(l.field, l.before)}
                </Table.Td>
                <Table.Td role="cell" data-label="Theirs, saved">
                  <b>{valueOf(l.field, l.theirs)}</b>
                </Table.Td>
                <Table.Td role="cell" data-label="Yours">
                  {valueOf(l.field, l.mine)}
                </Table.Td>
                <Table.Td role="cell" data-label="Go on with">
                  {l.both ? (
                    <SegmentedControl
                      size="xs"
                      aria-label={`${nameOf(l.field)}: go on with`}
                      value={mine.has(l.field) ? 'mine' : 'theirs'}
                      onChange={(v) => choose(l.field, v === 'mine')}
                      data={[
                        { value: 'theirs', label: 'Theirs' },
                        { value: 'mine', label: 'Mine' },
                      ]}
                    />
                  ) : (
                    'Theirs'
                  )}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      <Group gap="xs" mt="sm">
        <Button size="xs" onClick={() => takeOver(mine)}>
          Go on editing
        </Button>
        <Button size="xs" variant="default" onClick={discard}>
          Discard my changes
        </Button>
      </Group>
    </Alert>
  );
}
