import { Button, Table, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';

import { may, useUser } from '../../api/session';
import type { Bot } from '../../api/telephony';
import { useBotHealth, useDeleteBot } from '../../api/telephony';
import { Confirm } from '../../components/confirm';
import { PlusIcon } from '../../components/icons';
import { ActionsHead, Empty, ListingPage, Rows } from '../../components/listing';
import { RowMenu } from '../../components/row-menu';
import { ToneBadge, ToneWord } from '../../components/tone-badge';
import { When } from '../../components/when';
import { count } from '../../words/figures';
import { botHealth } from '../../words/telephony';
import { viewerZone } from '../../words/times';
import { TestCall } from '../trunks/test-call';
import { BotForm } from './bot-form';

type Asked = { what: 'change' | 'delete' | 'test'; bot: Bot };

export default function BotsPage() {
  const query = useBotHealth();
  const admin = may(useUser().role, 'admin');
  const [creating, { open, close }] = useDisclosure(false);
  const [asked, setAsked] = useState<Asked>();
  const done = () => setAsked(undefined);
  return (
    <ListingPage
      title="Bots"
      intro={
        'Who talks when a call is answered. A seat is one conversation; ' +
        'no more calls are connected than there are seats.'
      }
      action={
        admin && (
          <Button leftSection={<PlusIcon />} onClick={open}>
            New bot
          </Button>
        )
      }
      query={query}
    >
      {(list) => (
        <>
          {list.length === 0 ? (
            <Empty title="No bots yet" action={admin && <Button onClick={open}>Add the first one</Button>}>
              A bot is a server that takes the audio of a call, by a WebSocket that speaks media streams or by SIP, and
              talks back.
            </Empty>
          ) : (
            <Rows
              label="Bots"
              minWidth={800}
              heads={
                <>
                  <Table.Th>Bot</Table.Th>
                  <Table.Th>Health</Table.Th>
                  <Table.Th ta="right">Seats held</Table.Th>
                  <Table.Th>Endpoints</Table.Th>
                  {admin && <ActionsHead />}
                </>
              }
            >
              {list.map((b) => {
                const health = botHealth[b.status?.health ?? (b.active ? 'unknown' : 'off')];
                return (
                  <Table.Tr key={b.id} data-bot={b.id}>
                    <Table.Td>
                      <Text size="sm" fw={600}>
                        {b.name}
                      </Text>
                      <Text size="xs" c="dimmed" ff="monospace">
                        {b.id}
                      </Text>
                    </Table.Td>
                    <Table.Td>
                      <ToneBadge tone={health.tone} label={health.label} title={health.more} />
                    </Table.Td>
                    <Table.Td ta="right" className="figure" data-figure="seats">
                      {count(b.status?.seats_held)} / {count(b.seats)}
                    </Table.Td>
                    <Table.Td>
                      {b.endpoints.map((url) => (
                        <Endpoint key={url} url={url} status={b.status?.endpoints.find((e) => e.endpoint === url)} />
                      ))}
                    </Table.Td>
                    {admin && (
                      <Table.Td ta="right">
                        <RowMenu
                          of={b.name}
                          items={[
                            { label: 'Test conversation…', act: () => setAsked({ what: 'test', bot: b }) },
                            { label: 'Change…', act: () => setAsked({ what: 'change', bot: b }) },
                            { label: 'Delete…', act: () => setAsked({ what: 'delete', bot: b }), grave: true },
                          ]}
                        />
                      </Table.Td>
                    )}
                  </Table.Tr>
                );
              })}
            </Rows>
          )}
          {creating && <BotForm close={close} />}
          {asked?.what === 'change' && <BotForm of={asked.bot} close={done} />}
          {asked?.what === 'test' && <TestCall bot={asked.bot} close={done} />}
          {asked?.what === 'delete' && <Delete of={asked.bot} close={done} />}
        </>
      )}
    </ListingPage>
  );
}

function Endpoint({
  url,
  status,
}: {
  url: string;
  status: NonNullable<Bot['status']>['endpoints'][number] | undefined;
}) {
  const health = botHealth[status?.health ?? 'unknown'];
  return (
    <>
      <Text size="sm" component="div">
        <ToneWord tone={health.tone} label={url} title={health.label} />
      </Text>
      {status?.reason !== undefined && status.reason !== '' && (
        <Text size="xs" c="dimmed" pl={13}>
          {status.reason}
          {status.since !== null && (
            <>
              {', since '}
              <When at={status.since} zone={viewerZone} precise />
            </>
          )}
        </Text>
      )}
    </>
  );
}

/** Delete asks, and asks again when campaigns use the bot: then they fail. */
function Delete({ of: b, close }: { of: Bot; close: () => void }) {
  const remove = useDeleteBot();
  const inUse = remove.error?.code === 'bot_in_use';
  return (
    <Confirm
      title={`Delete ${b.name}?`}
      lines={[
        'It can be chosen for no campaign any more. Conversations go on.',
        'To hold the dials of its campaigns for a while, make it inactive instead.',
      ]}
      confirm="Delete"
      grave
      busy={remove.isPending}
      problem={remove.error}
      again={inUse ? 'Delete it, and fail these campaigns' : 'Try again'}
      close={close}
      carryOut={() =>
        remove.mutate(
          { id: b.id, force: inUse },
          {
            onSuccess: () => {
              notifications.show({ color: 'green', message: `Deleted: ${b.name}` });
              close();
            },
          },
        )
      }
    />
  );
}
