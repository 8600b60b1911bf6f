import { Button, Table, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Link } from 'wouter';

import { may, useUser } from '../../api/session';
import { useWebhooks } from '../../api/webhooks';
import { PlusIcon } from '../../components/icons';
import { Empty, ListingPage, Rows } from '../../components/listing';
import { ToneBadge } from '../../components/tone-badge';
import { When } from '../../components/when';
import { plural } from '../../words/figures';
import { viewerZone } from '../../words/times';
import { eventsOf, hookState } from '../../words/webhooks';
import { WebhookForm } from './webhook-form';
import css from './webhooks-page.module.css';

export default function WebhooksPage() {
  const query = useWebhooks();
  const admin = may(useUser().role, 'admin');
  const [creating, { open, close }] = useDisclosure(false);
  return (
    <ListingPage
      title="Webhooks"
      intro={
        'Other systems are told what happens by signed POSTs (Standard Webhooks), with tries over days. ' +
        'Each endpoint has a log, from which messages can be sent again.'
      }
      action={
        admin && (
          <Button leftSection={<PlusIcon />} onClick={open}>
            New endpoint
          </Button>
        )
      }
      query={query}
    >
      {(list) => (
        <>
          {list.length === 0 ? (
            <Empty title="No endpoints yet" action={admin && <Button onClick={open}>Add the first one</Button>}>
              Give the address of a server of yours, and it learns of ended calls, results, callbacks and campaigns as
              they happen, without asking.
            </Empty>
          ) : (
            <Rows
              label="Webhooks"
              minWidth={720}
              heads={
                <>
                  <Table.Th>Endpoint</Table.Th>
                  <Table.Th>State</Table.Th>
                  <Table.Th>Events</Table.Th>
                  <Table.Th>Campaigns</Table.Th>
                  <Table.Th>Last delivered</Table.Th>
                </>
              }
            >
              {list.map((h) => {
                const s = hookState(h);
                return (
                  <Table.Tr key={h.id} data-webhook={h.id}>
                    <Table.Td>
                      <Link href={`/webhooks/${encodeURIComponent(h.id)}`} className={css.url}>
                        {h.url}
                      </Link>
                      {h.description !== '' && (
                        <Text size="xs" c="dimmed">
                          {h.description}
                        </Text>
                      )}
                    </Table.Td>
                    <Table.Td>
                      <ToneBadge tone={s.tone} label={s.label} title={s.more} />
                    </Table.Td>
                    <Table.Td title={h.types.join('\n')}>{eventsOf(h.types)}</Table.Td>
                    <Table.Td>{h.campaigns.length === 0 ? 'all' : plural(h.campaigns.length, 'campaign')}</Table.Td>
                    <Table.Td>
                      {h.last_delivered_at === null ? (
                        <Text size="sm" c="dimmed">
                          never
                        </Text>
                      ) : (
                        <When at={h.last_delivered_at} zone={viewerZone} precise />
                      )}
                    </Table.Td>
                  </Table.Tr>
                );
              })}
            </Rows>
          )}
          {creating && <WebhookForm close={close} />}
        </>
      )}
    </ListingPage>
  );
}
