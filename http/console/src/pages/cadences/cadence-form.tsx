import { Alert, Button, Select, SimpleGrid, Stack, Table, Text, TextInput, Textarea } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { useQuery } from '@tanstack/react-query';
import type { SyntheticEvent } from 'react';
import { useState } from 'react';

import type { Cadence, Preview } from '../../api/cadences';
import { usePreview, usePutCadence } from '../../api/cadences';
import type { Schemas } from '../../api/client';
import { mistakes } from '../../api/mistakes';
import { Problem } from '../../api/problem';
import { campaignsOf } from '../../api/queries';
import { Dialog } from '../../components/dialog';
import { Failure } from '../../components/failure';
import { FormButtons } from '../../components/form-buttons';
import { AlertIcon } from '../../components/icons';
import { listable } from '../../words/outcomes.gen';
import { outcome } from '../../words/states';
import { viewerZone, wallTime } from '../../words/times';

const between = ' · ';

/** rulesOf are the rules of a cadence one by one. */
export const rulesOf = (rules: string) => rules.split(between);

const example = 'busy: 5m, 15m, 1h\nno_answer: 3h, another part of the day, next day';

/** CadenceForm makes a cadence, or changes one, beside the dates on which a contact would be dialled. */
export function CadenceForm({ of: c, close }: { of?: Cadence; close: () => void }) {
  const put = usePutCadence();
  const [id, setId] = useState('');
  const [name, setName] = useState(c?.name ?? '');
  const [rules, setRules] = useState(rulesOf(c?.rules ?? '').join('\n'));
  const [version, setVersion] = useState(c?.version);
  const { of, rest } = mistakes(put.error, 'id', 'cadence_id', 'name', 'rules');
  const now =
    c !== undefined && put.error?.code === 'version_conflict' ? (put.error.current as Cadence | undefined) : undefined;
  const submit = (e: SyntheticEvent) => {
    e.preventDefault();
    const body = { name: name.trim(), rules, ...(version === undefined ? {} : { version }) };
    put.mutate(
      { id: c?.cadence_id ?? id.trim(), body },
      {
        onSuccess: (saved) => {
          notifications.show({ color: 'green', message: `Saved: ${saved.name}` });
          close();
        },
      },
    );
  };
  return (
    <Dialog
      close={close}
      size="xl"
      closeOnClickOutside={false}
      title={c === undefined ? 'New cadence' : `Change ${c.name}`}
    >
      <form onSubmit={submit}>
        <Stack>
          {now === undefined && rest && <Failure title="The cadence was not saved" problem={rest} />}
          {now !== undefined && (
            <Alert color="yellow" icon={<AlertIcon />} title="It was changed meanwhile">
              <Text size="sm" mb="xs">
                Now it says: {now.rules}
              </Text>
              <Button
                size="xs"
                variant="default"
                onClick={() => {
                  setName(now.name);
                  setRules(rulesOf(now.rules).join('\n'));
                  setVersion(now.version);
                  put.reset();
                }}
              >
                Take what it says now
              </Button>
            </Alert>
          )}
          {c === undefined && (
            <TextInput
              label="Identifier"
              description="Letters, digits, - and _; requests name it, and it cannot be changed"
              required
              withAsterisk={false}
              maxLength={64}
              value={id}
              onChange={(e) => setId(e.currentTarget.value)}
              error={of('id', 'cadence_id')}
              data-autofocus
            />
          )}
          <TextInput
            label="Name"
            required
            withAsterisk={false}
            maxLength={100}
            value={name}
            onChange={(e) => setName(e.currentTarget.value)}
            error={of('name')}
          />
          <Textarea
            label="Rules"
            description={
              'One a line: busy, no_answer, machine, congestion, rejected, connected or failed, and its steps: ' +
              '5m, 3h, 2d, another part of the day, next day. ' +
              'At most 4 ends a rule; at most 3 a day is a line of its own, and so is next number after 2.'
            }
            placeholder={example}
            required
            withAsterisk={false}
            autosize
            minRows={3}
            maxRows={10}
            maxLength={1000}
            value={rules}
            onChange={(e) => setRules(e.currentTarget.value)}
            error={of('rules')}
          />
          <Dates rules={rules} />
          <FormButtons close={close} busy={put.isPending} />
        </Stack>
      </form>
    </Dialog>
  );
}

/** The window and the attempts of a preview for no campaign. */
const officeHours: Schemas['Window'] = {
  zone: viewerZone,
  start: '09:00',
  end: '18:00',
  days: ['Mon', 'Tue', 'Wed', 'Thu', 'Fri'],
};
const attempts = 8;

/** Dates shows when a contact would be dialled from now on, attempts ending all the same. */
function Dates({ rules }: { rules: string }) {
  const campaigns = useQuery(campaignsOf).data?.campaigns ?? [];
  const [campaign, setCampaign] = useState('');
  const [ends, setEnds] = useState<Schemas['Outcome']>('no_answer');
  const [settled] = useDebouncedValue(rules, 250);
  const asked: Preview = {
    rules: settled,
    outcomes: [ends],
    ...(campaign === ''
      ? { window: officeHours, max_attempts: attempts, retry_on_system: [ends] }
      : { campaign_id: campaign }),
  };
  const query = usePreview(asked);
  const wrong = query.error instanceof Problem ? mistakes(query.error, 'rules') : undefined;
  return (
    <Stack gap="xs" role="group" aria-label="Preview">
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <Select
          label="A contact of"
          data={[
            { value: '', label: `No campaign: Mon–Fri, 9 to 18, ${attempts} attempts` },
            ...campaigns.map((x) => ({ value: x.campaign_id, label: x.settings.name })),
          ]}
          value={campaign}
          onChange={(v) => setCampaign(v ?? '')}
          allowDeselect={false}
          searchable
        />
        <Select
          label="whose attempts end as"
          data={listable.map((o) => ({ value: o, label: outcome[o].label }))}
          value={ends}
          onChange={(v) => v && setEnds(v)}
          allowDeselect={false}
        />
      </SimpleGrid>
      {wrong !== undefined && settled.trim() !== '' ? (
        wrong.rest === null ? (
          <Text size="sm" c="var(--mantine-color-error)" role="alert">
            {wrong.of('rules')}
          </Text>
        ) : (
          <Failure title="There is no preview" problem={wrong.rest} />
        )
      ) : (
        query.data !== undefined && (
          <>
            <Table aria-label="Dates" fz="sm">
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>Attempt</Table.Th>
                  <Table.Th>Dialled, by the contact’s clock</Table.Th>
                  <Table.Th>By</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {query.data.dials.map((d) => (
                  <Table.Tr key={d.attempt} data-attempt={d.attempt}>
                    <Table.Td className="figure">{d.attempt}</Table.Td>
                    <Table.Td className="figure">{wallTime(d.at)}</Table.Td>
                    <Table.Td>{d.attempt === 1 ? '' : (d.by ?? 'the Retry Delay')}</Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
            <Text size="sm" c="dimmed">
              Then: {query.data.after.message}.
            </Text>
          </>
        )
      )}
    </Stack>
  );
}
