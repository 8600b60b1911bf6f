import { ActionIcon, Button, Group, Switch, Table, Text, Tooltip } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useState } from 'react';

import type { APIKey } from '../../api/keys';
import { useAPIKeys, useCampaignNames, useChangeKey } from '../../api/keys';
import { EditIcon } from '../../components/admin-icons';
import { Activation } from '../../components/activation';
import { PlusIcon } from '../../components/icons';
import { ActionsHead, Empty, ListingPage, Rows } from '../../components/listing';
import { ToneBadge } from '../../components/tone-badge';
import { useNow, When } from '../../components/when';
import { count, plural } from '../../words/figures';
import { keyState, scopes } from '../../words/keys';
import { viewerZone } from '../../words/times';
import { KeyForm } from './key-form';

export default function KeysPage() {
  const query = useAPIKeys();
  const [creating, { open, close }] = useDisclosure(false);
  const [changed, setChanged] = useState<APIKey>();
  const [toggled, setToggled] = useState<APIKey>();
  const button = (
    <Button leftSection={<PlusIcon />} onClick={open}>
      New API key
    </Button>
  );
  return (
    <ListingPage
      title="API keys"
      intro={
        'With a key an external system places calls, adds contacts and excludes them. ' +
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
                <KeyRow key={k.id} of={k} change={() => setChanged(k)} toggle={() => setToggled(k)} />
              ))}
            </Rows>
          )}
          {creating && <KeyForm close={close} />}
          {changed && <KeyForm of={changed} close={() => setChanged(undefined)} />}
          {toggled && <Toggle of={toggled} close={() => setToggled(undefined)} />}
        </>
      )}
    </ListingPage>
  );
}

function KeyRow({ of: k, change, toggle }: { of: APIKey; change: () => void; toggle: () => void }) {
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
      <Table.Td data-mono>{k.masked}</Table.Td>
      <Table.Td>
        <Text size="sm">{k.scopes.map((s) => scopes[s].label).join(', ')}</Text>
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
        <Tooltip label="Change">
          <ActionIcon variant="subtle" color="gray" aria-label={`Change ${k.name}`} onClick={change}>
            <EditIcon />
          </ActionIcon>
        </Tooltip>
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
