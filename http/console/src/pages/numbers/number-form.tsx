import { NumberInput, Select, SimpleGrid, Stack, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import type { SyntheticEvent } from 'react';
import { useState } from 'react';

import { mistakes } from '../../api/mistakes';
import type { NumberRequest, NumberStatus } from '../../api/telephony';
import { useBots } from '../../api/queries';
import { useMessages, usePutNumber } from '../../api/telephony';
import { Dialog } from '../../components/dialog';
import { Failure } from '../../components/failure';
import { FormButtons } from '../../components/form-buttons';

const caps = [
  { field: 'concurrent_cap', label: 'Calls at the same time', more: '0: no cap', max: 1_000_000 },
  { field: 'hour_cap', label: 'Calls in an hour', more: '0: no cap', max: 1_000_000 },
  { field: 'day_cap', label: 'Calls in a day', more: '0: no cap', max: 1_000_000 },
  { field: 'rest_s', label: 'Rest after a call', more: 'Seconds', max: 86_400 },
  { field: 'answer_floor_pct', label: 'Least answers', more: 'Per cent; fewer raise an alarm. 0: none', max: 100 },
] as const;

/** NumberForm adds a caller ID, or changes its caps. */
export function NumberForm({ of: number, close }: { of?: NumberStatus; close: () => void }) {
  const put = usePutNumber();
  const [e164, setE164] = useState(number?.number ?? '');
  const [values, setValues] = useState<Record<string, number | string>>(() =>
    Object.fromEntries(caps.map((c) => [c.field, number?.[c.field] ?? 0])),
  );
  // Resting is no setting: a number rests by itself.
  const [state, setState] = useState<NonNullable<NumberRequest['state']>>(
    number === undefined || number.state === 'resting' ? 'active' : number.state,
  );
  const [policy, setPolicy] = useState<NonNullable<NumberRequest['callback_policy']>>(
    number?.callback_policy ?? 'reject',
  );
  const [bot, setBot] = useState(number?.callback_bot_id ?? null);
  const [message, setMessage] = useState(number?.callback_message_id ?? '');
  const bots = useBots();
  const messages = useMessages();
  const { of, rest } = mistakes(
    put.error,
    'number',
    'state',
    'callback_policy',
    'callback_bot_id',
    'callback_message_id',
    ...caps.map((c) => c.field),
  );
  const submit = (e: SyntheticEvent) => {
    e.preventDefault();
    const body: NumberRequest = {
      state,
      callback_policy: policy,
      ...(policy === 'bot' && bot !== null && { callback_bot_id: bot }),
      ...(policy === 'message' && message !== '' && { callback_message_id: message }),
      ...Object.fromEntries(caps.map((c) => [c.field, Number(values[c.field])])),
    };
    put.mutate(
      { number: e164.trim(), body },
      {
        onSuccess: (n) => {
          notifications.show({ color: 'green', message: `Saved: ${n.number}` });
          close();
        },
      },
    );
  };
  return (
    <Dialog close={close} title={number === undefined ? 'Add a number' : `Change ${number.number}`}>
      <form onSubmit={submit}>
        <Stack>
          {rest && <Failure title="The number was not saved" problem={rest} />}
          {number === undefined && (
            <TextInput
              label="Number"
              description="One that your carrier lets you show, for example +49301234567"
              type="tel"
              required
              withAsterisk={false}
              value={e164}
              onChange={(e) => setE164(e.currentTarget.value)}
              error={of('number')}
              data-autofocus
            />
          )}
          <SimpleGrid cols={{ base: 1, sm: 2 }}>
            {caps.map((c) => (
              <NumberInput
                key={c.field}
                label={c.label}
                description={c.more}
                min={0}
                max={c.max}
                allowDecimal={false}
                allowNegative={false}
                value={values[c.field] ?? 0}
                onChange={(v) => setValues({ ...values, [c.field]: v })}
                error={of(c.field)}
              />
            ))}
            <Select
              label="State"
              description="May calls come from it?"
              data={[
                { value: 'active', label: 'Active' },
                { value: 'quarantined', label: 'Quarantined' },
                { value: 'retired', label: 'Retired' },
              ]}
              value={state}
              onChange={(v) => v && setState(v)}
              allowDeselect={false}
              error={of('state')}
            />
            <Select
              label="Who calls it"
              description="A campaign may say otherwise for its contacts"
              data={[
                { value: 'reject', label: 'Is refused' },
                { value: 'message', label: 'Hears a message' },
                { value: 'bot', label: 'Talks to a bot' },
              ]}
              value={policy}
              onChange={(v) => v && setPolicy(v)}
              allowDeselect={false}
              error={of('callback_policy')}
            />
            {policy === 'bot' && (
              <Select
                label="Bot"
                description="It is told direction: inbound"
                data={(bots.data ?? []).map((b) => ({ value: b.id, label: b.name }))}
                value={bot}
                onChange={setBot}
                required
                withAsterisk={false}
                error={of('callback_bot_id')}
              />
            )}
            {policy === 'message' && (
              <Select
                label="Message"
                description="One of those that machines are left as well"
                data={[
                  { value: '', label: 'The information message' },
                  ...(messages.data ?? []).map((m) => ({ value: m.id, label: m.name })),
                ]}
                value={message}
                onChange={(v) => setMessage(v ?? '')}
                allowDeselect={false}
                error={of('callback_message_id')}
              />
            )}
          </SimpleGrid>
          <FormButtons close={close} busy={put.isPending} />
        </Stack>
      </form>
    </Dialog>
  );
}
