import { Button, FileInput, Group, List, Stack, Tabs, Text, TextInput } from '@mantine/core';
import type { ReactNode, SyntheticEvent } from 'react';
import { useState } from 'react';

import type { Problem } from '../api/problem';
import { count } from '../words/figures';
import { Dialog } from './dialog';
import { Failure } from './failure';
import { FormButtons } from './form-buttons';

interface Report {
  invalid: number;
  rejected: { line: number; phone_number: string; message: string }[];
}

interface Props<T extends Report> {
  title: string;
  /** What it will do. */
  intro: string;
  /** The name of the tab for numbers that are typed, and its form. */
  typed: string;
  children: ReactNode;
  send: {
    data: T | undefined;
    error: Problem | null;
    isPending: boolean;
    mutate: (x: { file: File; reason: string }) => void;
  };
  reasonLength: number;
  /** What became of the rows of a file. */
  told: (r: T) => string;
  close: () => void;
}

/** NumbersDialog takes numbers that shall be left alone: typed ones, or those of a file. */
export function NumbersDialog<T extends Report>({
  title,
  intro,
  typed,
  children,
  send,
  reasonLength,
  told,
  close,
}: Props<T>) {
  return (
    <Dialog close={close} size="lg" title={title}>
      <Stack>
        <Text size="sm" c="dimmed">
          {intro}
        </Text>
        <Tabs defaultValue="typed" keepMounted={false}>
          <Tabs.List mb="md">
            <Tabs.Tab value="typed">{typed}</Tabs.Tab>
            <Tabs.Tab value="file">From a file</Tabs.Tab>
          </Tabs.List>
          <Tabs.Panel value="typed">{children}</Tabs.Panel>
          <Tabs.Panel value="file">
            {send.data === undefined ? (
              <FromFile send={send} reasonLength={reasonLength} close={close} />
            ) : (
              <Read of={send.data} told={told(send.data)} close={close} />
            )}
          </Tabs.Panel>
        </Tabs>
      </Stack>
    </Dialog>
  );
}

function FromFile<T extends Report>({ send, reasonLength, close }: Pick<Props<T>, 'send' | 'reasonLength' | 'close'>) {
  const [file, setFile] = useState<File | null>(null);
  const [reason, setReason] = useState('');
  const submit = (e: SyntheticEvent) => {
    e.preventDefault();
    if (file !== null) send.mutate({ file, reason: reason.trim() });
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        {send.error && <Failure title="The file was not read to its end" problem={send.error} />}
        <FileInput
          label="CSV file"
          description="Its first line names a column phone_number; others are not looked at"
          placeholder="Choose a file"
          accept=".csv,text/csv"
          required
          withAsterisk={false}
          value={file}
          onChange={setFile}
        />
        <TextInput
          label="Reason"
          description="Shown in the list; empty: import"
          maxLength={reasonLength}
          value={reason}
          onChange={(e) => setReason(e.currentTarget.value)}
        />
        <FormButtons close={close} busy={send.isPending} submit="Import" disabled={file === null} />
      </Stack>
    </form>
  );
}

function Read({ of: r, told, close }: { of: Report; told: string; close: () => void }) {
  return (
    <Stack role="status">
      <Text>{told}</Text>
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
