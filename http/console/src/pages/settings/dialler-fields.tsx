import { Accordion, Chip, Fieldset, Group, MultiSelect, SegmentedControl, Select, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import type { ReactNode } from 'react';

import type { Schemas } from '../../api/client';
import { outcome } from '../../words/states';
import { week, zones } from '../../words/times';
import type { Form, Window } from './draft';
import { NumberField, RuleField, SwitchField, TagsField } from './inputs';

export const diallerSettings = [
  'window', 'window.zone', 'window.start', 'window.end', 'window.days', 'window.holidays', 'window.contact_zone', 'single_day', 'max_attempts', 'retry_delay_s', 'retry_on_system',
  'retry_on_custom', 'stop_redials_after_s', 'redial_only_under_s', 'abandon_cap_pct', 'pacing_mode', 'amd', 'amd_sensitivity', 'amd_listen_ms', 'amd_revise_s', 'amd_review_share', 'voicemail_id', 'callback_detection', 'sticky_exclusion', 'ring_timeout_s', 'call_limit_s',
  'result_timeout_s', 'max_lines', 'weight', 'stop_ends_calls', 'recording', 'recording_retention_days', 'config_url', 'eligibility_url', 'eligibility_fail', 'transfer_targets', 'transfer_limit', 'false_positive_share',
] as const;

/** What may stand in Retry On System; the others must never be redialled by a list. */
const listable: Schemas['Outcome'][] = [
  'no_answer', 'busy', 'congestion', 'trunk_error', 'throttled', 'rejected', 'machine', 'fax', 'invalid_number', 'connected_no_result', 'media_error', 'caller_hung_up', 'lost', 'system_error',
];

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

function Choice<T extends string>({ label, about, value, data, change, error }: { label: string; about: string; value: T; data: { value: T; label: string }[]; change: (v: T) => void; error?: string | undefined }) {
  return (
    <div>
      <Text component="div" size="sm" fw={500} mb={4} aria-hidden>
        {label}
      </Text>
      <SegmentedControl size="xs" aria-label={label} value={value} data={data} onChange={(v) => change(v)} />
      <Text size="xs" c="dimmed" mt={4}>
        {about}
      </Text>
      <Mistake text={error} />
    </div>
  );
}

function Mistake({ text }: { text: ReactNode }) {
  return text === undefined ? null : (
    <Text size="xs" c="var(--mantine-color-error)" role="alert">
      {text}
    </Text>
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
          <TextInput label="From" type="time" required withAsterisk={false} value={w.start} onChange={(e) => form.setWindow({ start: e.currentTarget.value })} error={form.error('window.start')} />
          <TextInput label="Until" type="time" required withAsterisk={false} value={w.end} onChange={(e) => form.setWindow({ end: e.currentTarget.value })} error={form.error('window.end')} description={crosses} inputWrapperOrder={['label', 'input', 'description', 'error']} />
          <Select label="Time zone" data={zonesWith(w.zone)} value={w.zone} onChange={(zone) => zone && form.setWindow({ zone })} searchable allowDeselect={false} limit={100} error={form.error('window.zone')} />
        </SimpleGrid>
        <Chip.Group multiple value={w.days ?? week} onChange={(days) => form.setWindow({ days: week.filter((day) => days.includes(day)) as NonNullable<Window['days']> })}>
          <Group gap={6} role="group" aria-label="Working days">
            {week.map((day) => (
              <Chip key={day} value={day} size="xs">
                {day}
              </Chip>
            ))}
          </Group>
        </Chip.Group>
        <Mistake text={form.error('window.days', 'window')} />
        <TagsField label="Holidays" description="Days without calls, such as 2030-12-24" placeholder="2030-12-24" value={w.holidays ?? []} change={(list) => form.setWindow({ holidays: list })} error={form.error('window.holidays')} />
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          <Choice
            label="Calling window"
            about={d.single_day ? 'When the window ends the campaign completes; who still waits is counted as Window Closed.' : 'Outside of the window the campaign waits for the next working day.'}
            value={d.single_day ? 'single' : 'multi'}
            data={[
              { value: 'multi', label: 'Multi-day' },
              { value: 'single', label: 'Single-day' },
            ]}
            change={(v) => form.set({ single_day: v === 'single' })}
            error={form.error('single_day', 'always_on')}
          />
          <Choice
            label="Whose clock"
            about={w.contact_zone ? 'Every contact by the clock where the number is at home.' : 'The clock of the time zone above.'}
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
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          <NumberField form={form} field="max_attempts" label="Max attempts" description="Of each contact, the first one included" min={1} max={50} />
          <NumberField form={form} field="retry_delay_s" label="Retry delay" description="From the end of an attempt to the next" per={60} whole={false} suffix=" min" />
        </SimpleGrid>
        <MultiSelect
          label="Retry on system"
          description="Outcomes that are dialled again by themselves; may be empty"
          data={listable.map((o) => ({ value: o, label: outcome[o].label }))}
          value={d.retry_on_system ?? []}
          onChange={(list) => form.set({ retry_on_system: list })}
          error={form.error('retry_on_system')}
          hidePickedOptions
          clearable
          clearButtonProps={{ 'aria-label': 'Clear Retry on system' }}
        />
        <TagsField label="Retry on custom" description="Dispositions of the bot that are dialled again; may be empty" placeholder="call later" value={d.retry_on_custom ?? []} change={(list) => form.set({ retry_on_custom: list })} error={form.error('retry_on_custom')} />
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          <RuleField form={form} field="stop_redials_after_s" first={30} label="Stop redials after" description="A conversation at least this long ends the redials of its contact in this run; callbacks are still made" />
          <RuleField form={form} field="redial_only_under_s" first={10} label="Redial only under" description="A shorter conversation is redialled whatever its disposition; longer ones follow Retry on custom" />
        </SimpleGrid>
      </Stack>
    </Fieldset>
  );
}

const pacings = {
  strict: 'Never over the abandon cap, at any moment.',
  hybrid: 'More calls; within the cap at the end of the day by all statistics.',
  progressive: 'No dial without a free worker: nobody is abandoned.',
} as const;

const amds = {
  off: 'Every answer goes to the bot.',
  sequential: 'The bot comes in once a person was heard.',
  parallel: 'The bot talks at once; a machine is torn down when it is heard.',
} as const;

function CareFields({ form }: { form: Form }) {
  const { draft: d } = form;
  const [pacing, amd] = [d.pacing_mode ?? 'strict', d.amd ?? 'off'];
  return (
    <Fieldset legend="Pacing and care">
      <Stack gap="md">
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          <NumberField form={form} field="abandon_cap_pct" label="Abandon cap" description="Share of answered calls that may find no free worker; 0 % holds a worker for every dial" whole={false} suffix=" %" />
          <Choice
            label="Pacing"
            about={pacings[pacing]}
            value={pacing}
            data={[
              { value: 'strict', label: 'Strict' },
              { value: 'hybrid', label: 'Hybrid' },
              { value: 'progressive', label: 'Progressive' },
            ]}
            change={(v) => form.set({ pacing_mode: v })}
            error={form.error('pacing_mode')}
          />
          <Choice
            label="Answering machine detection"
            about={amds[amd]}
            value={amd}
            data={[
              { value: 'off', label: 'Off' },
              { value: 'sequential', label: 'Sequential' },
              { value: 'parallel', label: 'Parallel' },
            ]}
            change={(v) => form.set({ amd: v })}
            error={form.error('amd')}
          />
        </SimpleGrid>
        {amd !== 'off' && (
          <SimpleGrid cols={{ base: 1, sm: 3 }}>
            <NumberField form={form} field="amd_sensitivity" label="Sensitivity to machines" description="1 to 100; 50 is the rule as it was tuned" />
            <NumberField form={form} field="amd_listen_ms" label="Longest listening" per={1000} whole={false} suffix=" s" />
            <NumberField form={form} field="amd_revise_s" label="A later beep counts for" description="It takes back a verdict for a person; 0: not at all" suffix=" s" />
          </SimpleGrid>
        )}
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          <SwitchField form={form} field="callback_detection" label="Callback detection" description="A contact that asks for it is called back at the time it named" />
          <SwitchField form={form} field="sticky_exclusion" label="Sticky exclusion" description="Who is excluded stays so, also when added again by file or API" />
        </SimpleGrid>
      </Stack>
    </Fieldset>
  );
}

function MoreFields({ form }: { form: Form }) {
  const { draft: d } = form;
  return (
    <Stack>
      <SimpleGrid cols={{ base: 1, sm: 3 }}>
        <NumberField form={form} field="ring_timeout_s" label="Ring time-out" suffix=" s" />
        <NumberField form={form} field="call_limit_s" label="Longest call" suffix=" s" />
        <NumberField form={form} field="result_timeout_s" label="Wait for a result" suffix=" s" />
        <NumberField form={form} field="max_lines" label="Ringing lines at most" description="0: no limit of its own" />
        <NumberField form={form} field="weight" label="Weight" description="Its share of the bot's seats when campaigns want more than there are" />
      </SimpleGrid>
      <SwitchField form={form} field="stop_ends_calls" label="Stop ends conversations" description="Stop hangs up calls in progress instead of letting them finish" />
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <Choice
          label="Recording"
          about="In most countries the people called must know or agree: the bot has to say so."
          value={d.recording ?? 'off'}
          data={[
            { value: 'off', label: 'Off' },
            { value: 'on', label: 'On' },
          ]}
          change={(v) => form.set({ recording: v })}
          error={form.error('recording')}
        />
        <NumberField form={form} field="recording_retention_days" label="Recordings are kept" suffix=" days" />
      </SimpleGrid>
      <TagsField label="Transfer targets" description="To whom the bot may hand calls over: +4930…, +4930*, sip:user@host" value={d.transfer_targets ?? []} change={(list) => form.set({ transfer_targets: list })} error={form.error('transfer_targets')} />
      <TextInput label="Config URL" description="An address whose document sets the configuration when a run starts" type="url" value={d.config_url ?? ''} onChange={(e) => form.set({ config_url: e.currentTarget.value })} error={form.error('config_url')} />
      <TextInput label="Asked before each dial" description="A system of yours that says whether a contact may be called now, beside the installation's" type="url" value={d.eligibility_url ?? ''} onChange={(e) => form.set({ eligibility_url: e.currentTarget.value })} error={form.error('eligibility_url')} />
      {d.eligibility_url !== undefined && d.eligibility_url !== '' && (
        <Select
          label="Without its answer"
          placeholder="As the installation does"
          clearable
          data={[
            { value: 'open', label: 'The contact is called' },
            { value: 'closed', label: 'It is asked again a minute later' },
          ]}
          value={d.eligibility_fail ?? null}
          onChange={(v) => form.set({ eligibility_fail: v === 'open' || v === 'closed' ? v : undefined })}
          error={form.error('eligibility_fail')}
        />
      )}
    </Stack>
  );
}
