import type { MantineSize } from '@mantine/core';
import { NumberInput, SegmentedControl, Select, SimpleGrid, Switch, TagsInput, Text, TextInput } from '@mantine/core';
import type { ReactNode } from 'react';

import { table } from '../../words/settings.gen';
import type { Setting } from '../../words/settings';
import { counts, rangeOf, rowOf, spoken, suffixOf } from '../../words/settings';
import type { Form } from './draft';

// The fields of the form are made from the table of settings: what they are called, what they say and what they take.

interface Common {
  label: string;
  description?: string;
}

interface Field {
  form: Form;
  f: Setting;
}

const order: ('label' | 'input' | 'description' | 'error')[] = ['label', 'input', 'description', 'error'];

/** about is the label of a setting and what it is for. */
export function about(name: string): Common {
  const f = rowOf(name);
  return { label: spoken(f?.label ?? name), ...(f?.help === undefined ? {} : { description: f.help }) };
}

/** SettingField edits one setting, by its kind; none is asked for that means nothing beside the others. */
export function SettingField({ form, name }: { form: Form; name: string }) {
  const f = rowOf(name);
  if (f === undefined || f.unasked || !counts(f, { ...form.draft })) return null;
  switch (f.kind) {
    case 'number':
      return f.first === undefined ? (
        <NumberField form={form} f={f} />
      ) : (
        <RuleField form={form} f={f} first={f.first} />
      );
    case 'switch':
      return <SwitchField form={form} f={f} />;
    case 'choice':
      return f.optional ? <OptionalChoice form={form} f={f} /> : <ChoiceField form={form} f={f} />;
    case 'list':
      return (
        <TagsField
          {...about(name)}
          value={(valueIn(form, f) as string[] | undefined) ?? []}
          change={(list) => form.set({ [name]: list })}
          error={form.error(name)}
        />
      );
    case 'text':
    case 'address':
      return <TextField form={form} f={f} />;
    case 'window': // has a section of its own
      return null;
  }
}

/** SettingFields edits some, side by side in columns. */
export function SettingFields({ form, names, cols = 2 }: { form: Form; names: readonly string[]; cols?: number }) {
  const all = { ...form.draft };
  if (!names.some((n) => counts(rowOf(n) ?? blankRow, all))) return null;
  return (
    <SimpleGrid cols={{ base: 1, sm: cols }}>
      {names.map((n) => (
        <SettingField key={n} form={form} name={n} />
      ))}
    </SimpleGrid>
  );
}

const blankRow: Setting = { name: '', group: 'more', label: '', kind: 'text' };

/** OtherFields are the settings of a section that have no place of their own in it. */
export function OtherFields({
  form,
  group,
  placed,
}: {
  form: Form;
  group: Setting['group'];
  placed: readonly string[];
}) {
  const names = table.filter((f) => f.group === group && !f.unasked && !placed.includes(f.name)).map((f) => f.name);
  return names.length === 0 ? null : <SettingFields form={form} names={names} />;
}

function valueIn(form: Form, f: Setting): unknown {
  return { ...form.draft }[f.name as keyof Form['draft']];
}

/** NumberField edits a number as it is shown: minutes of what is sent in seconds. */
function NumberField({ form, f }: Field) {
  const v = valueIn(form, f);
  const per = f.shown ?? 1;
  const suffix = suffixOf(f);
  const { low, high } = rangeOf(f);
  return (
    <NumberInput
      {...about(f.name)}
      inputWrapperOrder={order}
      value={typeof v !== 'number' || !Number.isFinite(v) ? '' : v / per}
      allowDecimal={!f.whole || per > 1}
      decimalScale={2}
      allowNegative={false}
      clampBehavior="none"
      {...(suffix === undefined ? {} : { suffix })}
      min={low}
      max={high}
      hideControls
      onChange={(x) => form.set({ [f.name]: x === '' ? NaN : Math.round(Number(x) * per * 1000) / 1000 })}
      error={form.error(f.name)}
      disabled={form.locked(f.name)}
    />
  );
}

/** SwitchField edits a setting that is on or off. */
function SwitchField({ form, f }: Field) {
  return (
    <Switch
      {...about(f.name)}
      checked={valueIn(form, f) === true}
      onChange={(e) => form.set({ [f.name]: e.currentTarget.checked })}
      error={form.error(f.name)}
      disabled={form.locked(f.name)}
    />
  );
}

/** RuleField is a number of seconds behind a switch: 0 means that the rule is off. */
function RuleField({ form, f, first }: Field & { first: number }) {
  const v = (valueIn(form, f) as number | undefined) ?? 0;
  const on = v !== 0;
  return (
    <div>
      <Switch
        {...about(f.name)}
        checked={on}
        onChange={(e) => form.set({ [f.name]: e.currentTarget.checked ? first : 0 })}
        mb={on ? 'xs' : 0}
        disabled={form.locked(f.name)}
      />
      {on && (
        <NumberInput
          aria-label={`${about(f.name).label}: seconds`}
          size={'sm' satisfies MantineSize}
          suffix=" s"
          min={1}
          allowDecimal={false}
          allowNegative={false}
          hideControls
          value={Number.isFinite(v) ? v : ''}
          onChange={(x) => form.set({ [f.name]: x === '' ? NaN : Number(x) })}
          error={form.error(f.name)}
        />
      )}
    </div>
  );
}

/** TextField edits a text. */
function TextField({ form, f }: Field) {
  return (
    <TextInput
      {...about(f.name)}
      {...(f.kind === 'address' ? { type: 'url' } : { maxLength: f.length })}
      value={(valueIn(form, f) as string | undefined) ?? ''}
      onChange={(e) => form.set({ [f.name]: e.currentTarget.value })}
      error={form.error(f.name)}
      disabled={form.locked(f.name)}
    />
  );
}

/** ChoiceField chooses one of a few values, and says what the chosen one means. */
function ChoiceField({ form, f }: Field) {
  const choices = f.choices ?? [];
  const v = (valueIn(form, f) as string | undefined) ?? choices[0]?.value ?? '';
  return (
    <Choice
      label={spoken(f.label)}
      about={f.help ?? choices.find((c) => c.value === v)?.about ?? ''}
      value={v}
      data={choices.map((c) => ({ value: c.value, label: c.label }))}
      change={(x) => form.set({ [f.name]: x })}
      error={form.error(f.name)}
    />
  );
}

/** OptionalChoice chooses one of a few values, or none. */
function OptionalChoice({ form, f }: Field) {
  return (
    <Select
      {...about(f.name)}
      {...(f.zero === undefined ? {} : { placeholder: f.zero })}
      clearable
      data={(f.choices ?? []).map((c) => ({ value: c.value, label: c.label }))}
      value={(valueIn(form, f) as string | undefined) ?? null}
      onChange={(v) => form.set({ [f.name]: v ?? undefined })}
      error={form.error(f.name)}
    />
  );
}

/** Choice is one of a few values, all in sight. */
export function Choice<T extends string>({
  label,
  about,
  value,
  data,
  change,
  error,
}: {
  label: string;
  about: string;
  value: T;
  data: { value: T; label: string }[];
  change: (v: T) => void;
  error?: string | undefined;
}) {
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

/** Mistake says what is wrong with what stands above it. */
export function Mistake({ text }: { text: ReactNode }) {
  return text === undefined ? null : (
    <Text size="xs" c="var(--mantine-color-error)" role="alert">
      {text}
    </Text>
  );
}

/** TagsField edits a list of words. */
export function TagsField({
  value,
  change,
  error,
  placeholder,
  ...rest
}: Common & { value: string[]; change: (list: string[]) => void; error?: string | undefined; placeholder?: string }) {
  return (
    <TagsInput
      {...rest}
      inputWrapperOrder={order}
      value={value}
      onChange={change}
      error={error}
      {...(placeholder === undefined || value.length > 0 ? {} : { placeholder })}
      splitChars={[',', ';']}
      clearable
      clearButtonProps={{ 'aria-label': `Clear ${rest.label}` }}
    />
  );
}
