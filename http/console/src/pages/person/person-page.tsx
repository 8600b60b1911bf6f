import {
  Alert,
  Anchor,
  Button,
  Checkbox,
  Group,
  Paper,
  Skeleton,
  Stack,
  Table,
  Text,
  TextInput,
  Title,
} from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import { Link } from 'wouter';

import { mistakes } from '../../api/mistakes';
import type { Person } from '../../api/people';
import { useErase, useExcludeEverywhere, usePerson } from '../../api/people';
import { may, useUser } from '../../api/session';
import { Confirm } from '../../components/confirm';
import { Failure } from '../../components/failure';
import { InfoIcon } from '../../components/icons';
import { Empty, Rows } from '../../components/listing';
import { PageBody } from '../../components/page';
import { ToneBadge } from '../../components/tone-badge';
import { When } from '../../components/when';
import { count, none, plural } from '../../words/figures';
import { nameOf, numbersOf, storyOf } from '../../words/person';
import { campaignStatus, contactStatus, named, outcome, reasonOf } from '../../words/states';
import { viewerZone } from '../../words/times';
import css from './person.module.css';

/** PersonPage is one person over all campaigns: a number, whose contacts, calls and exclusions stand together. */
export default function PersonPage({ params }: { params: Record<string, string> }) {
  const number = decodeURIComponent(params['number'] ?? '');
  const query = usePerson(number);
  if (query.data !== undefined) return <Shown key={number} person={query.data} />;
  return (
    <PageBody title={number}>
      {query.isError ? (
        <Failure title="The person cannot be shown" problem={query.error} retry={() => void query.refetch()} />
      ) : (
        <Skeleton height={240} role="status" aria-label="Loading" />
      )}
    </PageBody>
  );
}

function Shown({ person: p }: { person: Person }) {
  const name = nameOf(p.contacts);
  const numbers = numbersOf(p);
  const story = storyOf(p);
  const listed = numbers.every((n) => p.suppressions.some((x) => x.number === n));
  return (
    <PageBody title={name === '' ? p.phone_number : name}>
      <Stack gap="lg" maw={1080}>
        <Group justify="space-between" align="flex-start" gap="md">
          <Stack gap={4}>
            <Group gap="sm">
              <Title order={1} size="h2" className="figure">
                {name === '' ? p.phone_number : name}
              </Title>
              {listed && <ToneBadge tone="red" label="Excluded everywhere" />}
              {p.held && <ToneBadge tone="blue" label={p.held_until === null ? 'In a call' : 'Not called for now'} />}
            </Group>
            <Text size="sm" c="dimmed" className="figure">
              {(name === '' ? numbers.slice(1) : numbers).join(', ')}
            </Text>
          </Stack>
          <Acts person={p} numbers={numbers} listed={listed} />
        </Group>
        {p.more && (
          <Alert color="indigo" icon={<InfoIcon />}>
            There is more than can be shown here: the latest 200 contacts, 500 calls and 200 exclusions are.
          </Alert>
        )}
        {p.contacts.length === 0 && story.length === 0 ? (
          <Empty title="Nothing is known of this number">
            No campaign has a contact with {p.phone_number}, no call went to it or came from it, and it is on no list.
          </Empty>
        ) : (
          <>
            <Campaigns person={p} />
            <Story person={p} />
          </>
        )}
      </Stack>
    </PageBody>
  );
}

function Campaigns({ person: p }: { person: Person }) {
  return (
    <section aria-labelledby="person-campaigns">
      <Title order={2} size="h4" mb="xs" id="person-campaigns">
        {p.contacts.length === 0 ? 'In no campaign' : `In ${plural(p.contacts.length, 'campaign')}`}
      </Title>
      {p.contacts.length > 0 && (
        <Rows
          label="Campaigns"
          minWidth={720}
          heads={
            <>
              <Table.Th>Campaign</Table.Th>
              <Table.Th>Status</Table.Th>
              <Table.Th ta="right">Attempts</Table.Th>
              <Table.Th>Last result</Table.Th>
              <Table.Th>Variables</Table.Th>
              <Table.Th>Contact</Table.Th>
            </>
          }
        >
          {p.contacts.map((c) => {
            const status = named(contactStatus, c.status);
            const campaign = `/campaigns/${encodeURIComponent(c.campaign_id)}`;
            const last = Object.hasOwn(outcome, c.last_result) ? named(outcome, c.last_result).label : c.last_result;
            return (
              <Table.Tr key={c.contact_id} data-campaign={c.campaign_id}>
                <Table.Td>
                  <Anchor component={Link} href={campaign} size="sm" underline="always">
                    {c.campaign_name}
                  </Anchor>
                  <Text size="xs" c="dimmed">
                    {named(campaignStatus, c.campaign_status).label}
                  </Text>
                </Table.Td>
                <Table.Td>
                  <ToneBadge tone={status.tone} label={status.label} />
                  {c.reason !== undefined && c.reason !== '' && (
                    <Text size="xs" c="dimmed">
                      {reasonOf(c.reason)}
                    </Text>
                  )}
                </Table.Td>
                <Table.Td ta="right" className="figure">
                  {c.attempts}/{c.max_attempts}
                </Table.Td>
                <Table.Td>{last === '' ? none : last}</Table.Td>
                <Table.Td className={css.variables}>
                  {Object.entries(c.variables)
                    .filter(([, value]) => value !== '')
                    .map(([key, value]) => (
                      <div key={key}>
                        <span className={css.name}>{key}</span> {value}
                      </div>
                    ))}
                </Table.Td>
                <Table.Td>
                  <Anchor
                    component={Link}
                    href={`${campaign}?contact=${encodeURIComponent(c.contact_id)}`}
                    size="sm"
                    underline="always"
                    aria-label={`Contact in ${c.campaign_name}`}
                  >
                    Open
                  </Anchor>
                </Table.Td>
              </Table.Tr>
            );
          })}
        </Rows>
      )}
    </section>
  );
}

/** storyShown is how many steps stand on the page before all are asked for. */
const storyShown = 50;

function Story({ person: p }: { person: Person }) {
  const [all, setAll] = useState(false);
  const story = storyOf(p);
  return (
    <section aria-labelledby="person-story">
      <Title order={2} size="h4" mb="xs" id="person-story">
        What happened
      </Title>
      <Paper withBorder p={{ base: 'md', sm: 'lg' }}>
        <ol className={css.story} aria-label="What happened">
          {(all ? story : story.slice(0, storyShown)).map((s) => (
            <li key={s.key} data-step={s.key}>
              <span className={css.dot} data-tone={s.tone} aria-hidden="true" />
              <span className={css.at}>{s.at === '' ? none : <When at={s.at} zone={viewerZone} />}</span>
              <span className={css.what}>
                <b>{s.title}</b>
                {s.detail !== undefined && s.detail !== '' && ` · ${s.detail}`}
                {s.campaign && (
                  <>
                    {' · '}
                    <Anchor
                      component={Link}
                      href={`/campaigns/${encodeURIComponent(s.campaign.id)}`}
                      size="sm"
                      underline="always"
                    >
                      {s.campaign.name}
                    </Anchor>
                  </>
                )}
                {s.call !== undefined && (
                  <>
                    {' · '}
                    <Anchor component={Link} href={`/calls/${s.call}`} size="sm" underline="always" title={s.call}>
                      call …{s.call.slice(-8)}
                    </Anchor>
                  </>
                )}
              </span>
            </li>
          ))}
        </ol>
        {!all && story.length > storyShown && (
          <Button variant="default" size="xs" mt="md" onClick={() => setAll(true)}>
            Show all {count(story.length)}
          </Button>
        )}
      </Paper>
    </section>
  );
}

function Acts({ person: p, numbers, listed }: { person: Person; numbers: string[]; listed: boolean }) {
  const { role } = useUser();
  const [asked, setAsked] = useState<'exclude' | 'erase'>();
  const close = () => setAsked(undefined);
  return (
    <Group gap="xs" role="group" aria-label="What to do with this person">
      {may(role, 'operator') && !listed && (
        <Button size="xs" variant="default" onClick={() => setAsked('exclude')}>
          Exclude everywhere…
        </Button>
      )}
      {may(role, 'admin') && (
        <Button size="xs" variant="default" c="var(--mantine-color-error)" onClick={() => setAsked('erase')}>
          Erase…
        </Button>
      )}
      {asked === 'exclude' && <Exclude person={p} numbers={numbers} close={close} />}
      {asked === 'erase' && <Erase person={p} numbers={numbers} close={close} />}
    </Group>
  );
}

function Exclude({ person: p, numbers, close }: { person: Person; numbers: string[]; close: () => void }) {
  const send = useExcludeEverywhere(p.phone_number);
  const [reason, setReason] = useState('');
  const wrong = mistakes(send.error, 'reason');
  return (
    <Confirm
      title={`Exclude ${p.phone_number} everywhere?`}
      lines={[
        numbers.length === 1
          ? 'The number goes on the suppression list: no campaign and no single call reaches it any more.'
          : `All ${numbers.length} numbers go on the suppression list: no campaign and no single call reaches them.`,
        'A call that rings is cancelled; a conversation goes on to its end.',
        'An admin can lift it on the page Suppression list.',
      ]}
      confirm="Exclude everywhere"
      grave
      busy={send.isPending}
      problem={wrong.rest}
      close={close}
      carryOut={() =>
        send.mutate(
          { numbers, reason: reason.trim() },
          {
            onSuccess: () => {
              notifications.show({ color: 'green', title: p.phone_number, message: 'It is excluded everywhere.' });
              close();
            },
          },
        )
      }
    >
      <TextInput
        label="Reason"
        description="Kept with the number; optional"
        maxLength={200}
        value={reason}
        onChange={(e) => setReason(e.currentTarget.value)}
        error={wrong.of('reason')}
      />
    </Confirm>
  );
}

function Erase({ person: p, numbers, close }: { person: Person; numbers: string[]; close: () => void }) {
  const send = useErase(p.phone_number);
  const [suppress, setSuppress] = useState(true);
  return (
    <Confirm
      title={`Erase ${p.phone_number}?`}
      lines={[
        `${numbers.length === 1 ? 'The number' : 'All numbers'} and the variables are taken out of ` +
          `${plural(p.contacts.length, 'campaign')}, ${plural(p.calls.length, 'call')}, recordings and reports. ` +
          'Counters stay as they are.',
        'Where the person may still be called, the contact is excluded first.',
        'It cannot be taken back.',
      ]}
      confirm="Erase"
      grave
      busy={send.isPending}
      problem={send.error}
      close={close}
      carryOut={() =>
        send.mutate(
          { suppress },
          {
            onSuccess: (done) => {
              notifications.show({
                color: 'green',
                message: `Erased from ${plural(done.contacts, 'campaign')} and ${plural(done.attempts, 'call')}.`,
              });
              close();
            },
          },
        )
      }
    >
      <Checkbox
        label="Keep the number from being called again"
        description="The suppression list keeps a code of it, from which nobody reads the number"
        checked={suppress}
        onChange={(e) => setSuppress(e.currentTarget.checked)}
      />
    </Confirm>
  );
}
