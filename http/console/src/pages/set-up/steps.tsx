import { Button, Group, NumberInput, PasswordInput, Select, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { ReactNode, SyntheticEvent } from 'react';
import { useState } from 'react';
import { Link } from 'wouter';

import { mistakes } from '../../api/mistakes';
import type { Bot, NumberStatus, Trunk } from '../../api/telephony';
import { usePutBot, usePutNumber, usePutTrunk } from '../../api/telephony';
import { Failure } from '../../components/failure';
import { wholeNumber } from '../../words/number-search';
import { botState, carrierState, freeName, hostAndPort, numberStateOf } from '../../words/set-up';
import type { State } from '../../words/set-up';
import { BotForm } from '../bots/bot-form';
import { draftOf, requestOf } from '../trunks/trunk-draft';
import { TrunkForm } from '../trunks/trunk-form';
import css from './set-up.module.css';

/** Standing says how what is there stands, and what to do about it; whoever cannot see it is told of changes. */
function Standing({ of }: { of: State | undefined }) {
  return (
    <div role="status">
      {of && (
        <div className={css.standing} data-tone={of.tone}>
          <Text size="sm">{of.sentence}</Text>
          {of.remedy !== undefined && <Text size="sm">{of.remedy}</Text>}
        </div>
      )}
    </div>
  );
}

/** Acts are the buttons under a step's fields. */
function Acts({ submit, busy, children }: { submit: string; busy: boolean; children?: ReactNode }) {
  return (
    <Group gap="xs">
      <Button type="submit" loading={busy}>
        {submit}
      </Button>
      {children}
    </Group>
  );
}

const needed = (text: string, what: string) => (text.trim() === '' ? what : undefined);

interface Steps {
  saved: () => void;
  /** It was changed elsewhere: the fields are to show what is stored. */
  changed: () => void;
}

/** CarrierStep makes the first trunk, or mends the one that is there; saving tries it. */
export function CarrierStep({ trunks, of: trunk, saved, changed }: Steps & { trunks: Trunk[]; of?: Trunk }) {
  const put = usePutTrunk();
  const [known] = useState(trunk); // one that somebody else makes meanwhile is not overwritten
  const [all, { open, close }] = useDisclosure(false);
  const [tried, setTried] = useState(false);
  const [d, setDraft] = useState(() => ({
    ...draftOf(trunk),
    ...(trunk === undefined
      ? {
          id: freeName(
            'carrier',
            trunks.map((t) => t.id),
          ),
        }
      : {}),
  }));
  const set = (change: Partial<typeof d>) => setDraft((old) => ({ ...old, ...change }));
  const fields = ['id', 'trunk_id', 'host', 'port', 'kind', 'username', 'password'] as const;
  const { of, rest } = mistakes(put.error, ...fields);
  const empty = {
    id: needed(d.id, 'Give it a name, for example carrier-1.'),
    host: needed(d.host, 'Your carrier names it, for example sip.carrier.example or 192.0.2.7.'),
    username: d.kind === 'ip' ? undefined : needed(d.username, 'Your carrier gives you a username, for example acme.'),
  };
  const submit = (e: SyntheticEvent) => {
    e.preventDefault();
    setTried(true);
    if (Object.values(empty).some((m) => m !== undefined)) return;
    const at = { ...d, ...hostAndPort(d.host) };
    setDraft(at);
    put.mutate({ id: known?.id ?? at.id.trim(), body: requestOf(at) }, { onSuccess: saved });
  };
  const said = (field: keyof typeof empty) => (tried ? empty[field] : undefined) ?? of(field);
  const standing = trunk && carrierState(trunk);
  if (trunk?.origin === 'file')
    return (
      <Stack>
        <Standing of={standing} />
        <Text size="sm">
          {trunk.id} stands in the configuration file, where it can be changed.{' '}
          <code>dialler trunk check {trunk.id}</code> says what is wrong with it.
        </Text>
      </Stack>
    );
  return (
    <>
      <form onSubmit={submit} noValidate aria-label="Carrier">
        <Stack>
          {rest && <Failure title="The carrier was not saved" problem={rest} />}
          <Standing of={standing} />
          <SimpleGrid cols={{ base: 1, sm: 3 }}>
            <TextInput
              label="Host"
              description="Name or address of the carrier"
              maxLength={259}
              value={d.host}
              onChange={(e) => set({ host: e.currentTarget.value })}
              error={said('host')}
              data-first
            />
            <NumberInput
              label="Port"
              description="0: what DNS says, or 5060"
              min={0}
              max={65535}
              allowDecimal={false}
              value={d.port}
              onChange={(port) => set({ port })}
              error={of('port')}
            />
            <TextInput
              label="Name"
              description="Used in reports; cannot be changed later"
              maxLength={64}
              disabled={known !== undefined || put.isSuccess}
              value={d.id}
              onChange={(e) => set({ id: e.currentTarget.value })}
              error={said('id') ?? of('trunk_id')}
            />
          </SimpleGrid>
          <Select
            label="How the carrier recognises you"
            data={[
              { value: 'ip', label: 'By our address' },
              { value: 'credentials', label: 'By username and password' },
              { value: 'registered', label: 'By username and password, and a registration' },
            ]}
            value={d.kind}
            onChange={(v) => v && set({ kind: v })}
            allowDeselect={false}
            error={of('kind')}
          />
          {d.kind !== 'ip' && (
            <SimpleGrid cols={{ base: 1, sm: 2 }}>
              <TextInput
                label="Username"
                autoComplete="off"
                maxLength={128}
                value={d.username}
                onChange={(e) => set({ username: e.currentTarget.value })}
                error={said('username')}
              />
              <PasswordInput
                label="Password"
                placeholder={trunk?.has_password ? 'Leave empty to keep the stored one' : undefined}
                autoComplete="new-password"
                maxLength={128}
                value={d.password}
                onChange={(e) => set({ password: e.currentTarget.value })}
                error={of('password')}
                visibilityToggleButtonProps={{ 'aria-label': 'Show or hide the password' }}
              />
            </SimpleGrid>
          )}
          <Acts submit="Save and try" busy={put.isPending}>
            <Button variant="subtle" onClick={open}>
              All settings…
            </Button>
          </Acts>
        </Stack>
      </form>
      {all && <TrunkForm {...(trunk === undefined ? { begun: d } : { of: trunk })} saved={changed} close={close} />}
    </>
  );
}

/** NumberStep adds the number that people see. */
export function NumberStep({ of: number, saved }: { of?: NumberStatus; saved: () => void }) {
  const put = usePutNumber();
  const [typed, setTyped] = useState('');
  const [tried, setTried] = useState(false);
  const { of, rest } = mistakes(put.error, 'number');
  const empty = needed(typed, 'Give a number that your carrier lets you show, for example +493012345601.');
  const submit = (e: SyntheticEvent) => {
    e.preventDefault();
    setTried(true);
    if (empty !== undefined) return;
    put.mutate({ number: wholeNumber(typed) ?? typed.trim(), body: {} }, { onSuccess: saved });
  };
  const there = number !== undefined && (number.state === 'active' || number.state === 'resting');
  return (
    <form onSubmit={submit} noValidate aria-label="Caller ID">
      <Stack>
        {rest && <Failure title="The number was not saved" problem={rest} />}
        <Standing of={number && numberStateOf(number)} />
        {there ? (
          <Text size="sm">
            More numbers, and how often each may be used, are on the page <Link href="/numbers">Numbers</Link>.
          </Text>
        ) : (
          <>
            <TextInput
              label="Number"
              description="With its country code, for example +493012345601"
              type="tel"
              autoComplete="off"
              maxLength={40}
              maw={360}
              value={typed}
              onChange={(e) => setTyped(e.currentTarget.value)}
              error={(tried ? empty : undefined) ?? of('number')}
              data-first
            />
            <Acts submit="Save" busy={put.isPending} />
          </>
        )}
      </Stack>
    </form>
  );
}

/** BotStep makes the first bot, or mends the one that is there; saving tries it. */
export function BotStep({ bots, of: bot, saved, changed }: Steps & { bots: Bot[]; of?: Bot }) {
  const put = usePutBot();
  const [known] = useState(bot);
  const [all, { open, close }] = useDisclosure(false);
  const [tried, setTried] = useState(false);
  const [endpoint, setEndpoint] = useState(bot?.endpoints[0] ?? '');
  const [name, setName] = useState(bot?.name ?? 'First bot');
  const [seats, setSeats] = useState<number | string>(bot?.seats ?? 10);
  const { of, rest } = mistakes(put.error, 'endpoints', 'name', 'seats');
  const empty = {
    endpoint: needed(endpoint, 'Give the address of the bot, for example wss://bot.example.org/calls.'),
    name: needed(name, 'Give it a name, for example Sales bot.'),
  };
  const submit = (e: SyntheticEvent) => {
    e.preventDefault();
    setTried(true);
    if (empty.endpoint !== undefined || empty.name !== undefined) return;
    const id =
      known?.id ??
      put.data?.id ??
      freeName(
        'bot',
        bots.map((b) => b.id),
      );
    // The other settings of a bot that is there stay: PUT replaces all of them but the secrets.
    const asked = known?.health_url === undefined ? { probe: known?.probe } : { health_url: known.health_url };
    const kept = known && {
      account: known.account,
      required_variables: known.required_variables,
      active: known.active,
      ...(endpoint.trim().startsWith('sip:') ? {} : asked),
    };
    const endpoints = [endpoint.trim(), ...(known?.endpoints.slice(1) ?? [])];
    put.mutate({ id, body: { ...kept, name: name.trim(), endpoints, seats: Number(seats) } }, { onSuccess: saved });
  };
  return (
    <>
      <form onSubmit={submit} noValidate aria-label="Bot">
        <Stack>
          {rest && <Failure title="The bot was not saved" problem={rest} />}
          <Standing of={bot && botState(bot)} />
          <TextInput
            label="Address"
            description="wss:// or ws:// for media streams, or sip:user@host"
            autoComplete="off"
            maxLength={2048}
            value={endpoint}
            onChange={(e) => setEndpoint(e.currentTarget.value)}
            error={(tried ? empty.endpoint : undefined) ?? of('endpoints')}
            data-first
          />
          <SimpleGrid cols={{ base: 1, sm: 2 }}>
            <TextInput
              label="Name"
              description="As campaigns show it"
              maxLength={100}
              value={name}
              onChange={(e) => setName(e.currentTarget.value)}
              error={(tried ? empty.name : undefined) ?? of('name')}
            />
            <NumberInput
              label="Seats"
              description="Conversations at the same time"
              min={1}
              max={100_000}
              allowDecimal={false}
              value={seats}
              onChange={setSeats}
              error={of('seats')}
            />
          </SimpleGrid>
          <Acts submit="Save and try" busy={put.isPending}>
            {bot && (
              <Button variant="subtle" onClick={open}>
                All settings…
              </Button>
            )}
          </Acts>
        </Stack>
      </form>
      {all && bot && <BotForm of={bot} saved={changed} close={close} />}
    </>
  );
}
