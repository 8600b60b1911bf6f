import type { Delivery, Webhook, WebhookType } from '../api/webhooks';
import { count } from './figures';
import type { Tone } from './states';

/** The events of an endpoint that names none. */
const usualTypes: WebhookType[] = [
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

/** The events of a call under way: only an endpoint that names them is told. */
const progressTypes: WebhookType[] = ['call.initiated', 'call.ringing', 'call.answered', 'call.bridged', 'call.ended'];

/** The events that an endpoint can be told of, as the form offers them. */
export const webhookTypes: { group: string; items: WebhookType[] }[] = [
  { group: 'Without a choice, all of these', items: usualTypes },
  { group: 'A call under way, only if chosen', items: progressTypes },
];

/** permission stands among an endpoint's types, but is no event: requests may name addresses below its own. */
export const permission: WebhookType = 'status_callback';

/** permits says whether requests may name addresses below that of an endpoint. */
export function permits(types: WebhookType[]): boolean {
  return types.includes(permission);
}

/** eventsOf says in short which events an endpoint is told of. */
export function eventsOf(types: WebhookType[]): string {
  if (types.length === 0) return 'all except call progress';
  const events = types.filter((t) => t !== permission);
  const told =
    events.length === 0 ? '' : events.length === 1 ? (events[0] as string) : `${count(events.length)} events`;
  return [told, permits(types) ? 'addresses of requests' : ''].filter((s) => s !== '').join(', ');
}

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
  other_campaign: 'the endpoint is no longer told of its campaign',
  other_address: 'the endpoint no longer permits the address that the request named',
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
