import type { Campaign, Role, Schemas } from '../api/client';
import type { ContactCommand } from '../api/queries';
import { may } from '../api/session';
import { finalStates } from './campaigns';
import { windowOf } from './times';

type Contact = Schemas['ContactDetail'];
/** On is what of its campaign says what can be done to a contact. */
type On = Pick<Campaign, 'status' | 'settings'>;

export type ContactAction = ContactCommand['action'];

export const contactActionLabels: Record<ContactAction, string> = {
  'retry-now': 'Retry now',
  'call-back': 'Call back at…',
  exclude: 'Exclude…',
};

/**
 * actionsOnContact gives what the contact's state allows to a user of the role. The server decides; this only keeps
 * buttons away that it would refuse.
 */
export function actionsOnContact(c: On, k: Contact, role: Role): ContactAction[] {
  if (!may(role, 'operator') || k.status === 'excluded') return [];
  const dials = c.status === 'running' || c.status === 'paused';
  const live = k.explain.code === 'call_in_progress' || k.live_state !== undefined;
  const list: ContactAction[] = [];
  if (dials && !live && k.explain.code !== 'result_awaited') list.push('retry-now');
  if (dials && !live && c.settings.callback_detection) list.push('call-back');
  return [...list, 'exclude'];
}

const isFinal = (k: Contact) => (finalStates as readonly string[]).includes(k.status);

/** consequencesOf says what an action will do to the contact as it is now. */
export function consequencesOf(action: ContactAction, c: On, k: Contact): string[] {
  const again = isFinal(k) && 'Finished: it starts over with all its attempts.';
  const paused = c.status === 'paused' && 'The campaign is paused: it is called once somebody resumes it.';
  const lines = (() => {
    switch (action) {
      case 'retry-now':
        return [
          'It is dialled next, before first attempts and retries, ' +
            `inside its calling window: ${windowOf(c.settings.window)}.`,
          k.callback?.state === 'pending' && 'The callback that it waits for comes now.',
          again,
          paused,
        ];
      case 'call-back':
        return [
          'It is called before everybody else then, ' +
            `or when its calling window opens after that: ${windowOf(c.settings.window)}.`,
          k.callback?.state === 'pending' && 'This takes the place of the callback that it waits for.',
          again,
          paused,
        ];
      case 'exclude':
        return [
          `This campaign does not call ${k.phone_number} any more, ` +
            `${c.settings.sticky_exclusion ? 'also when' : 'until'} it is added again.`,
          'A call that rings is cancelled, a conversation goes on to its end. Retries and callbacks are dropped.',
        ];
    }
  })();
  return lines.filter((line) => line !== false);
}
