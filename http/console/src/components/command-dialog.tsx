import { Button, Group, List, Stack } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import { useLocation } from 'wouter';

import type { Campaign } from '../api/client';
import { useCommand, useDelete } from '../api/queries';
import { home } from '../routes';
import type { Asked } from '../words/commands';
import { questionOf } from '../words/commands';
import { Dialog } from './dialog';
import { Failure } from './failure';

/** CommandDialog says what a command will do, carries it out, and shows why it was refused. */
export function CommandDialog({ action, campaign, close }: { action: Asked; campaign: Campaign; close: () => void }) {
  // What is asked stays as it was when it was asked: figures that change under the reader would be read twice.
  const [question] = useState(() => questionOf(action, campaign));
  const command = useCommand(campaign.campaign_id);
  const remove = useDelete(campaign.campaign_id);
  const [, go] = useLocation();
  const busy = command.isPending || remove.isPending;
  const problem = command.error ?? remove.error;
  const done = () => {
    notifications.show({ color: 'green', message: `${question.done}: ${campaign.settings.name}` });
    close();
    if (action === 'delete') go(home);
  };
  const carryOut = () => {
    // The page may learn before this answer that the campaign is gone, and take the dialog away: what follows comes all
    // the same.
    const carriedOut: Promise<unknown> = action === 'delete' ? remove.mutateAsync() : command.mutateAsync(action);
    carriedOut.then(done, () => undefined); // what was refused is shown
  };
  return (
    <Dialog close={busy ? () => undefined : close} title={question.title}>
      <Stack>
        {problem ? (
          <Failure
            problem={problem}
            title={problem.code === 'preflight_failed' ? 'The campaign cannot dial yet' : 'That was refused'}
          />
        ) : (
          <List spacing={6} size="sm">
            {question.consequences.map((line) => (
              <List.Item key={line}>{line}</List.Item>
            ))}
          </List>
        )}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={close} disabled={busy} data-autofocus={question.grave || undefined}>
            {problem ? 'Close' : 'Cancel'}
          </Button>
          <Button
            {...(question.grave ? { color: 'red.9' } : {})}
            loading={busy}
            onClick={carryOut}
            data-autofocus={question.grave ? undefined : true}
          >
            {problem ? 'Try again' : question.confirm}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
