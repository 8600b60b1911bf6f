import type { Campaign } from '../api/client';

/** Integration is one endpoint that other systems call for a campaign, ready to be pasted into a shell. */
export interface Integration {
  name: string;
  about: string;
  curl: string;
}

/** What stands where the key belongs: it is shown once, at its creation, and never here. */
export const keyPlaceholder = '<API_KEY>';

/** The number of the examples; nobody has it. */
export const exampleNumber = '+4915112345678';

/** quoted writes a text for a POSIX shell. */
export function quoted(s: string): string {
  return `'${s.replaceAll("'", `'\\''`)}'`;
}

function curl(url: string, headers: string[], body: unknown): string {
  return [
    `curl -X POST ${quoted(url)}`,
    ...headers.map((h) => `-H ${quoted(h)}`),
    "-H 'Content-Type: application/json'",
    `-d ${quoted(JSON.stringify(body, undefined, 2))}`,
  ].join(' \\\n  ');
}

/** integrations gives the endpoints of a campaign at an address; `variables` are those that its bot needs. */
export function integrations(
  c: Pick<Campaign, 'campaign_id' | 'settings'>,
  origin: string,
  variables: readonly string[] = [],
): Integration[] {
  const key = `X-API-Key: ${keyPlaceholder}`;
  const values = Object.fromEntries((variables.length > 0 ? variables : ['first_name']).map((v) => [v, '…']));
  return [
    {
      name: 'Trigger',
      about:
        'Adds one contact and dials it or queues it. A repeat with the same Idempotency-Key is the same request: ' +
        'nobody is dialled twice.',
      curl: curl(`${origin}/api/v1/campaigns/trigger`, [key, 'Idempotency-Key: order-1001'], {
        campaign_id: c.campaign_id,
        mobile: exampleNumber,
        metadata: values,
      }),
    },
    {
      name: 'Exclude a number',
      about: c.settings.sticky_exclusion
        ? 'No call goes to the number any more, also when it is added again: Sticky Exclusion is on.'
        : 'No call goes to the number any more, until it is added again: Sticky Exclusion is off.',
      curl: curl(`${origin}/api/v1/contacts/exclude`, [key], {
        campaign_id: c.campaign_id,
        mobile: exampleNumber,
        reason: 'asked not to be called',
      }),
    },
    {
      name: 'Exclude by account',
      about: 'Excludes every contact whose metadata match: one key, or two that must both match.',
      curl: curl(`${origin}/api/v1/contacts/exclude`, [key], {
        campaign_id: c.campaign_id,
        match: { account: 'A-1001' },
        reason: 'account closed',
      }),
    },
    {
      name: 'Dialout',
      about: 'One call outside of campaigns, by the same bot.',
      curl: curl(`${origin}/api/v1/sip/dialout`, [key], {
        bot_id: c.settings.bot_id,
        to_number: exampleNumber,
        variables: values,
      }),
    },
  ];
}
