import type { APIKey, Scope } from '../api/keys';
import type { Tone } from './states';

/** What a key with each scope may do. */
export const scopes: Record<Scope, { label: string; may: string }> = {
  dialout: { label: 'Dialout', may: 'Place single calls, follow them and hang them up' },
  trigger: { label: 'Trigger', may: 'Add contacts to campaigns' },
  exclude: { label: 'Exclude', may: 'Exclude contacts and put numbers on the suppression list' },
  results: { label: 'Results', may: 'Send the results of conversations' },
  read: { label: 'Read', may: 'Read campaigns, contacts, calls and reports' },
};

/** keyState says whether a key is accepted now. */
export function keyState(k: APIKey, now: number): { label: string; tone: Tone } {
  if (!k.is_active) return { label: 'Inactive', tone: 'grey' };
  if (k.expires_at !== null && Date.parse(k.expires_at) <= now) return { label: 'Expired', tone: 'red' };
  return { label: 'Active', tone: 'green' };
}

/** example is a first request with a key that has these scopes, ready to paste. */
export function example(base: string, key: string, granted: readonly Scope[]): string {
  const post = (path: string, body: string) =>
    `curl -X POST ${base}${path} \\\n  -H 'X-API-Key: ${key}' \\\n  ` +
    `-H 'Content-Type: application/json' \\\n  -d '${body}'`;
  if (granted.includes('trigger'))
    return post('/api/v1/campaigns/trigger', '{"campaign_id": "…", "mobile": "+4915112345678"}');
  if (granted.includes('dialout')) return post('/api/v1/sip/dialout', '{"bot_id": "…", "to_number": "+4915112345678"}');
  if (granted.includes('exclude'))
    return post('/api/v1/contacts/exclude', '{"campaign_id": "…", "mobile": "+4915112345678"}');
  if (granted.includes('results')) return post('/api/v1/calls/CA…/result', '{"disposition": "interested"}');
  return `curl ${base}/api/v1/campaigns/… \\\n  -H 'X-API-Key: ${key}'`;
}
