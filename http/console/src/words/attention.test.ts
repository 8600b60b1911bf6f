import { expect, test } from 'vitest';

import type { Campaign } from '../api/client';
import type { Bot, Trunk } from '../api/telephony';
import { attentionOf, summary } from './attention';

function campaign(name: string, live: Record<string, unknown>, more: Record<string, unknown> = {}): Campaign {
  return {
    campaign_id: name,
    status: 'running',
    settings: { name, bot_id: 'anna' },
    live: { at: '2026-11-29T21:04:00Z', title: 'No trunk is usable', explanation: 'They do not answer.', ...live },
    ...more,
  } as unknown as Campaign;
}

const noTrunk = { severity: 'outage', constraint: 'trunk_health', remedy: 'check_trunks' };
const noBot = { severity: 'outage', constraint: 'seats', title: 'The bot takes no calls', remedy: 'check_bot' };
const trunk = (id: string, health: string, reason?: string) =>
  ({ id, active: health !== 'off', status: { health, reason } }) as unknown as Trunk;
const bots = [{ id: 'anna', name: 'Anna' }] as unknown as Bot[];

test('one entry for each cause, with all that it stops and since when', () => {
  const list = attentionOf([
    campaign('B', { ...noBot, constraint_since: '2026-11-29T21:02:00Z' }),
    campaign('A', { ...noTrunk, constraint_since: '2026-11-29T21:03:00Z' }),
    campaign('C', { ...noTrunk, constraint_since: '2026-11-29T21:01:00Z' }),
  ]);
  expect(list.map((a) => [a.key, a.since, a.campaigns.length, a.remedy?.page])).toEqual([
    ['trunk_health', '2026-11-29T21:01:00Z', 2, '/trunks'],
    ['seats anna', '2026-11-29T21:02:00Z', 1, '/bots'],
  ]);
});

test('a campaign that somebody stopped, or that dials, needs nobody', () => {
  expect(
    attentionOf([
      campaign('A', noTrunk, { status: 'paused' }),
      campaign('B', noTrunk, { status: 'completed' }),
      campaign('C', { severity: 'normal', constraint: 'seats' }),
      campaign('D', { severity: 'notice', constraint: 'window' }),
    ]),
  ).toEqual([]);
});

test('trunks and bots are named, with what they said last', () => {
  const of = (c: Campaign, trunks: Trunk[] = []) => attentionOf([c], trunks, bots)[0];
  expect(of(campaign('A', noTrunk), [trunk('carrier-1', 'broken', 'no answer to 5 calls')])).toMatchObject({
    title: 'No trunk is usable: carrier-1',
    sentence: 'carrier-1 – broken: no answer to 5 calls.',
  });
  expect(of(campaign('A', noTrunk), [trunk('carrier-1', 'down'), trunk('carrier-2', 'off')])).toMatchObject({
    title: 'No trunk is usable: carrier-1',
    sentence: 'carrier-1 – down. carrier-2 – off.',
  });
  expect(of(campaign('A', noTrunk))).toMatchObject({ title: 'No trunk is usable', sentence: 'They do not answer.' });
  expect(of(campaign('A', noBot))?.title).toBe('The bot Anna takes no calls');
});

test('many campaigns are counted, not listed', () => {
  const [three] = attentionOf(['A', 'B', 'C'].map((name) => campaign(name, noTrunk)));
  const [two] = attentionOf(['A', 'B'].map((name) => campaign(name, noTrunk)));
  expect([three && summary(three), two && summary(two)]).toEqual(['A, B and 1 more', 'A and B']);
});
