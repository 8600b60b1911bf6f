import {
  Fieldset,
  Group,
  MultiSelect,
  NumberInput,
  PasswordInput,
  Select,
  SimpleGrid,
  Stack,
  Switch,
  TagsInput,
  Text,
  TextInput,
  Textarea,
  UnstyledButton,
} from '@mantine/core';
import { notifications } from '@mantine/notifications';
import type { SyntheticEvent } from 'react';
import { useId, useState } from 'react';

import { mistakes } from '../../api/mistakes';
import type { Trunk } from '../../api/telephony';
import { usePutTrunk } from '../../api/telephony';
import { Dialog } from '../../components/dialog';
import { Failure } from '../../components/failure';
import { FormButtons } from '../../components/form-buttons';
import { DownIcon, RightIcon } from '../../components/icons';
import type { Draft } from './trunk-draft';
import { draftOf, requestOf, seldom, shown } from './trunk-draft';

/**
 * TrunkForm makes a trunk, or changes one: what nearly every trunk needs first, the rest behind "More settings". A new
 * one may have been begun elsewhere.
 */
export function TrunkForm({
  of: trunk,
  begun,
  saved,
  close,
}: {
  of?: Trunk;
  begun?: Draft;
  saved?: () => void;
  close: () => void;
}) {
  const put = usePutTrunk();
  const [d, setDraft] = useState(() => begun ?? draftOf(trunk));
  const [wide, setWide] = useState(false);
  const set = (change: Partial<Draft>) => setDraft((old) => ({ ...old, ...change }));
  const { of, rest } = mistakes(put.error, ...shown);
  const open = wide || of(...seldom) !== undefined;
  const more = useId();
  const submit = (e: SyntheticEvent) => {
    e.preventDefault();
    put.mutate(
      { id: trunk?.id ?? d.id.trim(), body: requestOf(d) },
      {
        onSuccess: (t) => {
          notifications.show({ color: 'green', message: `Saved: ${t.id}. Applies to new calls.` });
          saved?.();
          close();
        },
      },
    );
  };
  return (
    <Dialog
      close={close}
      size="xl"
      closeOnClickOutside={false}
      title={trunk === undefined ? 'New trunk' : `Change ${trunk.id}`}
    >
      <form onSubmit={submit}>
        <Stack>
          {rest && <Failure title="The trunk was not saved" problem={rest} />}
          {trunk?.origin === 'file' && (
            <Text size="sm" c="dimmed">
              This trunk stands in the configuration file: what you change here holds until the next start.
            </Text>
          )}
          {trunk === undefined && (
            <TextInput
              label="Name"
              description="Letters, digits, dots, - and _; used in reports, cannot be changed later"
              required
              withAsterisk={false}
              maxLength={64}
              value={d.id}
              onChange={(e) => set({ id: e.currentTarget.value })}
              error={of('id', 'trunk_id')}
              data-autofocus
            />
          )}
          <SimpleGrid cols={{ base: 1, sm: 3 }}>
            <TextInput
              label="Host"
              description="Name or address of the carrier"
              required
              withAsterisk={false}
              maxLength={253}
              value={d.host}
              onChange={(e) => set({ host: e.currentTarget.value })}
              error={of('host')}
            />
            <NumberInput
              label="Port"
              description="0: use DNS"
              min={0}
              max={65535}
              allowDecimal={false}
              value={d.port}
              onChange={(port) => set({ port })}
              error={of('port')}
            />
            <Select
              label="Transport"
              description="Transport protocol"
              data={[
                { value: 'udp', label: 'UDP' },
                { value: 'tcp', label: 'TCP' },
                { value: 'tls', label: 'TLS' },
              ]}
              value={d.transport}
              onChange={(v) => v && set({ transport: v })}
              allowDeselect={false}
              error={of('transport')}
            />
          </SimpleGrid>
          <Fieldset legend="Authentication">
            <Stack gap="sm">
              <Select
                aria-label="Authentication"
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
                    required
                    withAsterisk={false}
                    maxLength={128}
                    value={d.username}
                    onChange={(e) => set({ username: e.currentTarget.value })}
                    error={of('username')}
                  />
                  <PasswordInput
                    label="Password"
                    description={trunk?.has_password ? 'Leave empty to keep the stored one' : undefined}
                    inputWrapperOrder={['label', 'input', 'description', 'error']}
                    autoComplete="new-password"
                    maxLength={128}
                    value={d.password}
                    onChange={(e) => set({ password: e.currentTarget.value })}
                    error={of('password')}
                    visibilityToggleButtonProps={{ 'aria-label': 'Show or hide the password' }}
                  />
                </SimpleGrid>
              )}
              {d.kind === 'registered' && (
                <NumberInput
                  label="Lifetime of the registration"
                  description="In seconds; 0 is 600"
                  min={0}
                  max={86400}
                  allowDecimal={false}
                  value={d.register}
                  onChange={(register) => set({ register })}
                  error={of('register_s')}
                />
              )}
            </Stack>
          </Fieldset>
          <SimpleGrid cols={{ base: 1, sm: 2 }}>
            <NumberInput
              label="New calls a second"
              description="Cap of the carrier; never more"
              min={1}
              max={10_000}
              allowDecimal={false}
              value={d.cps}
              onChange={(cps) => set({ cps })}
              error={of('cps_cap')}
            />
            <NumberInput
              label="Channels"
              description="Simultaneous calls, ringing ones included"
              min={1}
              max={100_000}
              allowDecimal={false}
              value={d.channels}
              onChange={(channels) => set({ channels })}
              error={of('channel_cap')}
            />
            <Select
              label="How numbers are written"
              data={[
                { value: 'e164', label: '+49301234567' },
                { value: 'e164_no_plus', label: '49301234567' },
                { value: 'international', label: '0049301234567' },
                { value: 'national', label: '0301234567, as dialled in a country' },
              ]}
              value={d.numberFormat}
              onChange={(v) => v && set({ numberFormat: v })}
              allowDeselect={false}
              error={of('number_format')}
            />
            {d.numberFormat === 'national' && (
              <TextInput
                label="Country"
                description="Two letters, for example DE"
                inputWrapperOrder={['label', 'input', 'description', 'error']}
                required
                withAsterisk={false}
                maxLength={2}
                value={d.numberCountry}
                onChange={(e) => set({ numberCountry: e.currentTarget.value })}
                error={of('number_country')}
              />
            )}
          </SimpleGrid>
          <Switch
            label="Active"
            description="Off: no call goes over it; calls that are live go on"
            checked={d.active}
            onChange={(e) => set({ active: e.currentTarget.checked })}
          />
          <UnstyledButton aria-expanded={open} aria-controls={more} onClick={() => setWide(!open)}>
            <Group gap={6}>
              {open ? <DownIcon size={16} /> : <RightIcon size={16} />}
              <Text size="sm" fw={600}>
                More settings
              </Text>
            </Group>
          </UnstyledButton>
          <div id={more} hidden={!open}>
            <Seldom d={d} set={set} of={of} />
          </div>
          <FormButtons close={close} busy={put.isPending} />
        </Stack>
      </form>
    </Dialog>
  );
}

/** Seldom holds the settings that most trunks leave as they are. */
function Seldom({
  d,
  set,
  of,
}: {
  d: Draft;
  set: (change: Partial<Draft>) => void;
  of: (...fields: string[]) => string | undefined;
}) {
  const text = (
    label: string,
    field: string,
    key: 'fromUser' | 'fromDomain' | 'privacy' | 'proxy' | 'listener' | 'externalHost' | 'tlsName' | 'userAgent',
    description: string,
  ) => (
    <TextInput
      label={label}
      description={description}
      inputWrapperOrder={['label', 'input', 'description', 'error']}
      value={d[key]}
      onChange={(e) => set({ [key]: e.currentTarget.value })}
      error={of(field)}
    />
  );
  const number = (
    label: string,
    field: string,
    key: 'priority' | 'weight' | 'options' | 'redirects' | 'session',
    min: number,
    max: number,
    description: string,
  ) => (
    <NumberInput
      label={label}
      description={description}
      inputWrapperOrder={['label', 'input', 'description', 'error']}
      min={min}
      max={max}
      allowDecimal={false}
      value={d[key]}
      onChange={(v) => set({ [key]: v })}
      error={of(field)}
    />
  );
  const choice = (
    label: string,
    field: string,
    key: 'callerIdHeader' | 'reliable' | 'inbound' | 'dtmf' | 'symmetric' | 'srtp' | 'family',
    data: { value: string; label: string }[],
    description?: string,
  ) => (
    <Select
      label={label}
      description={description}
      inputWrapperOrder={['label', 'input', 'description', 'error']}
      data={data}
      value={d[key]}
      onChange={(v) => v !== null && set({ [key]: v })}
      allowDeselect={false}
      error={of(field)}
    />
  );
  return (
    <Stack>
      <Fieldset legend="Caller ID">
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          {text('User of From', 'from_user', 'fromUser', 'For carriers that want the account there')}
          {text('Host of From', 'from_domain', 'fromDomain', 'Empty: our address, or the registrar')}
          {choice('Header with the caller ID', 'caller_id_header', 'callerIdHeader', [
            { value: 'none', label: 'None' },
            { value: 'p_asserted_identity', label: 'P-Asserted-Identity' },
            { value: 'p_preferred_identity', label: 'P-Preferred-Identity' },
          ])}
          {text('Privacy', 'privacy', 'privacy', 'For example id, or id;critical')}
        </SimpleGrid>
      </Fieldset>
      <Fieldset legend="Order among trunks">
        <SimpleGrid cols={{ base: 1, sm: 3 }}>
          {number('Priority', 'priority', 'priority', 0, 1000, 'Lower is tried first')}
          {number('Weight', 'weight', 'weight', 1, 1000, 'Share at equal priority')}
          {number('OPTIONS every', 'options_s', 'options', 0, 3600, 'Seconds; 0: calls alone show whether it is there')}
        </SimpleGrid>
      </Fieldset>
      <Fieldset legend="Network">
        <SimpleGrid cols={{ base: 1, sm: 3 }}>
          {text('Outbound proxy', 'outbound_proxy', 'proxy', 'host or host:port')}
          {text('Listener', 'listener', 'listener', 'Empty: the first one')}
          {text('External address', 'external_host', 'externalHost', 'Behind NAT: what the carrier sees')}
        </SimpleGrid>
        {d.transport === 'tls' && (
          <Stack gap="sm" mt="sm">
            {text('Name in the certificate', 'tls_server_name', 'tlsName', 'Empty: the host')}
            <Textarea
              label="Certificates to trust"
              description="PEM; empty: those of the system"
              autosize
              minRows={2}
              maxRows={8}
              value={d.tlsRoots}
              onChange={(e) => set({ tlsRoots: e.currentTarget.value })}
              error={of('tls_roots')}
            />
            <Textarea
              label="Our certificate"
              description="With its chain, as PEM; for a carrier that asks for one. Else the listener's"
              autosize
              minRows={2}
              maxRows={8}
              value={d.tlsCertificate}
              onChange={(e) => set({ tlsCertificate: e.currentTarget.value })}
              error={of('tls_certificate')}
            />
            {d.tlsCertificate !== '' && (
              <Textarea
                label="Its private key"
                description="As PEM, not encrypted. Empty keeps the one that is stored; it is never shown"
                autosize
                minRows={2}
                maxRows={8}
                value={d.tlsKey}
                onChange={(e) => set({ tlsKey: e.currentTarget.value })}
                error={of('tls_key')}
              />
            )}
            <Switch
              label="Take any certificate"
              description="Whoever is on the way can listen; only for tests"
              checked={d.tlsInsecure}
              onChange={(e) => set({ tlsInsecure: e.currentTarget.checked })}
            />
          </Stack>
        )}
      </Fieldset>
      <Fieldset legend="Audio">
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          <MultiSelect
            label="Codecs, the preferred one first"
            data={['PCMU', 'PCMA', 'G722']}
            value={d.codecs}
            onChange={(codecs) => set({ codecs })}
            error={of('media')}
          />
          {choice('Digits are sent', 'media', 'dtmf', [
            { value: 'rfc4733', label: 'In the audio (RFC 4733)' },
            { value: 'info', label: 'By INFO' },
          ])}
          {choice('Audio from elsewhere than SDP says', 'media', 'symmetric', [
            { value: 'auto', label: 'Where SDP names an address out of reach' },
            { value: 'on', label: 'Taken (the carrier is behind NAT)' },
            { value: 'off', label: 'Never taken' },
          ])}
          <TagsInput
            label="Networks of such audio"
            description="As 192.0.2.0/24 or 2001:db8::/32; beside the hosts of SDP and signalling"
            value={d.networks}
            onChange={(networks) => set({ networks })}
            error={of('media.networks')}
          />
          {choice(
            'Encrypted (SRTP)',
            'media',
            'srtp',
            [
              { value: 'off', label: 'No' },
              { value: 'optional', label: 'If the carrier answers with keys' },
              { value: 'required', label: 'Always' },
            ],
            'Use it with TLS: the keys travel in SIP',
          )}
          {choice(
            'IP version of audio',
            'media.family',
            'family',
            [
              { value: '', label: "That of the trunk's address" },
              { value: 'ipv4', label: 'IPv4' },
              { value: 'ipv6', label: 'IPv6' },
            ],
            'For a trunk given by name the first of --rtp-host',
          )}
          <Switch
            label="Silence is not sent (DTX)"
            description="Calls are not ended for want of audio"
            checked={d.dtx}
            onChange={(e) => set({ dtx: e.currentTarget.checked })}
          />
        </SimpleGrid>
      </Fieldset>
      <Fieldset legend="SIP">
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          {choice('Provisional answers (100rel)', 'reliable_provisionals', 'reliable', [
            { value: 'supported', label: 'Supported' },
            { value: 'required', label: 'Required' },
            { value: 'off', label: 'Off' },
          ])}
          {choice('A call from the trunk', 'inbound', 'inbound', [
            { value: 'forbidden', label: 'Is refused: 403 Forbidden' },
            { value: 'unavailable', label: 'Is refused: 480 Unavailable' },
            { value: 'busy', label: 'Is refused: 486 Busy' },
            { value: 'decline', label: 'Is refused: 603 Decline' },
          ])}
          {number('Redirects followed', 'redirects', 'redirects', 0, 5, '3xx answers of one call')}
          {number('Session timer', 'session_s', 'session', -1, 86400, 'Seconds; 0 is 1800, −1 is none')}
        </SimpleGrid>
        <Stack gap="sm" mt="sm">
          {text('User-Agent', 'user_agent', 'userAgent', 'Empty: the dialler’s own')}
          <Textarea
            label="Further headers of every INVITE"
            description="One a line, Name: value"
            autosize
            minRows={2}
            maxRows={8}
            value={d.headers}
            onChange={(e) => set({ headers: e.currentTarget.value })}
            error={of('extra_headers')}
          />
        </Stack>
      </Fieldset>
    </Stack>
  );
}
