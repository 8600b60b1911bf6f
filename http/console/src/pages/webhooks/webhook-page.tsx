import {
  Alert,
  Anchor,
  Button,
  Code,
  Group,
  SegmentedControl,
  Skeleton,
  Stack,
  Table,
  Text,
  TextInput,
  Title,
} from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import { Link, useLocation } from 'wouter';

import { may, useUser } from '../../api/session';
import type { Delivery, Webhook } from '../../api/webhooks';
import {
  useChangeWebhook,
  useDeleteWebhook,
  useDeliveries,
  useReplay,
  useReplayFailed,
  useRotateSecret,
  useTestWebhook,
  useWebhooks,
} from '../../api/webhooks';
import { asProblem } from '../../api/problem';
import { Confirm } from '../../components/confirm';
import { Dialog } from '../../components/dialog';
import { Failure } from '../../components/failure';
import { Empty, Rows } from '../../components/listing';
import { Once } from '../../components/once';
import { PageBody } from '../../components/page';
import { ToneBadge } from '../../components/tone-badge';
import { When } from '../../components/when';
import { plural } from '../../words/figures';
import { fromField, toField } from '../../words/local-time';
import { viewerZone } from '../../words/times';
import { answer, deliveryState, hookState, permission, permits } from '../../words/webhooks';
import { NotFoundPage } from '../not-found-page';
import { WebhookForm } from './webhook-form';

export default function WebhookPage({ params }: { params: Record<string, string> }) {
  const id = decodeURIComponent(params['id'] ?? '');
  const query = useWebhooks();
  const hook = query.data?.find((h) => h.id === id);
  if (hook !== undefined) return <Shown hook={hook} />;
  if (query.data !== undefined) return <NotFoundPage what="endpoint" />;
  return (
    <PageBody title="Webhook">
      {query.isError ? (
        <Failure title="The endpoint cannot be shown" problem={query.error} retry={() => void query.refetch()} />
      ) : (
        <Skeleton height={240} role="status" aria-label="Loading" />
      )}
    </PageBody>
  );
}

type Asked = 'change' | 'rotate' | 'active' | 'delete' | 'replay';

function Shown({ hook }: { hook: Webhook }) {
  const admin = may(useUser().role, 'admin');
  const [asked, setAsked] = useState<Asked>();
  const [state, setState] = useState<Delivery['state']>();
  const test = useTestWebhook();
  const s = hookState(hook);
  const done = () => setAsked(undefined);
  return (
    <PageBody title={hook.url}>
      <Stack gap="md">
        <Group justify="space-between" align="flex-start">
          <Stack gap={4}>
            <Anchor component={Link} href="/webhooks" size="sm" underline="always">
              All webhooks
            </Anchor>
            <Group gap="sm">
              <Title order={1} size="h3" style={{ overflowWrap: 'anywhere' }}>
                {hook.url}
              </Title>
              <ToneBadge tone={s.tone} label={s.label} title={s.more} />
            </Group>
            <Text size="sm" c="dimmed">
              {[
                hook.description,
                hook.types.length === 0
                  ? 'every event except call progress'
                  : hook.types.filter((t) => t !== permission).join(', '),
                permits(hook.types) ? 'requests may name addresses below it' : '',
                hook.campaigns.length === 0 ? 'every campaign' : plural(hook.campaigns.length, 'campaign'),
              ]
                .filter((t) => t !== '')
                .join(' · ')}
            </Text>
          </Stack>
          {admin && (
            <Group gap="xs">
              <Button
                variant="default"
                loading={test.isPending}
                onClick={() =>
                  test.mutate(hook.id, {
                    onSuccess: () =>
                      notifications.show({ message: 'A test message is being sent; the log shows what comes of it.' }),
                  })
                }
              >
                Send a test
              </Button>
              <Button variant="default" onClick={() => setAsked('change')}>
                Change…
              </Button>
              <Button variant="default" onClick={() => setAsked('rotate')}>
                New secret…
              </Button>
              <Button variant="default" onClick={() => setAsked('active')}>
                {hook.is_active ? 'Deactivate…' : 'Activate'}
              </Button>
              <Button variant="default" c="var(--mantine-color-error)" onClick={() => setAsked('delete')}>
                Delete…
              </Button>
            </Group>
          )}
        </Group>
        {test.error && <Failure title="No test was sent" problem={test.error} />}
        {!hook.is_active && hook.disabled_reason !== undefined && (
          <Alert color="red" variant="light">
            {s.more} Mend the server, then activate the endpoint and send again what failed.
          </Alert>
        )}
        {hook.old_secret_until !== null && (
          <Text size="sm">
            The secret before signs too until <When at={hook.old_secret_until} zone={viewerZone} />.
          </Text>
        )}
        <Group justify="space-between">
          <Title order={2} size="h4">
            Log
          </Title>
          <Group gap="xs">
            <SegmentedControl
              size="xs"
              aria-label="Deliveries by state"
              value={state ?? ''}
              onChange={(v) => setState(v === '' ? undefined : (v as Delivery['state']))}
              data={[
                { value: '', label: 'All' },
                ...Object.entries(deliveryState).map(([value, { label }]) => ({ value, label })),
              ]}
            />
            {admin && (
              <Button size="xs" variant="default" onClick={() => setAsked('replay')}>
                Send again what failed…
              </Button>
            )}
          </Group>
        </Group>
        <Log hook={hook} state={state} admin={admin} />
      </Stack>
      {asked === 'change' && <WebhookForm of={hook} close={done} />}
      {asked === 'rotate' && <Rotate hook={hook} close={done} />}
      {asked === 'active' && <Active hook={hook} close={done} />}
      {asked === 'delete' && <Delete hook={hook} close={done} />}
      {asked === 'replay' && <ReplayFailed hook={hook} close={done} />}
    </PageBody>
  );
}

function Log({ hook, state, admin }: { hook: Webhook; state: Delivery['state'] | undefined; admin: boolean }) {
  const log = useDeliveries(hook.id, state);
  const replay = useReplay(hook.id);
  if (log.isError && log.data === undefined)
    return <Failure title="The log cannot be shown" problem={asProblem(log.error)} retry={() => void log.refetch()} />;
  if (log.data === undefined) return <Skeleton height={200} role="status" aria-label="Loading" />;
  const list = log.data.pages.flatMap((p) => p.deliveries);
  if (list.length === 0)
    return (
      <Empty title="Nothing was sent">
        {state === undefined
          ? 'What happens from now on is sent, and shown here: delivered messages for 3 days, others for 14. ' +
            'Send a test to see whether your server takes it.'
          : 'No message is in this state.'}
      </Empty>
    );
  return (
    <>
      {replay.error && <Failure title="It was not sent again" problem={replay.error} />}
      <Rows
        label="Deliveries"
        minWidth={720}
        heads={
          <>
            <Table.Th>Event</Table.Th>
            <Table.Th>State</Table.Th>
            <Table.Th>Answer</Table.Th>
            <Table.Th>Made</Table.Th>
            <Table.Th>Last try</Table.Th>
            {admin && <Table.Th>Again</Table.Th>}
          </>
        }
      >
        {list.map((d) => (
          <Table.Tr key={d.id} data-delivery={d.id}>
            <Table.Td>
              <Text size="sm" fw={600}>
                {d.type}
              </Text>
              {d.own_address && <Text size="xs">to the address of a request</Text>}
              <Text size="xs" c="dimmed" ff="monospace">
                {d.webhook_message_id}
              </Text>
            </Table.Td>
            <Table.Td>
              <ToneBadge tone={deliveryState[d.state].tone} label={deliveryState[d.state].label} />
            </Table.Td>
            <Table.Td>
              <Text size="sm">{answer(d)}</Text>
              {d.state !== 'delivered' && d.response_body !== undefined && d.response_body !== '' && (
                <Code style={{ overflowWrap: 'anywhere' }}>{d.response_body.slice(0, 200)}</Code>
              )}
              {d.next_attempt_at !== null && (
                <Text size="xs" c="dimmed">
                  next try <When at={d.next_attempt_at} zone={viewerZone} precise />
                </Text>
              )}
            </Table.Td>
            <Table.Td>
              <When at={d.created_at} zone={viewerZone} precise />
            </Table.Td>
            <Table.Td>
              {d.last_attempt_at === null ? '' : <When at={d.last_attempt_at} zone={viewerZone} precise />}
            </Table.Td>
            {admin && (
              <Table.Td>
                <Button
                  size="xs"
                  variant="default"
                  disabled={d.state === 'pending'}
                  loading={replay.isPending && replay.variables === d.id}
                  onClick={() => replay.mutate(d.id)}
                  aria-label={`Send ${d.type} again`}
                >
                  Send again
                </Button>
              </Table.Td>
            )}
          </Table.Tr>
        ))}
      </Rows>
      {log.hasNextPage && (
        <Group justify="center">
          <Button variant="default" loading={log.isFetchingNextPage} onClick={() => void log.fetchNextPage()}>
            Older ones
          </Button>
        </Group>
      )}
    </>
  );
}

function Rotate({ hook, close }: { hook: Webhook; close: () => void }) {
  const rotate = useRotateSecret();
  if (rotate.data?.secret !== undefined) {
    return (
      <Dialog close={close} closeOnClickOutside={false} closeOnEscape={false} size="lg" title="New secret">
        <Once what="the secret" kept secret={rotate.data.secret} done={close} />
      </Dialog>
    );
  }
  return (
    <Confirm
      title="Make a new secret?"
      lines={[
        'It is shown once.',
        'For 24 hours messages are signed with both secrets: change it on your server within that time.',
      ]}
      confirm="Make a new secret"
      busy={rotate.isPending}
      problem={rotate.error}
      close={close}
      carryOut={() => rotate.mutate(hook.id)}
    />
  );
}

function Active({ hook, close }: { hook: Webhook; close: () => void }) {
  const change = useChangeWebhook();
  const off = hook.is_active;
  return (
    <Confirm
      title={off ? 'Deactivate the endpoint?' : 'Activate the endpoint?'}
      lines={
        off
          ? [
              'Events of the time in which it is inactive are never sent.',
              'What waits fails when its turn comes, and can be sent again.',
              ...(permits(hook.types) ? ['Requests that name an address below it are refused meanwhile.'] : []),
            ]
          : ['It is told of what happens from now on.']
      }
      confirm={off ? 'Deactivate' : 'Activate'}
      grave={off}
      busy={change.isPending}
      problem={change.error}
      close={close}
      carryOut={() => change.mutate({ id: hook.id, change: { is_active: !off } }, { onSuccess: close })}
    />
  );
}

function Delete({ hook, close }: { hook: Webhook; close: () => void }) {
  const remove = useDeleteWebhook();
  const [, go] = useLocation();
  return (
    <Confirm
      title="Delete the endpoint?"
      lines={[
        'Its log and what was still to be sent to it are deleted too.',
        ...(permits(hook.types)
          ? [
              'Addresses that requests named below it are told nothing more, unless another active endpoint permits ' +
                'them, now or later.',
            ]
          : []),
        'To hold it for a while, deactivate it instead.',
      ]}
      confirm="Delete"
      grave
      busy={remove.isPending}
      problem={remove.error}
      close={close}
      carryOut={() =>
        remove.mutate(hook.id, {
          onSuccess: () => {
            notifications.show({ color: 'green', message: `Deleted: ${hook.url}` });
            go('/webhooks');
          },
        })
      }
    />
  );
}

function ReplayFailed({ hook, close }: { hook: Webhook; close: () => void }) {
  const replay = useReplayFailed();
  const [since, setSince] = useState(() => toField(hook.disabled_at ?? hook.last_delivered_at ?? hook.created_at));
  return (
    <Confirm
      title="Send again what failed?"
      lines={['Every failed message made since then is sent again, the oldest first, with the same webhook-id.']}
      confirm="Send again"
      busy={replay.isPending}
      problem={replay.error}
      close={close}
      carryOut={() => {
        const at = fromField(since);
        if (at === null) return;
        replay.mutate(
          { id: hook.id, since: at },
          {
            onSuccess: ({ replayed }) => {
              notifications.show({ color: 'green', message: `${plural(replayed, 'message')} being sent again.` });
              close();
            },
          },
        );
      }}
    >
      <TextInput
        type="datetime-local"
        label="Since"
        description={`By your clock, ${viewerZone}`}
        required
        withAsterisk={false}
        value={since}
        onChange={(e) => setSince(e.currentTarget.value)}
      />
    </Confirm>
  );
}
