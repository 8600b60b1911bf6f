import { Button, Group, Stack, Text, TextInput } from '@mantine/core';
import type { SyntheticEvent } from 'react';
import { useState } from 'react';

import { mistakes } from '../../api/mistakes';
import type { SetUp } from '../../api/set-up';
import { modelName } from '../../api/set-up';
import type { Bot } from '../../api/telephony';
import { useTestCall } from '../../api/telephony';
import { Failure } from '../../components/failure';
import { countryName } from '../../words/countries';
import { missing } from '../../words/set-up';
import { Followed } from '../trunks/test-call';

/** CallStep rings one phone, over the carrier, from the caller ID and with the bot of the steps before. */
export function CallStep({ setUp, bot }: { setUp: SetUp; bot?: Bot }) {
  const [carrier, callerID] = setUp.steps;
  const call = useTestCall();
  const [typed, setTyped] = useState<string>();
  const [variables, setVariables] = useState<Record<string, string>>({});
  const [tried, setTried] = useState(false);
  const { of, rest } = mistakes(call.error, 'to_number');
  const model = carrier?.with === modelName ? setUp.model?.callee : undefined;
  const to = typed ?? model ?? '';
  const lacks = missing(setUp);
  const names = bot?.required_variables ?? [];
  const empty = to.trim() === '' ? `Type the number of your phone, for example ${example(setUp.country)}.` : undefined;
  const unnamed = (name: string) =>
    (variables[name] ?? '').trim() === '' ? 'The bot takes no call without it.' : undefined;
  const submit = (e: SyntheticEvent) => {
    e.preventDefault();
    setTried(true);
    if (empty !== undefined || names.some((n) => unnamed(n) !== undefined) || bot === undefined) return;
    call.mutate({
      trunk: carrier?.with,
      bot: bot.id,
      to: to.trim(),
      from: callerID?.with,
      variables: Object.fromEntries(names.map((n) => [n, variables[n] ?? ''])),
    });
  };
  if (call.data !== undefined) return <Followed id={call.data.call_id} again={() => call.reset()} />;
  if (lacks !== undefined) return <Text size="sm">{lacks}</Text>;
  return (
    <form onSubmit={submit} noValidate aria-label="Ring my phone">
      <Stack>
        {rest && <Failure title="The call was not placed" problem={rest} />}
        <TextInput
          label="Your phone"
          description={
            setUp.country === null
              ? 'With its country code, for example +4915112345678'
              : `As you dial it in ${countryName(setUp.country)}, or with a country code`
          }
          type="tel"
          autoComplete="tel"
          maxLength={64}
          maw={360}
          value={to}
          onChange={(e) => setTyped(e.currentTarget.value)}
          error={(tried ? empty : undefined) ?? of('to_number')}
          data-first
        />
        {names.map((name) => (
          <TextInput
            key={name}
            label={name}
            description="The bot asks for this variable"
            maxLength={1000}
            maw={360}
            value={variables[name] ?? ''}
            onChange={(e) => setVariables({ ...variables, [name]: e.currentTarget.value })}
            error={tried ? unnamed(name) : undefined}
          />
        ))}
        <Group gap="sm">
          <Button type="submit" loading={call.isPending}>
            Ring my phone
          </Button>
          <Text size="sm" c="dimmed">
            {model === undefined ? 'A real call: your carrier may charge for it.' : 'The model carrier answers it.'}
          </Text>
        </Group>
      </Stack>
    </form>
  );
}

const example = (country: string | null) => (country === 'DE' ? '0151 12345678' : '+4915112345678');
