import { Accordion, Chip, Fieldset, Group, MultiSelect, Select, SimpleGrid, Stack, TextInput } from '@mantine/core';

import { useCadences } from '../../api/cadences';
import { useCalendars } from '../../api/calendars';
import { listable } from '../../words/outcomes.gen';
import { namesOf } from '../../words/settings';
import { outcome } from '../../words/states';
import { week, zones } from '../../words/times';
import type { Form, Window } from './draft';
import { Choice, Mistake, OtherFields, SettingField, SettingFields, TagsField, about } from './inputs';

export const diallerSettings: readonly string[] = namesOf('window', 'retries', 'care', 'more');

/** DiallerFields is the dialler configuration: when, how often, and how carefully. */
export function DiallerFields({ form }: { form: Form }) {
  return (
    <Stack>
      <WindowFields form={form} />
      <RetryFields form={form} />
      <CareFields form={form} />
      <Accordion variant="contained">
        <Accordion.Item value="more">
          <Accordion.Control>More: time limits, recording, transfers, Config URL</Accordion.Control>
          <Accordion.Panel>
            <MoreFields form={form} />
          </Accordion.Panel>
        </Accordion.Item>
      </Accordion>
    </Stack>
  );
}

function WindowFields({ form }: { form: Form }) {
  const { draft: d } = form;
  const w = d.window;
  const crosses = w.end < w.start ? 'Closes on the next day.' : w.start === w.end ? 'Open all day.' : undefined;
  return (
    <Fieldset legend="Time window">
      <Stack gap="sm">
        <SimpleGrid cols={{ base: 1, sm: 3 }}>
          <TextInput
            label="From"
            type="time"
            required
            withAsterisk={false}
            value={w.start}
            onChange={(e) => form.setWindow({ start: e.currentTarget.value })}
            error={form.error('window.start')}
          />
          <TextInput
            label="Until"
            type="time"
            required
            withAsterisk={false}
            value={w.end}
            onChange={(e) => form.setWindow({ end: e.currentTarget.value })}
            error={form.error('window.end')}
            description={crosses}
            inputWrapperOrder={['label', 'input', 'description', 'error']}
          />
          <Select
            label="Time zone"
            data={zonesWith(w.zone)}
            value={w.zone}
            onChange={(zone) => zone && form.setWindow({ zone })}
            searchable
            allowDeselect={false}
            limit={100}
            error={form.error('window.zone')}
          />
        </SimpleGrid>
        <Chip.Group
          multiple
          value={w.days ?? week}
          onChange={(days) =>
            form.setWindow({ days: week.filter((day) => days.includes(day)) as NonNullable<Window['days']> })
          }
        >
          <Group gap={6} role="group" aria-label="Working days">
            {week.map((day) => (
              <Chip key={day} value={day} size="xs">
                {day}
              </Chip>
            ))}
          </Group>
        </Chip.Group>
        <Mistake text={form.error('window.days', 'window')} />
        <TagsField
          label="Holidays"
          description="Days without calls, such as 2030-12-24"
          placeholder="2030-12-24"
          value={w.holidays ?? []}
          change={(list) => form.setWindow({ holidays: list })}
          error={form.error('window.holidays')}
        />
        <CalendarsField form={form} />
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          <Choice
            label="Calling window"
            about={
              d.single_day
                ? 'When the window ends the campaign completes; who still waits is counted as Window Closed.'
                : 'Outside of the window the campaign waits for the next working day.'
            }
            value={d.single_day ? 'single' : 'multi'}
            data={[
              { value: 'multi', label: 'Multi-day' },
              { value: 'single', label: 'Single-day' },
            ]}
            change={(v) => form.set({ single_day: v === 'single' })}
            error={form.error('single_day', 'always_on')}
          />
          <Choice
            label="Time zone used"
            about={
              w.contact_zone ? 'The local time of each contact, by its number.' : 'The clock of the time zone above.'
            }
            value={w.contact_zone ? 'contact' : 'campaign'}
            data={[
              { value: 'campaign', label: 'This zone' },
              { value: 'contact', label: 'Each contact' },
            ]}
            change={(v) => form.setWindow({ contact_zone: v === 'contact' })}
          />
        </SimpleGrid>
      </Stack>
    </Fieldset>
  );
}

let allZones: string[] | undefined;

function zonesWith(zone: string): string[] {
  allZones ??= zones();
  return allZones.includes(zone) || zone === '' ? allZones : [zone, ...allZones];
}

function RetryFields({ form }: { form: Form }) {
  const { draft: d } = form;
  return (
    <Fieldset legend="Attempts and retries">
      <Stack gap="sm">
        <SettingFields form={form} names={['max_attempts', 'retry_delay_s']} />
        <CadenceField form={form} />
        <MultiSelect
          {...about('retry_on_system')}
          data={listable.map((o) => ({ value: o, label: outcome[o].label }))}
          value={d.retry_on_system ?? []}
          onChange={(list) => form.set({ retry_on_system: list })}
          error={form.error('retry_on_system')}
          hidePickedOptions
          clearable
          clearButtonProps={{ 'aria-label': 'Clear Retry on system' }}
        />
        <TagsField
          {...about('retry_on_custom')}
          placeholder="call later"
          value={d.retry_on_custom ?? []}
          change={(list) => form.set({ retry_on_custom: list })}
          error={form.error('retry_on_custom')}
        />
        <SettingFields form={form} names={['stop_redials_after_s', 'redial_only_under_s']} />
        <OtherFields
          form={form}
          group="retries"
          placed={[
            'max_attempts',
            'retry_delay_s',
            'cadence_id',
            'retry_on_system',
            'retry_on_custom',
            'stop_redials_after_s',
            'redial_only_under_s',
          ]}
        />
      </Stack>
    </Fieldset>
  );
}

/** CalendarsField offers the calendars; without any there is nothing to choose. */
function CalendarsField({ form }: { form: Form }) {
  const calendars = useCalendars().data ?? [];
  const chosen = form.draft.calendar_ids ?? [];
  if (calendars.length === 0 && chosen.length === 0) return null;
  return (
    <MultiSelect
      {...about('calendar_ids')}
      placeholder={chosen.length === 0 ? 'None: the window alone' : ''}
      data={calendars.map((c) => ({ value: c.calendar_id, label: c.name }))}
      value={chosen}
      onChange={(list) => form.set({ calendar_ids: list })}
      error={form.error('calendar_ids')}
      maxValues={10}
      hidePickedOptions
      searchable
      clearable
      clearButtonProps={{ 'aria-label': 'No calendars' }}
    />
  );
}

/** CadenceField offers the cadences; without any there is nothing to choose. */
function CadenceField({ form }: { form: Form }) {
  const cadences = useCadences().data ?? [];
  const id = form.draft.cadence_id ?? '';
  if (cadences.length === 0 && id === '') return null;
  return (
    <Select
      {...about('cadence_id')}
      placeholder="None: the Retry Delay alone"
      data={cadences.map((c) => ({ value: c.cadence_id, label: c.name }))}
      value={id === '' ? null : id}
      onChange={(v) => form.set({ cadence_id: v ?? '' })}
      error={form.error('cadence_id')}
      clearable
      clearButtonProps={{ 'aria-label': 'No cadence' }}
      searchable
    />
  );
}

const care = [
  ['abandon_cap_pct', 'pacing_mode', 'amd'],
  ['amd_sensitivity', 'amd_listen_ms', 'amd_revise_s'],
  ['callback_detection', 'sticky_exclusion'],
] as const;

function CareFields({ form }: { form: Form }) {
  return (
    <Fieldset legend="Pacing and care">
      <Stack gap="md">
        <SettingFields form={form} names={care[0]} />
        <SettingFields form={form} names={care[1]} cols={3} />
        <SettingFields form={form} names={care[2]} />
        <OtherFields form={form} group="care" placed={care.flat()} />
      </Stack>
    </Fieldset>
  );
}

const limits = ['ring_timeout_s', 'call_limit_s', 'result_timeout_s', 'max_lines', 'weight'] as const;
const recording = ['recording', 'recording_retention_days'] as const;
const more = ['transfer_targets', 'config_url', 'eligibility_url', 'eligibility_fail'] as const;

function MoreFields({ form }: { form: Form }) {
  return (
    <Stack>
      <SettingFields form={form} names={limits} cols={3} />
      <SettingField form={form} name="stop_ends_calls" />
      <SettingFields form={form} names={recording} />
      {more.map((name) => (
        <SettingField key={name} form={form} name={name} />
      ))}
      <OtherFields form={form} group="more" placed={[...limits, 'stop_ends_calls', ...recording, ...more]} />
    </Stack>
  );
}
