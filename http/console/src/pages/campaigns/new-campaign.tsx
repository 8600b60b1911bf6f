import { Button, Chip, Fieldset, Group, Modal, MultiSelect, NumberInput, Select, SimpleGrid, Stack, Switch, Text, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import type { SyntheticEvent } from 'react';
import { useState } from 'react';
import { useLocation } from 'wouter';

import type { Schemas } from '../../api/client';
import type { Problem } from '../../api/problem';
import { useBots, useCreateCampaign, useNumbers } from '../../api/queries';
import { Failure } from '../../components/failure';
import { viewerZone, week, zones } from '../../words/times';

/** NewCampaign asks for what a campaign cannot do without; the rest begins with the defaults of the API. */
export function NewCampaign({ opened, close }: { opened: boolean; close: () => void }) {
  return (
    <Modal opened={opened} onClose={close} size="lg" title={<Text fw={650}>New campaign</Text>}>
      <Form close={close} />
    </Modal>
  );
}

interface Draft {
  name: string;
  bot: string | null;
  numbers: string[];
  concurrency: number;
  zone: string;
  start: string;
  end: string;
  days: string[];
  attempts: number;
  delayMinutes: number;
  alwaysOn: boolean;
}

const blank: Draft = { name: '', bot: null, numbers: [], concurrency: 5, zone: viewerZone, start: '09:00', end: '18:00', days: week.slice(0, 5), attempts: 3, delayMinutes: 30, alwaysOn: false };

function request(d: Draft): Schemas['SettingsRequest'] {
  return {
    name: d.name.trim(),
    bot_id: d.bot ?? '',
    number_pool: d.numbers,
    concurrency: d.concurrency,
    window: { zone: d.zone, start: d.start, end: d.end, days: d.days as NonNullable<Schemas['Window']['days']> },
    max_attempts: d.attempts,
    retry_delay_s: Math.round(d.delayMinutes * 60),
    always_on: d.alwaysOn,
    single_day: false,
  };
}

function Form({ close }: { close: () => void }) {
  const bots = useBots();
  const numbers = useNumbers();
  const create = useCreateCampaign();
  const [, go] = useLocation();
  const [draft, setDraft] = useState(blank);
  const set = (change: Partial<Draft>) => setDraft((d) => ({ ...d, ...change }));
  const problem = create.error;
  // A field's mistakes stand beside it; what belongs to none of them is shown above.
  const of = (...fields: string[]) => problem?.errors.find((e) => fields.includes(e.field))?.message;
  const submit = (e: SyntheticEvent) => {
    e.preventDefault();
    create.mutate(request(draft), {
      onSuccess: (campaign) => {
        notifications.show({ color: 'green', message: `Created: ${campaign.settings.name}. Add contacts next.` });
        close();
        go(`/campaigns/${encodeURIComponent(campaign.campaign_id)}`);
      },
    });
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        {problem && !allBesideTheirFields(problem) && <Failure title="The campaign was not created" problem={problem} />}
        <TextInput label="Name" required withAsterisk={false} maxLength={200} value={draft.name} onChange={(e) => set({ name: e.currentTarget.value })} error={of('name')} data-autofocus />
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          <Select
            label="Bot"
            required
            withAsterisk={false}
            placeholder={bots.data?.length === 0 ? 'No bot is configured' : 'Choose a bot'}
            data={(bots.data ?? []).map((b) => ({ value: b.id, label: b.active ? b.name : `${b.name} (inactive)` }))}
            value={draft.bot}
            onChange={(bot) => set({ bot })}
            error={of('bot_id')}
          />
          <NumberInput label="Concurrency" description="Simultaneous connected calls" inputWrapperOrder={['label', 'input', 'description', 'error']} min={1} max={100_000} allowDecimal={false} value={draft.concurrency} onChange={(v) => set({ concurrency: Number(v) })} error={of('concurrency')} />
        </SimpleGrid>
        <MultiSelect
          label="Number pool"
          placeholder={draft.numbers.length > 0 ? '' : numbers.data?.length === 0 ? 'No number is configured' : 'Choose outbound numbers'}
          data={(numbers.data ?? []).filter((n) => n.state === 'active' || n.state === 'resting').map((n) => n.number)}
          value={draft.numbers}
          onChange={(list) => set({ numbers: list })}
          searchable
          error={of('number_pool')}
        />
        <Fieldset legend="Time window">
          <Stack gap="sm">
            <SimpleGrid cols={{ base: 1, sm: 3 }}>
              <TextInput label="From" type="time" required withAsterisk={false} value={draft.start} onChange={(e) => set({ start: e.currentTarget.value })} error={of('window.start')} />
              <TextInput label="Until" type="time" required withAsterisk={false} value={draft.end} onChange={(e) => set({ end: e.currentTarget.value })} error={of('window.end')} />
              <Select label="Time zone" data={zones()} value={draft.zone} onChange={(zone) => zone && set({ zone })} searchable allowDeselect={false} limit={100} error={of('window.zone')} />
            </SimpleGrid>
            <Chip.Group multiple value={draft.days} onChange={(days) => set({ days })}>
              <Group gap={6} role="group" aria-label="Working days">
                {week.map((day) => (
                  <Chip key={day} value={day} size="xs">
                    {day}
                  </Chip>
                ))}
              </Group>
            </Chip.Group>
            {of('window', 'window.days') && (
              <Text size="xs" c="var(--mantine-color-error)">
                {of('window', 'window.days')}
              </Text>
            )}
          </Stack>
        </Fieldset>
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          <NumberInput label="Max attempts" min={1} max={50} allowDecimal={false} value={draft.attempts} onChange={(v) => set({ attempts: Number(v) })} error={of('max_attempts')} />
          <NumberInput label="Retry delay" suffix=" min" min={1} max={43_200} value={draft.delayMinutes} onChange={(v) => set({ delayMinutes: Number(v) })} error={of('retry_delay_s')} />
        </SimpleGrid>
        <Switch label="Always-on" description="Never completes by itself: accepts contacts until it is stopped" checked={draft.alwaysOn} onChange={(e) => set({ alwaysOn: e.currentTarget.checked })} />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={close}>
            Cancel
          </Button>
          <Button type="submit" loading={create.isPending}>
            Create
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

const shown = ['name', 'bot_id', 'concurrency', 'number_pool', 'window', 'window.start', 'window.end', 'window.zone', 'window.days', 'max_attempts', 'retry_delay_s'];

function allBesideTheirFields(p: Problem): boolean {
  return p.errors.length > 0 && p.errors.every((e) => shown.includes(e.field));
}
