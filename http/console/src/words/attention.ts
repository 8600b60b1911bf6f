import type { Campaign } from '../api/client';
import type { Bot, Trunk } from '../api/telephony';
import { remedyOf } from './constraints';
import { trunkHealth } from './telephony';

/** Attention is something that stops campaigns though nobody decided so, and which it stops. */
export interface Attention {
  key: string;
  title: string;
  /** What is known of it, as the dialler says it. */
  sentence: string;
  /** Since when the first of the campaigns stands still. */
  since: string;
  campaigns: Pick<Campaign, 'campaign_id' | 'settings'>[];
  remedy: { label: string; page: string } | undefined;
}

/** stopped says that a campaign should dial and cannot. */
export function stopped(c: Pick<Campaign, 'status' | 'live'>): boolean {
  return c.status === 'running' && c.live?.severity === 'outage';
}

/**
 * attentionOf gives what stops campaigns, one entry for each cause, the one that stops most of them first. Trunks and
 * bots are named where they are known.
 */
export function attentionOf(
  campaigns: readonly Campaign[],
  trunks: readonly Trunk[] = [],
  bots: readonly Bot[] = [],
): Attention[] {
  const found = new Map<string, Attention>();
  for (const c of campaigns) {
    if (!stopped(c) || !c.live) continue;
    const { constraint, title = 'It cannot dial', explanation, constraint_since: since = c.live.at } = c.live;
    const bot = constraint === 'seats' ? bots.find((b) => b.id === c.settings.bot_id) : undefined;
    const key = constraint === 'seats' ? `seats ${c.settings.bot_id}` : constraint;
    const before = found.get(key);
    if (before === undefined) {
      found.set(key, {
        key,
        title: named(constraint, title, trunks, bot),
        sentence: (constraint === 'trunk_health' && away(trunks)) || explanation,
        since,
        campaigns: [c],
        remedy: remedyOf(c),
      });
      continue;
    }
    before.campaigns.push(c);
    if (since < before.since) before.since = since;
  }
  return [...found.values()].sort((a, b) => b.campaigns.length - a.campaigns.length || a.key.localeCompare(b.key));
}

function named(constraint: string, title: string, trunks: readonly Trunk[], bot: Bot | undefined): string {
  if (constraint === 'seats' && bot) return title.replace(/^The bot/, `The bot ${bot.name}`);
  const out = trunks.filter((t) => t.active);
  return constraint === 'trunk_health' && out.length === 1 ? `${title}: ${out[0]?.id ?? ''}` : title;
}

/** away tells what is known of each trunk that cannot be used. */
function away(trunks: readonly Trunk[]): string {
  const list: string[] = [];
  for (const { id, status } of trunks) {
    if (status === undefined || status.health === 'up' || status.health === 'trying') continue;
    const { label } = trunkHealth[status.health];
    list.push(`${id} – ${label.toLowerCase()}${status.reason ? `: ${status.reason}` : ''}.`);
  }
  return list.join(' ');
}

/** summary names the campaigns of an entry, the first two by name. */
export function summary(a: Attention): string {
  const names = a.campaigns.map((c) => c.settings.name);
  if (names.length < 3) return names.join(' and ');
  return `${names.slice(0, 2).join(', ')} and ${names.length - 2} more`;
}
