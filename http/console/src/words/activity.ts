import type { Schemas } from '../api/client';
import type { Tone } from './states';
import { completionReason, words } from './states';
import { plural } from './figures';

type Activity = Schemas['Activity'];

const shown: Partial<Record<Activity['action'], { label: string; tone: Tone }>> = {
  start: { label: 'Start', tone: 'green' },
  pause: { label: 'Pause', tone: 'amber' },
  resume: { label: 'Resume', tone: 'green' },
  stop: { label: 'Stop', tone: 'red' },
  complete: { label: 'Completed', tone: 'blue' },
  fail: { label: 'Failed', tone: 'red' },
  add_contacts: { label: 'Contacts added', tone: 'grey' },
  undo_import: { label: 'Import taken back', tone: 'grey' },
  exclude_contact: { label: 'Contact excluded', tone: 'grey' },
  call_back_contact: { label: 'Call back promised', tone: 'purple' },
  retry_contact: { label: 'Contact retried', tone: 'blue' },
  import_exclusions: { label: 'Numbers excluded', tone: 'grey' },
  lift_exclusion: { label: 'Exclusion lifted', tone: 'amber' },
};

/** actionOf names what was done. */
export function actionOf(a: Activity): { label: string; tone: Tone } {
  return shown[a.action] ?? { label: words(a.action), tone: 'grey' };
}

/** detailOf is what the log knows beside who and when. */
export function detailOf(a: Activity): string {
  const reason =
    a.reason === undefined || a.reason === ''
      ? ''
      : Object.hasOwn(completionReason, a.reason)
        ? completionReason[a.reason as keyof typeof completionReason]
        : a.reason;
  return [
    a.run !== undefined && a.run > 1 ? `run ${a.run}` : '',
    a.contacts === undefined ? '' : plural(a.contacts, 'contact'),
    a.campaign_id ?? '',
    a.contact_id === undefined ? '' : `contact …${a.contact_id.slice(-8)}`,
    reason,
  ]
    .filter((s) => s !== '')
    .join(' · ');
}
