import { Button, Group, List, Skeleton, Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { Link, useLocation } from 'wouter';

import type { Campaign } from '../../api/client';
import { useCommand, usePreflight } from '../../api/queries';
import { Failure } from '../../components/failure';
import { PlayIcon } from '../../components/icons';
import { mayAddContacts, questionOf } from '../../words/commands';
import { plural } from '../../words/figures';
import { useUser } from '../../api/session';
import { ContactsFile } from '../campaign/add-contacts';
import { Preflight } from './preflight';

/** ContactsStep adds contacts from a file, which waits until it is added; more may be added while the campaign runs. */
export function ContactsStep({
  campaign: c,
  waits,
  busy,
}: {
  campaign: Campaign;
  waits: (file: boolean) => void;
  busy: (sending: boolean) => void;
}) {
  const { role } = useUser();
  return (
    <Stack>
      <Text size="sm">
        The campaign has <b data-figure="contacts_so_far">{plural(c.counters.total, 'contact')}</b>. More can be added
        while it runs, from files and by the API.
      </Text>
      {mayAddContacts(c, role) ? (
        <ContactsFile campaign={c} waits={waits} busy={busy} />
      ) : (
        <Text size="sm" c="dimmed">
          Contacts are locked: the campaign has run.
        </Text>
      )}
    </Stack>
  );
}

/** ReviewStep shows what Start would meet, and starts. */
export function ReviewStep({ campaign: c }: { campaign: Campaign }) {
  const flight = usePreflight(c.campaign_id);
  const command = useCommand(c.campaign_id);
  const [, go] = useLocation();
  const page = `/campaigns/${encodeURIComponent(c.campaign_id)}`;
  const question = questionOf('start', c);
  const start = () =>
    command.mutate('start', {
      onSuccess: () => {
        notifications.show({ color: 'green', message: `${question.done}: ${c.settings.name}` });
        go(page);
      },
      onError: () => void flight.refetch(),
    });
  return (
    <Stack>
      {flight.isPending && <Skeleton height={160} role="status" aria-label="Loading" />}
      {flight.isError && (
        <Failure title="The check before the start failed" problem={flight.error} retry={() => void flight.refetch()} />
      )}
      {flight.data && <Preflight flight={flight.data} zone={c.settings.window.zone} />}
      {flight.data?.ready === true && (
        <>
          <Text size="sm" fw={600}>
            When you start
          </Text>
          <List size="sm" spacing={6}>
            {question.consequences.map((line) => (
              <List.Item key={line}>{line}</List.Item>
            ))}
          </List>
        </>
      )}
      {command.error && <Failure title="The campaign was not started" problem={command.error} />}
      <Group justify="flex-end" gap="xs">
        <Button variant="default" onClick={() => void flight.refetch()} loading={flight.isFetching}>
          Check again
        </Button>
        <Button variant="default" component={Link} href={page}>
          Keep as a draft
        </Button>
        <Button
          leftSection={<PlayIcon size={16} />}
          disabled={flight.data?.ready !== true || c.status !== 'draft'}
          loading={command.isPending}
          onClick={start}
        >
          Start
        </Button>
      </Group>
    </Stack>
  );
}
