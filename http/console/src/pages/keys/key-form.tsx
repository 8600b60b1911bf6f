import { Checkbox, Fieldset, MultiSelect, NumberInput, SimpleGrid, Stack, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import type { SyntheticEvent } from 'react';
import { useState } from 'react';

import type { APIKey, KeyDraft, Scope } from '../../api/keys';
import { useCampaignNames, useChangeKey, useCreateKey } from '../../api/keys';
import { mistakes } from '../../api/mistakes';
import { Dialog } from '../../components/dialog';
import { Failure } from '../../components/failure';
import { FormButtons } from '../../components/form-buttons';
import { Once } from '../../components/once';
import { chosen, example, scopeGroups, scopeName, scopes, withIncluded } from '../../words/keys';
import { fromField, toField } from '../../words/local-time';
import { viewerZone } from '../../words/times';

/** KeyForm makes a key, or changes one. A new key is shown in full when it has been made, and never again. */
export function KeyForm({ of: key, close }: { of?: APIKey; close: () => void }) {
  const create = useCreateKey();
  const change = useChangeKey();
  const campaigns = useCampaignNames();
  const [name, setName] = useState(key?.name ?? '');
  const [granted, setGranted] = useState<Scope[]>(key?.scopes ?? ['dialout', 'trigger', 'exclude']);
  const [only, setOnly] = useState<string[]>(key?.campaigns ?? []);
  const [expires, setExpires] = useState(toField(key?.expires_at));
  const [perDay, setPerDay] = useState<number | string>(key?.dialouts_per_day ?? 0);
  const sent = key === undefined ? create : change;
  const { of, rest } = mistakes(sent.error, 'name', 'scopes', 'campaigns', 'expires_at', 'dialouts_per_day');
  const [none, setNone] = useState(false);

  const submit = (e: SyntheticEvent) => {
    e.preventDefault();
    setNone(granted.length === 0);
    if (granted.length === 0) return;
    const body = {
      name: name.trim(),
      scopes: granted,
      campaigns: only,
      expires_at: fromField(expires),
      dialouts_per_day: Number(perDay),
    } satisfies KeyDraft;
    if (key === undefined) {
      create.mutate(body);
      return;
    }
    change.mutate(
      { id: key.id, change: body },
      {
        onSuccess: (k) => {
          notifications.show({ color: 'green', message: `Saved: ${k.name}` });
          close();
        },
      },
    );
  };

  if (create.data !== undefined) {
    return (
      <Dialog
        close={close}
        size="lg"
        closeOnClickOutside={false}
        closeOnEscape={false}
        title={`Key of ${create.data.name}`}
      >
        <Once
          what="the key"
          secret={create.data.key}
          use={{ label: 'A first request', text: example(location.origin, create.data.key, create.data.scopes) }}
          done={close}
        />
      </Dialog>
    );
  }
  const known = new Set((campaigns.data ?? []).map((c) => c.id));
  return (
    <Dialog close={close} size="xl" title={key === undefined ? 'New API key' : `Change ${key.name}`}>
      <form onSubmit={submit}>
        <Stack>
          {rest && (
            <Failure title={key === undefined ? 'The key was not made' : 'Nothing was changed'} problem={rest} />
          )}
          <TextInput
            label="Name"
            description="One key for each CRM or integration, named after it"
            required
            withAsterisk={false}
            maxLength={100}
            value={name}
            onChange={(e) => setName(e.currentTarget.value)}
            error={of('name')}
            data-autofocus
          />
          <Checkbox.Group
            label="What it may do"
            description="Some include others, which are ticked with them"
            value={withIncluded(granted)}
            onChange={(v) => setGranted(chosen(granted, v))}
            error={none ? 'Choose at least one.' : of('scopes')}
          >
            <Stack gap="sm" mt={6}>
              {scopeGroups.map((group) => (
                <Fieldset key={group.name} legend={group.name} p="sm">
                  <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="md" verticalSpacing={8}>
                    {group.scopes.map((s) => (
                      <Checkbox
                        key={s}
                        value={s}
                        label={scopeName(s)}
                        description={scopes[s].may}
                        disabled={!granted.includes(s) && withIncluded(granted).includes(s)}
                      />
                    ))}
                  </SimpleGrid>
                </Fieldset>
              ))}
            </Stack>
          </Checkbox.Group>
          <MultiSelect
            label="Campaigns"
            description="Empty: every campaign, those of tomorrow too"
            placeholder={only.length > 0 ? '' : 'Every campaign'}
            searchable
            clearable
            clearButtonProps={{ 'aria-label': 'Every campaign' }}
            data={[
              ...(campaigns.data ?? []).map((c) => ({ value: c.id, label: c.name })),
              ...only.filter((id) => !known.has(id)).map((id) => ({ value: id, label: id })),
            ]}
            value={only}
            onChange={setOnly}
            error={of('campaigns')}
          />
          <TextInput
            type="datetime-local"
            label="Expires"
            description={`By your clock, ${viewerZone}. Empty: never`}
            value={expires}
            onChange={(e) => setExpires(e.currentTarget.value)}
            error={of('expires_at')}
          />
          {granted.includes('dialout') && (
            <NumberInput
              label="Dialouts within 24 hours"
              description="0: no cap"
              min={0}
              max={1_000_000}
              allowDecimal={false}
              allowNegative={false}
              thousandSeparator=" "
              value={perDay}
              onChange={setPerDay}
              error={of('dialouts_per_day')}
            />
          )}
          <FormButtons close={close} busy={sent.isPending} submit={key === undefined ? 'Make the key' : 'Save'} />
        </Stack>
      </form>
    </Dialog>
  );
}
