import { Alert, Anchor, Group, Skeleton, Stack, Text, Title } from '@mantine/core';
import { Link } from 'wouter';

import type { Schemas } from '../../api/client';
import { useContact } from '../../api/queries';
import { Side } from '../../components/dialog';
import { Failure } from '../../components/failure';
import { InfoIcon } from '../../components/icons';
import { ToneBadge } from '../../components/tone-badge';
import { When } from '../../components/when';
import { trailOf } from '../../words/calls';
import { none } from '../../words/figures';
import { sentence } from '../../words/sentence';
import { contactStatus, named, outcome, words } from '../../words/states';
import type { Still } from '../campaign/still';
import { AttemptDetail } from './attempt-detail';
import { ContactActions } from './contact-actions';
import css from './contact.module.css';

/** How often an open contact is asked for: its calls go on meanwhile. */
const askMs = 3_000;

/** ContactDrawer shows all that is known of one contact: why it is not dialled now, and every attempt. */
export default function ContactDrawer({
  campaign: c,
  contact,
  close,
}: {
  campaign: Still;
  contact: string;
  close: () => void;
}) {
  return (
    <Side close={close} size="xl" title="Contact">
      <Loaded campaign={c} contact={contact} />
    </Side>
  );
}

function Loaded({ campaign: c, contact }: { campaign: Still; contact: string }) {
  const query = useContact(c.campaign_id, contact, askMs);
  if (query.data === undefined) {
    return query.isError ? (
      <Failure title="The contact cannot be shown" problem={query.error} retry={() => void query.refetch()} />
    ) : (
      <Skeleton height={240} role="status" aria-label="Loading" />
    );
  }
  return <Shown campaign={c} contact={query.data} />;
}

function Shown({ campaign: c, contact: k }: { campaign: Still; contact: Schemas['ContactDetail'] }) {
  const status = named(contactStatus, k.status);
  const zone = c.settings.window.zone;
  const variables = Object.entries(k.variables);
  const last = Object.hasOwn(outcome, k.last_result) ? named(outcome, k.last_result).label : k.last_result;
  const facts: [string, React.ReactNode][] = [
    ['Attempts', `${k.attempts}/${k.max_attempts}`],
    ['Last Result', last === '' ? none : last],
    ['Source', words(k.source)],
    ['Added', <When key="added" at={k.created_at} zone={zone} />],
  ];
  if (k.not_before !== null) facts.push(['Not before', <When key="from" at={k.not_before} zone={zone} precise />]);
  if (k.expires_at !== null) facts.push(['Expires', <When key="until" at={k.expires_at} zone={zone} precise />]);
  if (k.priority !== 5) facts.push(['Priority', k.priority]);
  (k.alternates ?? []).forEach((a, i) => {
    const notes = [
      a.label,
      a.number === k.next_number ? 'called next' : undefined,
      a.barred ? 'not called any more in this run' : undefined,
    ];
    facts.push([`Number ${i + 2}`, [a.number, ...notes.filter(Boolean)].join(', ')]);
  });
  return (
    <Stack>
      <Group gap="sm">
        <Title order={2} size="h3" className="figure">
          {k.phone_number}
        </Title>
        <ToneBadge tone={status.tone} label={status.label} />
        {k.live_state && <ToneBadge tone="blue" label={words(k.live_state)} alive />}
        {k.callback && <ToneBadge tone="purple" label="Callback" title={words(k.callback.state)} />}
      </Group>
      <Anchor component={Link} href={`/people/${k.phone_number}`} size="sm" underline="always">
        This person in all campaigns
      </Anchor>
      <ContactActions campaign={c} contact={k} />
      <Alert color="indigo" icon={<InfoIcon />} title="Next call" data-explain={k.explain.code}>
        <Text size="sm">
          {sentence(k.explain.message)}
          {k.explain.next_at !== undefined && (
            <>
              {' '}
              Next: <When at={k.explain.next_at} zone={zone} precise />.
            </>
          )}
        </Text>
        {k.callback?.at && (
          <Text size="sm">
            Callback {words(k.callback.state).toLowerCase()}: <When at={k.callback.at} zone={zone} precise />.
          </Text>
        )}
      </Alert>
      <dl className={css.facts}>
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd className="figure">{value}</dd>
          </div>
        ))}
      </dl>
      {variables.length > 0 && (
        <section aria-label="Variables">
          <Title order={3} size="h5" mb={6}>
            Variables
          </Title>
          <dl className={css.facts}>
            {variables.map(([name, value]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ))}
          </dl>
        </section>
      )}
      <section aria-label="Attempts">
        <Title order={3} size="h5" mb={6}>
          Attempts
        </Title>
        {k.attempt_trail.length === 0 && (
          <Text size="sm" c="dimmed">
            Not dialled yet.
          </Text>
        )}
        <Stack gap="sm">
          {[...trailOf(k)].reverse().map((a, i) => (
            <AttemptDetail key={a.attempt_id} attempt={a} zone={zone} open={i === 0} />
          ))}
        </Stack>
      </section>
    </Stack>
  );
}
