import type { MantineSize } from '@mantine/core';
import { NumberInput, Switch, TagsInput } from '@mantine/core';

import type { Draft, Form } from './draft';

type FieldsOf<T> = { [K in keyof Draft]-?: NonNullable<Draft[K]> extends T ? K : never }[keyof Draft];

interface Common {
  form: Form;
  label: string;
  description?: string;
}

const order: ('label' | 'input' | 'description' | 'error')[] = ['label', 'input', 'description', 'error'];

/** NumberField edits a number; `per` converts what is shown to what is stored: minutes to seconds. */
export function NumberField({ form, field, per = 1, whole = true, suffix, min, max, ...rest }: Common & { field: FieldsOf<number>; per?: number; whole?: boolean; suffix?: string; min?: number; max?: number }) {
  const v = form.draft[field];
  return (
    <NumberInput
      {...rest}
      inputWrapperOrder={order}
      value={v === undefined || !Number.isFinite(v) ? '' : v / per}
      allowDecimal={!whole}
      decimalScale={2}
      allowNegative={false}
      clampBehavior="none"
      {...(suffix === undefined ? {} : { suffix })}
      {...(min === undefined ? {} : { min })}
      {...(max === undefined ? {} : { max })}
      hideControls
      onChange={(x) => form.set({ [field]: x === '' ? NaN : Math.round(Number(x) * per * 1000) / 1000 })}
      error={form.error(field)}
      disabled={form.locked(field)}
    />
  );
}

/** SwitchField edits a setting that is on or off. */
export function SwitchField({ form, field, ...rest }: Common & { field: FieldsOf<boolean> }) {
  return <Switch {...rest} checked={form.draft[field] ?? false} onChange={(e) => form.set({ [field]: e.currentTarget.checked })} error={form.error(field)} disabled={form.locked(field)} />;
}

/** RuleField is a number of seconds behind a switch: 0 means that the rule is off. */
export function RuleField({ form, field, first, ...rest }: Common & { field: FieldsOf<number>; first: number }) {
  const v = form.draft[field] ?? 0;
  const on = v !== 0;
  return (
    <div>
      <Switch {...rest} checked={on} onChange={(e) => form.set({ [field]: e.currentTarget.checked ? first : 0 })} mb={on ? 'xs' : 0} disabled={form.locked(field)} />
      {on && (
        <NumberInput
          aria-label={`${rest.label}: seconds`}
          size={'sm' satisfies MantineSize}
          suffix=" s"
          min={1}
          allowDecimal={false}
          allowNegative={false}
          hideControls
          value={Number.isFinite(v) ? v : ''}
          onChange={(x) => form.set({ [field]: x === '' ? NaN : Number(x) })}
          error={form.error(field)}
        />
      )}
    </div>
  );
}

/** TagsField edits a list of words. */
export function TagsField({ value, change, error, placeholder, ...rest }: Omit<Common, 'form'> & { value: string[]; change: (list: string[]) => void; error?: string | undefined; placeholder?: string }) {
  return <TagsInput {...rest} inputWrapperOrder={order} value={value} onChange={change} error={error} {...(placeholder === undefined || value.length > 0 ? {} : { placeholder })} splitChars={[',', ';']} clearable clearButtonProps={{ 'aria-label': `Clear ${rest.label}` }} />;
}
