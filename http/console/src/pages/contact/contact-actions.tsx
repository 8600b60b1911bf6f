import { Button, Group, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import type { ReactNode } from 'react';
import { useState } from 'react';

import type { Schemas } from '../../api/client';
import { serverNow } from '../../api/clock';
import { mistakes } from '../../api/mistakes';
import type { ContactCommand } from '../../api/queries';
import { useContactCommand } from '../../api/queries';
import { useUser } from '../../api/session';
import { Confirm } from '../../components/confirm';
import type { ContactAction } from '../../words/contact-actions';
import { actionsOnContact, consequencesOf, contactActionLabels } from '../../words/contact-actions';
import { fromField, toField } from '../../words/local-time';
import { minuteOf, moment, viewerZone } from '../../words/times';
import type { Still } from '../campaign/still';

interface Props {
  campaign: Still;
  contact: Schemas['ContactDetail'];
}

/** ContactActions holds what an operator can do to the contact in its present state. Every action asks first. */
export function ContactActions({ campaign: c, contact: k }: Props) {
  const { role } = useUser();
  const actions = actionsOnContact(c, k, role);
  // What is asked stays while the contact goes on: its answer is the server's.
  const [asked, setAsked] = useState<ContactAction>();
  const close = () => setAsked(undefined);
  return (
    <>
      {actions.length > 0 && (
        <Group gap="xs" role="group" aria-label="What to do with this contact">
          {actions.map((a) => (
            <Button
              key={a}
              size="xs"
              variant="default"
              {...(a === 'exclude' ? { c: 'var(--mantine-color-error)' } : {})}
              onClick={() => setAsked(a)}
            >
              {contactActionLabels[a]}
            </Button>
          ))}
        </Group>
      )}
      {asked === 'retry-now' && (
        <Ask
          campaign={c}
          contact={k}
          action={asked}
          close={close}
          command={() => ({ action: 'retry-now' })}
          title={`Retry ${k.phone_number} now?`}
          confirm="Retry now"
          done="It is dialled next."
        />
      )}
      {asked === 'call-back' && <CallBack campaign={c} contact={k} close={close} />}
      {asked === 'exclude' && <Exclude campaign={c} contact={k} close={close} />}
    </>
  );
}

interface AskProps extends Props {
  action: ContactAction;
  title: string;
  confirm: string;
  done: string;
  close: () => void;
  /** What is sent; undefined while the form cannot be. */
  command: () => ContactCommand | undefined;
  /** The fields of the form, and the form: `wrong` is what the server says of one. */
  fields?: string[];
  children?: (wrong: (field: string) => string | undefined) => ReactNode;
}

/**
 * Ask says what an action will do, carries it out, and shows why it was refused: a mistake at its field, the rest
 * above.
 */
function Ask({
  campaign: c,
  contact: k,
  action,
  title,
  confirm,
  done,
  close,
  command,
  fields = [],
  children,
}: AskProps) {
  const send = useContactCommand(c.campaign_id, k.contact_id);
  const [lines] = useState(() => consequencesOf(action, c, k));
  const wrong = mistakes(send.error, ...fields);
  return (
    <Confirm
      overDrawer
      title={title}
      lines={lines}
      confirm={confirm}
      grave={action === 'exclude'}
      busy={send.isPending}
      problem={wrong.rest}
      close={close}
      carryOut={() => {
        const what = command();
        if (what === undefined) return;
        send.mutate(what, {
          onSuccess: () => {
            notifications.show({ color: 'green', title: k.phone_number, message: done });
            close();
          },
        });
      }}
    >
      {children?.(wrong.of)}
    </Confirm>
  );
}

const hourMs = 3_600_000;

function CallBack({ campaign: c, contact: k, close }: Props & { close: () => void }) {
  const [field, setField] = useState(() => toField(new Date(serverNow() + hourMs).toISOString()));
  const at = fromField(field);
  const zone = c.settings.window.zone;
  const there =
    at !== null && zone !== viewerZone && minuteOf(new Date(at), zone) !== undefined
      ? ` In ${zone}, the campaign’s zone: ${moment(new Date(at), zone)}.`
      : '';
  return (
    <Ask
      campaign={c}
      contact={k}
      action="call-back"
      close={close}
      fields={['at']}
      command={() => (at === null ? undefined : { action: 'call-back', at })}
      title={`Call ${k.phone_number} back?`}
      confirm="Schedule callback"
      done={at === null ? '' : `It is called back ${moment(new Date(at))} (${viewerZone}).`}
    >
      {(wrong) => (
        <TextInput
          type="datetime-local"
          label={`When, by your clock (${viewerZone})`}
          description={`From now to 14 days ahead.${there}`}
          value={field}
          min={toField(new Date(serverNow()).toISOString())}
          onChange={(e) => setField(e.currentTarget.value)}
          error={at === null ? 'Say when.' : wrong('at')}
        />
      )}
    </Ask>
  );
}

function Exclude({ campaign: c, contact: k, close }: Props & { close: () => void }) {
  const [reason, setReason] = useState('');
  return (
    <Ask
      campaign={c}
      contact={k}
      action="exclude"
      close={close}
      fields={['reason']}
      command={() => ({ action: 'exclude', reason: reason.trim() })}
      title={`Exclude ${k.phone_number}?`}
      confirm="Exclude"
      done="It is excluded from this campaign."
    >
      {(wrong) => (
        <TextInput
          label="Reason"
          description="Kept with the exclusion; optional"
          maxLength={500}
          value={reason}
          onChange={(e) => setReason(e.currentTarget.value)}
          error={wrong('reason')}
        />
      )}
    </Ask>
  );
}
