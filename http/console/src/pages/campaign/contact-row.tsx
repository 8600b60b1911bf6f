import { ActionIcon, Anchor, Box, Collapse, Group, Table, Text } from '@mantine/core';
import { memo, useId, useState } from 'react';

import type { Attempt, Contact } from '../../api/client';
import { serverNow } from '../../api/clock';
import { DownIcon, RightIcon } from '../../components/icons';
import { ToneBadge, ToneWord } from '../../components/tone-badge';
import { When } from '../../components/when';
import { contactStatus, named, outcome, reasonOf, words } from '../../words/states';
import { AttemptTable, attemptLabel } from './attempt-table';
import css from './contact-row.module.css';

/** So many attempts are in the row itself; all are in its details. */
const trailShown = 3;
const variablesShown = 2;

/** ContactRow is one contact with its trail; opened, it shows all that is known of each attempt. */
export const ContactRow = memo(function ContactRow({ contact: c, zone, show }: { contact: Contact; zone: string; show: (contact: string) => void }) {
  const [open, setOpen] = useState(false);
  const id = useId();
  const status = named(contactStatus, c.status);
  const variables = Object.entries(c.variables);
  const earlier = c.attempt_trail.length - trailShown;
  return (
    <>
      <Table.Tr data-contact={c.phone_number} data-open={open || undefined} className={css.row}>
        <Table.Td>
          <Group gap={6} wrap="nowrap">
            <ActionIcon size="sm" variant="subtle" color="gray" aria-expanded={open} aria-controls={id} aria-label={`${open ? 'Hide' : 'Show'} details of ${c.phone_number}`} onClick={() => setOpen(!open)}>
              {open ? <DownIcon size={15} /> : <RightIcon size={15} />}
            </ActionIcon>
            <Anchor component="button" type="button" size="sm" className="figure" fw={500} c="inherit" style={{ whiteSpace: 'nowrap' }} title="All about this contact" onClick={() => show(c.contact_id)}>
              {c.phone_number}
            </Anchor>
          </Group>
        </Table.Td>
        <Table.Td>
          <Group gap={6}>
            <ToneBadge tone={status.tone} label={status.label} />
            {c.live_state && c.live_state !== c.status && <ToneBadge tone="blue" label={words(c.live_state)} alive />}
            {c.callback && <ToneBadge tone="purple" label="Callback" title={words(c.callback.state)} />}
          </Group>
          {c.reason && (
            <Text size="xs" c="dimmed" mt={3}>
              {reasonOf(c.reason)}
            </Text>
          )}
        </Table.Td>
        <Table.Td ta="right" className="figure" data-figure="attempts">
          {c.attempts}/{c.max_attempts}
        </Table.Td>
        <Table.Td>
          {c.attempt_trail.length === 0 ? (
            <Text size="sm" c="dimmed">
              Not dialled yet
            </Text>
          ) : (
            <ol className={css.trail}>
              {earlier > 0 && <li className={css.earlier}>{earlier} earlier</li>}
              {c.attempt_trail.slice(-trailShown).map((a) => (
                <TrailItem key={a.attempt_id} attempt={a} zone={zone} />
              ))}
            </ol>
          )}
        </Table.Td>
        <Table.Td>
          <Text size="sm">{c.last_result === '' ? <span className={css.none}>--</span> : lastResult(c.last_result)}</Text>
          {c.next_eligible_at && Date.parse(c.next_eligible_at) > serverNow() && (
            <Text size="xs" c="dimmed">
              next <When at={c.next_eligible_at} zone={zone} precise />
            </Text>
          )}
        </Table.Td>
        <Table.Td>
          {variables.slice(0, variablesShown).map(([key, value]) => (
            <Text key={key} size="xs" className={css.variable} title={value}>
              <span>{key}</span> {value}
            </Text>
          ))}
          {variables.length > variablesShown && (
            <Text size="xs" c="dimmed">
              {variables.length - variablesShown} more
            </Text>
          )}
        </Table.Td>
      </Table.Tr>
      <Table.Tr className={css.details} id={id} hidden={!open}>
        <Table.Td colSpan={6} p={0}>
          <Collapse expanded={open}>
            <Box className={css.inside}>
              {open && <AttemptTable attempts={c.attempt_trail} zone={zone} />}
              {variables.length > 0 && (
                <dl className={css.variables}>
                  {variables.map(([key, value]) => (
                    <div key={key}>
                      <dt>{key}</dt>
                      <dd>{value}</dd>
                    </div>
                  ))}
                </dl>
              )}
            </Box>
          </Collapse>
        </Table.Td>
      </Table.Tr>
    </>
  );
});

/** lastResult is an outcome in our words or a disposition in the bot's own. */
function lastResult(result: string): string {
  return Object.hasOwn(outcome, result) ? named(outcome, result).label : result;
}

function TrailItem({ attempt: a, zone }: { attempt: Attempt; zone: string }) {
  const label = attemptLabel(a);
  return (
    <li className={css.item} data-attempt={a.short_id} data-outcome={a.outcome}>
      <span className={css.number}>{a.number ?? '–'}</span>
      <Text component="span" size="sm">
        <ToneWord tone={label.tone} label={label.label} title={a.sip_reason} />
      </Text>
      <Text component="span" size="xs" c="dimmed">
        {a.started_at && <When at={a.started_at} zone={zone} precise />}
      </Text>
    </li>
  );
}
