import { Button, Group, List, Stack } from '@mantine/core';
import type { ReactNode } from 'react';

import type { Problem } from '../api/problem';
import { Dialog } from './dialog';
import { Failure } from './failure';

interface Props {
  title: string;
  /** What it will do, a sentence a line. */
  lines: string[];
  confirm: string;
  /** What the button says after a refusal. */
  again?: string;
  /** It cannot be taken back, or it stops something: Cancel has the focus. */
  grave?: boolean;
  busy: boolean;
  problem: Problem | null;
  carryOut: () => void;
  close: () => void;
  /** It stands over a drawer, which has a header already: a page has one such landmark. */
  overDrawer?: boolean;
  children?: ReactNode;
}

/** Confirm asks before something is done, and shows why it was refused. */
export function Confirm({
  title,
  lines,
  confirm,
  again = 'Try again',
  grave = false,
  busy,
  problem,
  carryOut,
  close,
  overDrawer = false,
  children,
}: Props) {
  const leave = busy ? () => undefined : close;
  return (
    <Dialog close={leave} title={title} overDrawer={overDrawer}>
      <Stack>
        {problem && <Failure problem={problem} title="That was refused" />}
        {!problem && (
          <List spacing={6} size="sm">
            {lines.map((line) => (
              <List.Item key={line}>{line}</List.Item>
            ))}
          </List>
        )}
        {children}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={close} disabled={busy} data-autofocus={grave || undefined}>
            {problem ? 'Close' : 'Cancel'}
          </Button>
          <Button
            {...(grave ? { color: 'red.9' } : {})}
            loading={busy}
            onClick={carryOut}
            data-autofocus={grave ? undefined : true}
          >
            {problem ? again : confirm}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
