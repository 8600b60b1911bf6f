import { Button, Group, Select, Switch, Table, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useState } from 'react';

import type { APIKey } from '../../api/keys';
import { useAPIKeys, useCampaignNames, useChangeKey, useDeleteKey, useRotateKey } from '../../api/keys';
import { Activation } from '../../components/activation';
import { Confirm } from '../../components/confirm';
import { Dialog } from '../../components/dialog';
import { PlusIcon } from '../../components/icons';
import { ActionsHead, Empty, ListingPage, Rows } from '../../components/listing';
import { Once } from '../../components/once';
import { RowMenu } from '../../components/row-menu';
import { ToneBadge } from '../../components/tone-badge';
import { useNow, When } from '../../components/when';
import { count, plural } from '../../words/figures';
import { example, keyState, scopeName } from '../../words/keys';
import { viewerZone } from '../../words/times';
import { KeyForm } from './key-form';

export default function KeysPage() {
  const query = useAPIKeys();
  const [creating, { open, close }] = useDisclosure(false);
  const [changed, setChanged] = useState<APIKey>();
  const [toggled, setToggled] = useState<APIKey>();
  const [rotated, setRotated] = useState<APIKey>();
  const [deleted, setDeleted] = useState<APIKey>();
  const button = (
    <Button leftSection={<PlusIcon />} onClick={open}>
      New API key
    </Button>
  );
  return (
    <ListingPage
      title="API keys"
      intro={
        'With a key an external system does what the key is for: places calls, adds contacts, sets up campaigns. ' +
        'A key is shown once, when it is made; only its hash is kept.'
      }
      action={button}
      query={query}
    >
      {(list) => (
        <>
          {list.length === 0 ? (
            <Empty title="No API keys yet" action={<Button onClick={open}>Make the first one</Button>}>
              A CRM sends its key in the header X-API-Key. Make one for each system, so that one can be turned off
              without the others.
            </Empty>
          ) : (
            <Rows
              label="API keys"
              minWidth={940}
              heads={
                <>
                  <Table.Th>Name</Table.Th>
                  <Table.Th>Key</Table.Th>
                  <Table.Th>May</Table.Th>
                  <Table.Th>Campaigns</Table.Th>
                  <Table.Th>Expires</Table.Th>
                  <Table.Th>Last used</Table.Th>
                  <Table.Th>State</Table.Th>
                  <ActionsHead />
                </>
              }
            >
              {list.map((k) => (
                <KeyRow
                  key={k.id}
                  of={k}
                  change={() => setChanged(k)}
                  toggle={() => setToggled(k)}
                  rotate={() => setRotated(k)}
                  remove={() => setDeleted(k)}
                />
              ))}
            </Rows>
          )}
          {creating && <KeyForm close={close} />}
          {changed && <KeyForm of={changed} close={() => setChanged(undefined)} />}
          {toggled && <Toggle of={toggled} close={() => setToggled(undefined)} />}
          {rotated && <Rotate of={rotated} close={() => setRotated(undefined)} />}
          {deleted && <Delete of={deleted} close={() => setDeleted(undefined)} />}
        </>
      )}
    </ListingPage>
  );
}

/** How many scopes of a key a row names. */
const shownScopes = 5;

interface RowProps {
  of: APIKey;
  change: () => void;
  toggle: () => void;
  rotate: () => void;
  remove: () => void;
}

function KeyRow({ of: k, change, toggle, rotate, remove }: RowProps) {
  const now = useNow();
  const state = keyState(k, now.getTime());
  return (
    <Table.Tr data-key={k.id}>
      <Table.Td>
        <Text size="sm" fw={600}>
          {k.name}
        </Text>
        <Text size="xs" c="dimmed">
          {k.created_by !== '' && `by ${k.created_by}, `}
          <When at={k.created_at} zone={viewerZone} />
        </Text>
      </Table.Td>
      <Table.Td>
        <Text size="sm" data-mono>
          {k.masked}
        </Text>
        {k.old_secret_until !== null && Date.parse(k.old_secret_until) > now.getTime() && (
          <Text size="xs" c="dimmed">
            the old secret until <When at={k.old_secret_until} zone={viewerZone} />
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <Text size="sm" title={k.scopes.map(scopeName).join('\n')}>
          {k.scopes.slice(0, shownScopes).map(scopeName).join(', ')}
          {k.scopes.length > shownScopes && ` and ${count(k.scopes.length - shownScopes)} more`}
        </Text>
        {k.dialouts_per_day > 0 && (
          <Text size="xs" c="dimmed">
            at most {plural(k.dialouts_per_day, 'dialout')} in 24 h
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <Campaigns ids={k.campaigns} />
      </Table.Td>
      <Table.Td>
        {k.expires_at === null ? (
          <Text c="dimmed" size="sm">
            never
          </Text>
        ) : (
          <When at={k.expires_at} zone={viewerZone} />
        )}
      </Table.Td>
      <Table.Td>
        {k.last_used_at === null ? (
          <Text c="dimmed" size="sm">
            never
          </Text>
        ) : (
          <When at={k.last_used_at} zone={viewerZone} />
        )}
      </Table.Td>
      <Table.Td>
        <Group gap="sm" wrap="nowrap">
          <Switch aria-label={`${k.name} is active`} checked={k.is_active} onChange={toggle} />
          <ToneBadge tone={state.tone} label={state.label} />
        </Group>
      </Table.Td>
      <Table.Td>
        <RowMenu
          of={k.name}
          items={[
            { label: 'Change…', act: change },
            { label: 'New secret…', act: rotate },
            !k.is_active && { label: 'Delete…', act: remove, grave: true },
          ]}
        />
      </Table.Td>
    </Table.Tr>
  );
}

function Campaigns({ ids }: { ids: string[] }) {
  const names = useCampaignNames();
  if (ids.length === 0) return <Text size="sm">all</Text>;
  const first = names.data?.find((c) => c.id === ids[0])?.name ?? ids[0];
  return (
    <Text size="sm" title={ids.map((id) => names.data?.find((c) => c.id === id)?.name ?? id).join('\n')}>
      {first}
      {ids.length > 1 && ` and ${count(ids.length - 1)} more`}
    </Text>
  );
}

const overlaps = [
  { value: '0', label: 'ends at once' },
  { value: '1', label: 'is valid for an hour' },
  { value: '24', label: 'is valid for a day' },
  { value: '168', label: 'is valid for a week' },
  { value: '720', label: 'is valid for 30 days' },
];

/** Rotate gives a key another secret, which is shown once. */
function Rotate({ of: k, close }: { of: APIKey; close: () => void }) {
  const rotate = useRotateKey();
  const [hours, setHours] = useState('24');
  if (rotate.data !== undefined) {
    return (
      <Dialog
        close={close}
        closeOnClickOutside={false}
        closeOnEscape={false}
        size="lg"
        title={`New secret of ${k.name}`}
      >
        <Once
          what="the key"
          secret={rotate.data.key}
          use={{ label: 'A request', text: example(location.origin, rotate.data.key, rotate.data.scopes) }}
          done={close}
        />
      </Dialog>
    );
  }
  const until = () => (hours === '0' ? null : new Date(Date.now() + Number(hours) * 3_600_000).toISOString());
  return (
    <Confirm
      title={`A new secret for ${k.name}?`}
      lines={['It is shown once. Scopes, campaigns and history of the key stay.']}
      confirm="Make a new secret"
      busy={rotate.isPending}
      problem={rotate.error}
      close={close}
      carryOut={() => rotate.mutate({ id: k.id, until: until() })}
    >
      <Select
        label="The old secret"
        description="Change it in the other system within that time"
        data={overlaps}
        value={hours}
        onChange={(v) => setHours(v ?? '24')}
        allowDeselect={false}
        comboboxProps={{ withinPortal: true }}
      />
    </Confirm>
  );
}

function Delete({ of: k, close }: { of: APIKey; close: () => void }) {
  const remove = useDeleteKey();
  return (
    <Confirm
      title={`Delete ${k.name}?`}
      lines={['It cannot be activated again.', 'The activity log keeps what was done with it.']}
      confirm="Delete the key"
      grave
      busy={remove.isPending}
      problem={remove.error}
      close={close}
      carryOut={() => remove.mutate(k.id, { onSuccess: close })}
    />
  );
}

/** Toggle asks before a key is turned off or on. */
function Toggle({ of: k, close }: { of: APIKey; close: () => void }) {
  const change = useChangeKey();
  const now = useNow();
  const expired = k.expires_at !== null && Date.parse(k.expires_at) < now.getTime();
  return (
    <Activation
      of={k.name}
      active={k.is_active}
      lines={
        k.is_active
          ? [
              'Requests with this key are refused (401) from the answer on.',
              'Calls that it placed go on; contacts that it added stay.',
              'It can be activated again, and its history stays.',
            ]
          : [
              'Requests with this key are accepted again.',
              ...(expired ? ['It has expired all the same: give it another date to make it work.'] : []),
            ]
      }
      change={change}
      carryOut={(answer) => change.mutate({ id: k.id, change: { is_active: !k.is_active } }, answer)}
      close={close}
    />
  );
}
