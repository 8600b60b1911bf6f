import { MultiSelect, Stack, Switch, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import type { SyntheticEvent } from 'react';
import { useState } from 'react';

import { useCampaignNames } from '../../api/keys';
import { mistakes } from '../../api/mistakes';
import type { Webhook, WebhookType } from '../../api/webhooks';
import { useChangeWebhook, useCreateWebhook } from '../../api/webhooks';
import { Dialog } from '../../components/dialog';
import { Failure } from '../../components/failure';
import { FormButtons } from '../../components/form-buttons';
import { Once } from '../../components/once';
import { permission, permits, webhookTypes } from '../../words/webhooks';

/** WebhookForm makes an endpoint, whose secret is then shown once, or changes one. */
export function WebhookForm({ of: hook, close }: { of?: Webhook; close: () => void }) {
  const create = useCreateWebhook();
  const change = useChangeWebhook();
  const campaigns = useCampaignNames();
  const [url, setUrl] = useState(hook?.url ?? '');
  const [description, setDescription] = useState(hook?.description ?? '');
  const [types, setTypes] = useState<WebhookType[]>(hook?.types ?? []);
  const [only, setOnly] = useState(hook?.campaigns ?? []);
  const sent = hook === undefined ? create : change;
  const { of, rest } = mistakes(sent.error, 'url', 'description', 'types', 'campaigns');
  const submit = (e: SyntheticEvent) => {
    e.preventDefault();
    const body = { url: url.trim(), description: description.trim(), types, campaigns: only };
    if (hook === undefined) {
      create.mutate(body);
      return;
    }
    change.mutate(
      { id: hook.id, change: body },
      {
        onSuccess: (h) => {
          notifications.show({ color: 'green', message: `Saved: ${h.url}` });
          close();
        },
      },
    );
  };
  if (create.data?.secret !== undefined) {
    return (
      <Dialog close={close} closeOnClickOutside={false} closeOnEscape={false} size="lg" title="Secret of the endpoint">
        <Once what="the secret" kept secret={create.data.secret} done={close} />
      </Dialog>
    );
  }
  const permitting = permits(types);
  const events = types.filter((t) => t !== permission);
  const known = new Set((campaigns.data ?? []).map((c) => c.id));
  return (
    <Dialog close={close} size="lg" title={hook === undefined ? 'New endpoint' : 'Change the endpoint'}>
      <form onSubmit={submit}>
        <Stack>
          {rest && <Failure title="The endpoint was not saved" problem={rest} />}
          <TextInput
            label="Address"
            description="https; private networks are refused unless the dialler is told otherwise"
            type="url"
            placeholder="https://crm.example.org/dialler"
            required
            withAsterisk={false}
            maxLength={2048}
            value={url}
            onChange={(e) => setUrl(e.currentTarget.value)}
            error={of('url')}
            data-autofocus
          />
          <TextInput
            label="Description"
            maxLength={500}
            value={description}
            onChange={(e) => setDescription(e.currentTarget.value)}
            error={of('description')}
          />
          <MultiSelect
            label="Events"
            description="Empty: every event except call progress, those of later versions too"
            placeholder={events.length > 0 ? '' : permitting ? 'None' : 'Every event except call progress'}
            searchable
            data={webhookTypes}
            value={events}
            onChange={(v) => setTypes(permitting ? [...v, permission] : v)}
            error={of('types')}
          />
          <Switch
            label="Requests may name addresses below this one"
            description={
              'Whoever places calls by an API key may then have their progress, with numbers and variables, sent to ' +
              'any address that begins with this one (status_callback). On a host that others use too, give the path ' +
              'that is yours alone. With this and no events, nothing else is sent.'
            }
            checked={permitting}
            onChange={(e) => setTypes(e.currentTarget.checked ? [...events, permission] : events)}
          />
          <MultiSelect
            label="Campaigns"
            description="Empty: every campaign, and dialouts"
            placeholder={only.length === 0 ? 'Every campaign' : ''}
            searchable
            data={[
              ...(campaigns.data ?? []).map((c) => ({ value: c.id, label: c.name })),
              ...only.filter((id) => !known.has(id)).map((id) => ({ value: id, label: id })),
            ]}
            value={only}
            onChange={setOnly}
            error={of('campaigns')}
          />
          <FormButtons close={close} busy={sent.isPending} submit={hook === undefined ? 'Make the endpoint' : 'Save'} />
        </Stack>
      </form>
    </Dialog>
  );
}
