import type { APIKey, Scope } from '../api/keys';
import type { ScopeWords } from './scopes.gen';
import { scopeTable } from './scopes.gen';
import type { Tone } from './states';

/** Of each scope, what a key with it may do. */
export const scopes: Record<Scope, ScopeWords> = scopeTable;

const all = Object.keys(scopeTable) as Scope[];

/** scopeGroups are the scopes by what they are about, in the order in which they are shown. */
export const scopeGroups = all.reduce<{ name: string; scopes: Scope[] }[]>((groups, scope) => {
  const name = scopes[scope].group;
  const last = groups.at(-1);
  if (last?.name === name) last.scopes.push(scope);
  else groups.push({ name, scopes: [scope] });
  return groups;
}, []);

/** scopeName is how a scope is called: "Dialout", "Trunks, read only". */
export function scopeName(scope: Scope): string {
  const [noun = '', read] = scope.split(':');
  return noun.charAt(0).toUpperCase() + noun.slice(1) + (read === undefined ? '' : ', read only');
}

/** withIncluded are the scopes of a key with those that they include. */
export function withIncluded(granted: readonly Scope[]): Scope[] {
  return all.filter((s) => granted.includes(s) || granted.some((g) => scopes[g].includes.includes(s)));
}

/** chosen are the scopes that were given, after the boxes of those and the included ones have changed. */
export function chosen(granted: readonly Scope[], ticked: readonly string[]): Scope[] {
  const shown = withIncluded(granted);
  return all.filter((s) => ticked.includes(s) && (granted.includes(s) || !shown.includes(s)));
}

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
  return `curl ${base}/api/v1/campaigns \\\n  -H 'X-API-Key: ${key}'`;
}
