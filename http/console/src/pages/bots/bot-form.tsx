import { NumberInput, PasswordInput, Select, Stack, Switch, TagsInput, TextInput, Textarea } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import type { SyntheticEvent } from 'react';
import { useState } from 'react';

import { mistakes } from '../../api/mistakes';
import type { Bot } from '../../api/telephony';
import { usePutBot } from '../../api/telephony';
import { Dialog } from '../../components/dialog';
import { Failure } from '../../components/failure';
import { FormButtons } from '../../components/form-buttons';
import { headersOf } from '../trunks/trunk-draft';

/** BotForm makes a bot, or changes one. */
export function BotForm({ of: bot, saved, close }: { of?: Bot; saved?: () => void; close: () => void }) {
  const put = usePutBot();
  const [id, setId] = useState('');
  const [name, setName] = useState(bot?.name ?? '');
  const [seats, setSeats] = useState<number | string>(bot?.seats ?? 10);
  const [endpoints, setEndpoints] = useState((bot?.endpoints ?? []).join('\n'));
  const [secret, setSecret] = useState('');
  const [headers, setHeaders] = useState((bot?.headers ?? []).map((h) => h.name).join('\n'));
  const [healthUrl, setHealthUrl] = useState(bot?.health_url ?? '');
  const [probe, setProbe] = useState<Bot['probe']>(bot?.probe ?? 'connection');
  const bySip = endpoints.trimStart().startsWith('sip:');
  const [needed, setNeeded] = useState(bot?.required_variables ?? []);
  const [active, setActive] = useState(bot?.active ?? true);
  const { of, rest } = mistakes(
    put.error,
    'id',
    'bot_id',
    'name',
    'seats',
    'endpoints',
    'auth_token',
    'headers',
    'health_url',
    'probe',
    'required_variables',
    'active',
  );
  const submit = (e: SyntheticEvent) => {
    e.preventDefault();
    const body = {
      name: name.trim(),
      seats: Number(seats),
      endpoints: endpoints
        .split('\n')
        .map((l) => l.trim())
        .filter((l) => l !== ''),
      required_variables: needed,
      active,
      ...(bySip
        ? { headers: null }
        : {
            headers: headersOf(headers).map((h) => (h.value === '' ? { name: h.name } : h)),
            ...(healthUrl.trim() === '' ? { probe } : { health_url: healthUrl.trim() }),
          }),
      ...(bot === undefined ? {} : { account: bot.account }),
      ...(secret === '' ? {} : { auth_token: secret }),
    };
    put.mutate(
      { id: bot?.id ?? id.trim(), body },
      {
        onSuccess: (b) => {
          notifications.show({ color: 'green', message: `Saved: ${b.name}` });
          saved?.();
          close();
        },
      },
    );
  };
  return (
    <Dialog
      close={close}
      size="lg"
      closeOnClickOutside={false}
      title={bot === undefined ? 'New bot' : `Change ${bot.name}`}
    >
      <form onSubmit={submit}>
        <Stack>
          {rest && <Failure title="The bot was not saved" problem={rest} />}
          {bot === undefined && (
            <TextInput
              label="Identifier"
              description="Letters, digits, - and _; requests name it, and it cannot be changed"
              required
              withAsterisk={false}
              maxLength={64}
              value={id}
              onChange={(e) => setId(e.currentTarget.value)}
              error={of('id', 'bot_id')}
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
            label="Endpoints"
            description={
              'One a line, tried in this order: all wss:// (or ws://) addresses of media streams, ' +
              'or all sip:user@host'
            }
            placeholder="wss://bot.example.org/calls"
            required
            withAsterisk={false}
            autosize
            minRows={2}
            maxRows={8}
            value={endpoints}
            onChange={(e) => setEndpoints(e.currentTarget.value)}
            error={of('endpoints')}
          />
          <NumberInput
            label="Seats"
            description="Conversations that it holds at the same time"
            min={1}
            max={100_000}
            allowDecimal={false}
            value={seats}
            onChange={setSeats}
            error={of('seats')}
          />
          <PasswordInput
            label="Auth token"
            description={
              bot?.has_auth_token
                ? 'Signs our requests to the bot. Leave empty to keep the stored one'
                : 'Signs our requests to the bot'
            }
            autoComplete="new-password"
            maxLength={255}
            value={secret}
            onChange={(e) => setSecret(e.currentTarget.value)}
            error={of('auth_token')}
            visibilityToggleButtonProps={{ 'aria-label': 'Show or hide the token' }}
          />
          {!bySip && (
            <>
              <Textarea
                label="Headers of our requests"
                description={
                  'One a line, Name: value; what the bot wants beside our signature. ' +
                  'Values are not shown again: a name alone keeps the value that is stored'
                }
                placeholder="Authorization: Bearer …"
                autosize
                minRows={1}
                maxRows={8}
                value={headers}
                onChange={(e) => setHeaders(e.currentTarget.value)}
                error={of('headers')}
              />
              <TextInput
                label="Health URL"
                description="Asked whether the bot takes calls: an address, or a path at each endpoint such as /health"
                maxLength={2048}
                value={healthUrl}
                onChange={(e) => setHealthUrl(e.currentTarget.value)}
                error={of('health_url')}
              />
              {healthUrl.trim() === '' && (
                <Select
                  label="Without a health URL, it is asked by"
                  data={[
                    { value: 'connection', label: 'A connection' },
                    { value: 'session', label: 'A session, closed at once' },
                  ]}
                  value={probe}
                  onChange={(v) => v !== null && setProbe(v)}
                  allowDeselect={false}
                  error={of('probe')}
                />
              )}
            </>
          )}
          <TagsInput
            label="Required variables"
            description="Contacts without them are refused; press Enter after each"
            value={needed}
            onChange={setNeeded}
            error={of('required_variables')}
          />
          <Switch
            label="Active"
            description="When off, its campaigns stop dialling; calls in progress continue"
            checked={active}
            onChange={(e) => setActive(e.currentTarget.checked)}
          />
          <FormButtons close={close} busy={put.isPending} />
        </Stack>
      </form>
    </Dialog>
  );
}
