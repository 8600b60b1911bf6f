import { Button, FileInput, Group, List, Modal, Stack, Tabs, Text, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import type { SyntheticEvent } from 'react';
import { useState } from 'react';

import type { ExclusionImport } from '../../api/exclusions';
import { useExclude, useImportExclusions } from '../../api/exclusions';
import { mistakes } from '../../api/mistakes';
import { Failure } from '../../components/failure';
import { count, plural } from '../../words/figures';

/** Exclude has a campaign leave somebody alone: one number, or those of a file. */
export function Exclude({ campaign, close }: { campaign: string; close: () => void }) {
  return (
    <Modal opened onClose={close} size="lg" title={<Text fw={650}>Exclude from this campaign</Text>}>
      <Stack>
        <Text size="sm" c="dimmed">
          From then on no call to them is begun by this campaign. Calls that ring are cancelled; conversations go on to their end.
        </Text>
        <Tabs defaultValue="typed" keepMounted={false}>
          <Tabs.List mb="md">
            <Tabs.Tab value="typed">One number</Tabs.Tab>
            <Tabs.Tab value="file">From a file</Tabs.Tab>
          </Tabs.List>
          <Tabs.Panel value="typed">
            <Typed campaign={campaign} close={close} />
          </Tabs.Panel>
          <Tabs.Panel value="file">
            <FromFile campaign={campaign} close={close} />
          </Tabs.Panel>
        </Tabs>
      </Stack>
    </Modal>
  );
}

function Typed({ campaign, close }: { campaign: string; close: () => void }) {
  const exclude = useExclude(campaign);
  const [number, setNumber] = useState('');
  const [reason, setReason] = useState('');
  const { of, rest } = mistakes(exclude.error, 'mobile', 'reason');
  const submit = (e: SyntheticEvent) => {
    e.preventDefault();
    exclude.mutate(
      { mobile: number.replaceAll(/[\s()./-]/g, '').replace(/^00/, '+'), reason: reason.trim() },
      {
        onSuccess: ({ matched }) => {
          notifications.show({ color: 'green', message: matched > 0 ? 'Excluded.' : 'Excluded in advance: the campaign has no contact with this number yet.' });
          close();
        },
      },
    );
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        {rest && <Failure title="Nobody was excluded" problem={rest} />}
        <TextInput label="Number" description="With its country, for example +4915112345678" required withAsterisk={false} value={number} onChange={(e) => setNumber(e.currentTarget.value)} error={of('mobile')} data-autofocus />
        <TextInput label="Reason" description="Shown in the list" maxLength={500} value={reason} onChange={(e) => setReason(e.currentTarget.value)} error={of('reason')} />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={close}>
            Cancel
          </Button>
          <Button type="submit" loading={exclude.isPending}>
            Exclude it
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function FromFile({ campaign, close }: { campaign: string; close: () => void }) {
  const send = useImportExclusions(campaign);
  const [file, setFile] = useState<File | null>(null);
  const [reason, setReason] = useState('');
  if (send.data !== undefined) return <Read of={send.data} close={close} />;
  const submit = (e: SyntheticEvent) => {
    e.preventDefault();
    if (file !== null) send.mutate({ file, reason: reason.trim() });
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        {send.error && <Failure title="The file was not read to its end" problem={send.error} />}
        <FileInput label="CSV file" description="Its first line names a column phone_number; others are not looked at" placeholder="Choose a file" accept=".csv,text/csv" required withAsterisk={false} value={file} onChange={setFile} />
        <TextInput label="Reason" description="Shown in the list; empty: import" maxLength={500} value={reason} onChange={(e) => setReason(e.currentTarget.value)} />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={close}>
            Cancel
          </Button>
          <Button type="submit" loading={send.isPending} disabled={file === null}>
            Import
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function Read({ of: r, close }: { of: ExclusionImport; close: () => void }) {
  return (
    <Stack role="status">
      <Text>
        {plural(r.rows, 'row')}: {count(r.rows - r.invalid)} excluded, {count(r.matched)} of them contacts of this campaign; {count(r.invalid)} not readable.
      </Text>
      {r.rejected.length > 0 && (
        <List size="sm" spacing={4}>
          {r.rejected.slice(0, 10).map((row) => (
            <List.Item key={row.line}>
              Line {row.line}, “{row.phone_number}”: {row.message}
            </List.Item>
          ))}
          {r.invalid > 10 && <List.Item>and {count(r.invalid - 10)} more</List.Item>}
        </List>
      )}
      <Group justify="flex-end">
        <Button onClick={close}>Done</Button>
      </Group>
    </Stack>
  );
}
