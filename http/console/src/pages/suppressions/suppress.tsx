import { Button, FileInput, Group, List, Modal, Stack, Tabs, Text, TextInput, Textarea } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import type { SyntheticEvent } from 'react';
import { useState } from 'react';

import { mistakes } from '../../api/mistakes';
import type { SuppressionImport } from '../../api/suppressions';
import { useImportSuppressions, useSuppress } from '../../api/suppressions';
import { Failure } from '../../components/failure';
import { count, plural } from '../../words/figures';

/** Suppress puts numbers on the list: typed ones, or those of a file. */
export function Suppress({ close }: { close: () => void }) {
  return (
    <Modal opened onClose={close} size="lg" title={<Text fw={650}>Leave numbers alone</Text>}>
      <Stack>
        <Text size="sm" c="dimmed">
          From then on no call to them is begun, in any campaign or outside. Calls that ring are cancelled; conversations go on to their end.
        </Text>
        <Tabs defaultValue="typed" keepMounted={false}>
          <Tabs.List mb="md">
            <Tabs.Tab value="typed">Type them</Tabs.Tab>
            <Tabs.Tab value="file">From a file</Tabs.Tab>
          </Tabs.List>
          <Tabs.Panel value="typed">
            <Typed close={close} />
          </Tabs.Panel>
          <Tabs.Panel value="file">
            <FromFile close={close} />
          </Tabs.Panel>
        </Tabs>
      </Stack>
    </Modal>
  );
}

function Typed({ close }: { close: () => void }) {
  const suppress = useSuppress();
  const [text, setText] = useState('');
  const [reason, setReason] = useState('');
  const numbers = text.split(/[\s,;]+/).filter((n) => n !== '');
  const { of, rest } = mistakes(suppress.error, 'numbers', 'reason');
  const at = /^numbers\[(\d+)\]/.exec(suppress.error?.errors[0]?.field ?? '')?.[1];
  const wrong = of('numbers');
  const submit = (e: SyntheticEvent) => {
    e.preventDefault();
    suppress.mutate(
      { numbers, reason: reason.trim() },
      {
        onSuccess: ({ added, known }) => {
          notifications.show({ color: 'green', message: `${plural(added, 'number')} put on the list${known > 0 ? `, ${count(known)} were on it already` : ''}.` });
          close();
        },
      },
    );
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        {rest && <Failure title="Nothing was put on the list" problem={rest} />}
        <Textarea label="Numbers" description="With the country, for example +4915112345678; one a line, 1,000 at most" required withAsterisk={false} autosize minRows={3} maxRows={10} value={text} onChange={(e) => setText(e.currentTarget.value)} error={wrong && `${at === undefined ? '' : `${numbers[Number(at)] ?? ''}: `}${wrong}`} data-autofocus />
        <TextInput label="Reason" description="Shown in the list; empty: manual" maxLength={200} value={reason} onChange={(e) => setReason(e.currentTarget.value)} error={of('reason')} />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={close}>
            Cancel
          </Button>
          <Button type="submit" loading={suppress.isPending}>
            {numbers.length > 1 ? `Leave ${count(numbers.length)} numbers alone` : 'Leave it alone'}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function FromFile({ close }: { close: () => void }) {
  const send = useImportSuppressions();
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
        <TextInput label="Reason" description="Shown in the list; empty: import" maxLength={200} value={reason} onChange={(e) => setReason(e.currentTarget.value)} />
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

function Read({ of: r, close }: { of: SuppressionImport; close: () => void }) {
  return (
    <Stack role="status">
      <Text>
        {plural(r.rows, 'row')}: {count(r.added)} put on the list, {count(r.known)} on it already, {count(r.invalid)} not readable.
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
