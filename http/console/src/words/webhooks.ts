import type { Delivery, Webhook, WebhookType } from '../api/webhooks';
import { count } from './figures';
import type { Tone } from './states';

/** The events that an endpoint can be told of. */
export const webhookTypes: WebhookType[] = [
  'campaign.started',
  'campaign.paused',
  'campaign.resumed',
  'campaign.stopped',
  'campaign.completed',
  'campaign.failed',
  'campaign.restarted',
  'attempt.ended',
  'dialout.ended',
  'inbound.ended',
  'abandon.recorded',
  'result.stored',
  'result.timed_out',
  'contact.completed',
  'contact.failed',
  'contact.abandoned',
  'contact.machine_detected',
  'contact.window_closed',
  'contact.manually_stopped',
  'contact.expired',
  'contact.excluded',
  'callback.scheduled',
  'callback.cancelled',
  'contacts.added',
  'contacts.closed',
];

/** hookState says whether an endpoint is told. */
export function hookState(h: Webhook): { label: string; tone: Tone; more: string } {
  if (h.is_active) return { label: 'Active', tone: 'green', more: 'It is told of what happens.' };
  if (h.disabled_reason === 'gone')
    return { label: 'Gone', tone: 'red', more: 'Its server answered 410: the dialler turned it off.' };
  if (h.disabled_reason === 'failing')
    return {
      label: 'Failing',
      tone: 'red',
      more: 'It took nothing for as long as a message is tried: the dialler turned it off.',
    };
  return { label: 'Inactive', tone: 'grey', more: 'Nothing is kept for it; events of this time are never sent.' };
}

export const deliveryState: Record<Delivery['state'], { label: string; tone: Tone }> = {
  pending: { label: 'Pending', tone: 'amber' },
  delivered: { label: 'Delivered', tone: 'green' },
  failed: { label: 'Failed', tone: 'red' },
};

const troubles: Record<string, string> = {
  refused: 'nobody takes connections there',
  timeout: 'no answer in time',
  tls: 'its certificate is not good',
  dns: 'the name is not known',
  address_forbidden: 'it is in a private network, which is not allowed',
  broken: 'the answer broke off',
  url: 'the address is not good',
  endpoint_inactive: 'the endpoint was inactive',
};

/** answer says what came of the last try. */
export function answer(d: Delivery): string {
  const tries = d.attempts === 0 ? 'not tried yet' : `${count(d.attempts)} ${d.attempts === 1 ? 'try' : 'tries'}`;
  const last =
    d.response_status !== undefined
      ? `HTTP ${d.response_status}`
      : d.problem === undefined
        ? ''
        : (troubles[d.problem] ?? d.problem);
  return [last, tries].filter((s) => s !== '').join(', ');
}
