import { Button, Group, List, Stack, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import type { SyntheticEvent } from 'react';
import { useState } from 'react';
import { useLocation } from 'wouter';

import type { Campaign } from '../../api/client';
import { useClone } from '../../api/queries';
import { Dialog } from '../../components/dialog';
import { Failure } from '../../components/failure';
import { plural } from '../../words/figures';

/** CloneDialog copies the campaign into a new draft and opens it (spec: Clone). */
export function CloneDialog({ campaign: c, close }: { campaign: Campaign; close: () => void }) {
  const [name, setName] = useState(`${c.settings.name} (copy)`.slice(0, 200));
  const clone = useClone(c.campaign_id);
  const [, go] = useLocation();
  const submit = (e: SyntheticEvent) => {
    e.preventDefault();
    clone.mutate(
      { name: name.trim() },
      {
        onSuccess: (copy) => {
          notifications.show({ color: 'green', message: `Cloned: this is ${copy.settings.name}` });
          close();
          go(`/campaigns/${encodeURIComponent(copy.campaign_id)}`);
        },
      },
    );
  };
  const wrong = clone.error?.errors.find((e) => e.field === 'name')?.message;
  return (
    <Dialog close={clone.isPending ? () => undefined : close} title={`Clone “${c.settings.name}”`}>
      <form onSubmit={submit}>
        <Stack>
          {clone.error && wrong === undefined && <Failure title="The campaign was not cloned" problem={clone.error} />}
          <TextInput
            label="Name of the copy"
            required
            withAsterisk={false}
            maxLength={200}
            value={name}
            onChange={(e) => setName(e.currentTarget.value)}
            error={wrong}
            data-autofocus
          />
          <List size="sm" spacing={6}>
            <List.Item>
              Settings, number pool and {plural(c.counters.total, 'contact')} with their variables are copied; who is
              excluded stays excluded.
            </List.Item>
            <List.Item>Runs, attempts and results are not. The copy is a draft: nothing is dialled.</List.Item>
          </List>
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={close} disabled={clone.isPending}>
              Cancel
            </Button>
            <Button type="submit" loading={clone.isPending}>
              Clone
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}
