import { Button, Group, Select, Stack, Text, TextInput } from '@mantine/core';
import type { SyntheticEvent } from 'react';
import { useState } from 'react';

import { mistakes } from '../../api/mistakes';
import type { Bot } from '../../api/telephony';
import { useBotHealth, useCall, useCallLadder, useHangUp, useNumberHealth, useTestCall } from '../../api/telephony';
import { Dialog } from '../../components/dialog';
import { Failure } from '../../components/failure';
import { FormButtons } from '../../components/form-buttons';
import { ToneBadge } from '../../components/tone-badge';
import { seconds } from '../../words/figures';
import { attemptLabel } from '../../words/states';
import css from './test-call.module.css';

/** TestCall places one real call: over one trunk, or with one bot over whichever trunk is fit. */
export function TestCall({ trunk, bot, close }: { trunk?: string; bot?: Bot; close: () => void }) {
  const call = useTestCall();
  const title = trunk === undefined ? `Test conversation with ${bot?.name ?? 'a bot'}` : `Test call over ${trunk}`;
  return (
    <Dialog close={close} size="xl" closeOnClickOutside={false} title={title}>
      {call.data === undefined ? (
        <Asked trunk={trunk} bot={bot} call={call} close={close} />
      ) : (
        <Followed id={call.data.call_id} again={() => call.reset()} close={close} />
      )}
    </Dialog>
  );
}

interface AskedProps {
  trunk: string | undefined;
  bot: Bot | undefined;
  call: ReturnType<typeof useTestCall>;
  close: () => void;
}

function Asked({ trunk, bot, call, close }: AskedProps) {
  const bots = useBotHealth();
  const numbers = useNumberHealth();
  const [chosen, setChosen] = useState<string | null>(bot?.id ?? null);
  const [to, setTo] = useState('');
  const [from, setFrom] = useState<string | null>(null);
  const [variables, setVariables] = useState<Record<string, string>>({});
  const { of, rest } = mistakes(call.error, 'bot_id', 'to_number', 'from_number');
  const needed = bots.data?.find((b) => b.id === chosen)?.required_variables ?? [];
  const submit = (e: SyntheticEvent) => {
    e.preventDefault();
    if (chosen === null) return;
    call.mutate({
      trunk,
      bot: chosen,
      to: to.trim(),
      from: from ?? undefined,
      variables: Object.fromEntries(needed.map((name) => [name, variables[name] ?? ''])),
    });
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        {rest && <Failure title="The call was not placed" problem={rest} />}
        <Text size="sm" c="dimmed">
          A real telephone rings{trunk === undefined ? '' : ', over this trunk and no other one'}. Seat, caps and the
          suppression list hold as for every call.
        </Text>
        <TextInput
          label="Number to call"
          description="With the country, for example +4915112345678"
          type="tel"
          required
          withAsterisk={false}
          value={to}
          onChange={(e) => setTo(e.currentTarget.value)}
          error={of('to_number')}
          data-autofocus
        />
        {bot === undefined && (
          <Select
            label="Bot"
            description="Who talks when the call is answered"
            required
            withAsterisk={false}
            placeholder={bots.data?.length === 0 ? 'No bot is configured: add one on the page Bots' : 'Choose a bot'}
            data={(bots.data ?? []).map((b) => ({ value: b.id, label: b.name, disabled: !b.active }))}
            value={chosen}
            onChange={setChosen}
            error={of('bot_id')}
          />
        )}
        <Select
          label="Caller ID"
          placeholder="Any of ours"
          clearable
          data={(numbers.data ?? []).filter((n) => n.state === 'active' || n.state === 'resting').map((n) => n.number)}
          value={from}
          onChange={setFrom}
          error={of('from_number')}
        />
        {needed.map((name) => (
          <TextInput
            key={name}
            label={name}
            description="The bot asks for this variable"
            required
            withAsterisk={false}
            value={variables[name] ?? ''}
            onChange={(e) => setVariables({ ...variables, [name]: e.currentTarget.value })}
          />
        ))}
        <FormButtons close={close} busy={call.isPending} submit="Call" />
      </Stack>
    </form>
  );
}

/** Followed shows how the call goes, and its SIP messages. */
export function Followed({ id, again, close }: { id: string; again: () => void; close?: () => void }) {
  const { data: call, error } = useCall(id);
  const over = call?.state === 'ended';
  const ladder = useCallLadder(id, over);
  const hangUp = useHangUp();
  const shown = call && attemptLabel(call);
  return (
    <Stack>
      {error && <Failure title="The call cannot be followed" problem={error} />}
      {hangUp.error && <Failure title="The call was not hung up" problem={hangUp.error} />}
      <Group gap="sm" role="status" data-call={id}>
        {shown && <ToneBadge tone={shown.tone} label={shown.label} alive={!over} />}
        {call && (
          <Text size="sm">
            {[
              call.from_number && `from ${call.from_number}`,
              call.trunk && `over ${call.trunk}`,
              call.sip_reason,
              call.talk_s && `talked ${seconds(call.talk_s)}`,
            ]
              .filter(Boolean)
              .join(' · ')}
          </Text>
        )}
      </Group>
      {ladder.data && (
        // Wider than a small screen: who has no pointer scrolls it with the keys.
        // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        <pre className={css.ladder} tabIndex={0} aria-label="SIP messages">
          {ladder.data.drawing}
        </pre>
      )}
      {over && ladder.isError && (
        <Text size="sm" c="dimmed">
          No SIP messages are kept of this call.
        </Text>
      )}
      <Group justify="flex-end" gap="xs">
        {over ? (
          <Button variant="default" onClick={again}>
            Call again
          </Button>
        ) : (
          <Button
            variant="default"
            c="var(--mantine-color-error)"
            loading={hangUp.isPending}
            onClick={() => hangUp.mutate(id)}
          >
            Hang up
          </Button>
        )}
        {close && <Button onClick={close}>Close</Button>}
      </Group>
    </Stack>
  );
}
