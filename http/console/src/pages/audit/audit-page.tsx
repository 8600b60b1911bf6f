import { Group, List, MultiSelect, Table, Text } from '@mantine/core';
import { useState } from 'react';

import type { Activity } from '../../api/audit';
import { useAudit } from '../../api/audit';
import { Empty, ListingPage, Rows } from '../../components/listing';
import { Pager } from '../../components/pager';
import { When } from '../../components/when';
import { words } from '../../words/states';
import { viewerZone } from '../../words/times';

/** What the set-up's log has, in the words of the API. */
const kinds = [
  'create_cadence',
  'change_cadence',
  'delete_cadence',
  'create_calendar',
  'change_calendar',
  'delete_calendar',
  'refresh_calendar',
  'create_bot',
  'change_bot',
  'delete_bot',
  'create_trunk',
  'change_trunk',
  'delete_trunk',
  'create_number',
  'change_number',
  'create_key',
  'change_key',
  'delete_key',
  'create_user',
  'change_user',
  'lock_user',
  'unlock_user',
  'create_webhook',
  'change_webhook',
  'delete_webhook',
  'disable_webhook',
  'rotate_key_secret',
  'rotate_webhook_secret',
  'test_webhook',
  'replay_webhook',
  'suppress',
  'lift_suppression',
  'delete_recording',
  'erase_person',
  'accept_restore',
  'change_call_frequency',
  'add_voicemail',
  'delete_voicemail',
  'label_verdict',
  'delete',
];

export default function AuditPage() {
  const [page, setPage] = useState(1);
  const [chosen, setChosen] = useState<string[]>([]);
  const query = useAudit(page, chosen);
  return (
    <ListingPage
      title="Audit"
      intro="Who changed what of the set-up, and when. What was done to a campaign stands in its own activity log."
      above={
        <Group mb="md">
          <MultiSelect
            label="Show only"
            placeholder={chosen.length === 0 ? 'Everything' : ''}
            data={kinds.map((k) => ({ value: k, label: words(k) }))}
            value={chosen}
            onChange={(v) => {
              setChosen(v);
              setPage(1);
            }}
            searchable
            clearable
            clearButtonProps={{ 'aria-label': 'Show everything' }}
            w={{ base: '100%', sm: 420 }}
          />
        </Group>
      }
      query={query}
    >
      {(log) =>
        log.activity.length === 0 ? (
          <Empty title={chosen.length === 0 ? 'Nothing yet' : 'Nothing of this kind'}>
            Changes of bots, trunks, numbers, keys, users, webhooks and the suppression list are kept here for good.
          </Empty>
        ) : (
          <Rows
            plain
            label="Audit"
            minWidth={720}
            heads={
              <>
                <Table.Th>When</Table.Th>
                <Table.Th>Who</Table.Th>
                <Table.Th>What</Table.Th>
                <Table.Th>Changes</Table.Th>
              </>
            }
            foot={<Pager page={page} size={50} total={log.total} go={setPage} />}
          >
            {log.activity.map((a, i) => (
              <Table.Tr key={`${a.at} ${i}`} data-action={a.action}>
                <Table.Td>
                  <When at={a.at} zone={viewerZone} precise />
                </Table.Td>
                <Table.Td>
                  <Text size="sm">{a.who.name}</Text>
                  {a.who.from !== undefined && a.who.from !== '' && (
                    <Text size="xs" c="dimmed">
                      from {a.who.from}
                    </Text>
                  )}
                </Table.Td>
                <Table.Td>
                  {words(a.action)}
                  {a.subject !== undefined && (
                    <Text size="xs" c="dimmed" ff="monospace">
                      {a.subject}
                    </Text>
                  )}
                </Table.Td>
                <Table.Td>
                  <Changes of={a} />
                </Table.Td>
              </Table.Tr>
            ))}
          </Rows>
        )
      }
    </ListingPage>
  );
}

function Changes({ of: a }: { of: Activity }) {
  if (!a.changes || a.changes.length === 0) return <Text size="sm">{a.reason ?? ''}</Text>;
  return (
    <List size="sm" listStyleType="none">
      {a.changes.map((c) => (
        <List.Item key={c.field}>
          {words(c.field)}: {value(c.from)} → {value(c.to)}
        </List.Item>
      ))}
    </List>
  );
}

/** value writes what a setting was. */
function value(v: unknown): string {
  if (v === null || v === undefined || v === '') return 'none';
  if (typeof v === 'string') return v;
  return JSON.stringify(v);
}
