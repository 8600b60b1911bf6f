import { expect, test } from 'vitest';

import type { SetUp } from '../api/set-up';
import type { Bot, Trunk } from '../api/telephony';
import { botState, carrierState, freeName, hostAndPort, missing, next } from './set-up';

const trunk = (health: string, more: object = {}): Trunk =>
  ({
    id: 'carrier-1',
    host: 'sip.example.org',
    port: 5070,
    transport: 'udp',
    kind: 'ip',
    options_s: 30,
    status: { health, checked_at: '2030-03-02T09:00:00Z', registered_until: null, ...more },
  }) as unknown as Trunk;

test('a carrier that was just saved is waited for, and one that does not answer has a remedy', () => {
  expect(carrierState({ ...trunk('up'), status: undefined }).label).toBe('Trying');
  expect(carrierState(trunk('unproven', { checked_at: null })).label).toBe('Trying');
  expect(carrierState(trunk('up', { reason: '200 OK' })).sentence).toBe('sip.example.org:5070 udp answers. 200 OK.');
  expect(carrierState(trunk('up', { registered_until: '2030-03-02T09:10:00Z' })).label).toBe('Registered');
  const silent = carrierState(trunk('unproven', { reason: 'no answer within 32 s' }));
  expect(silent.sentence).toBe('sip.example.org:5070 udp has not answered yet. No answer within 32 s.');
  expect(silent.remedy).toContain('accepts our address');
  const refused = carrierState({ ...trunk('down', { reason: '403 Forbidden' }), kind: 'registered' });
  expect(refused.remedy).toContain('username and password');
  expect(carrierState(trunk('off')).remedy).toContain('Active');
});

test('a bot that does not answer says why', () => {
  const bot = (health: string, reason = '', endpoint = 'wss://bot.example.org') =>
    ({ name: 'Anna', endpoints: [endpoint], status: { health, endpoints: [{ endpoint, reason }] } }) as unknown as Bot;
  expect(botState(bot('up')).label).toBe('Answers');
  expect(botState(bot('unknown')).label).toBe('Trying');
  expect(botState(bot('unknown', '', 'sip:anna@example.org')).sentence).toContain('by SIP');
  expect(botState(bot('down', 'the bot is unreachable: connection refused')).sentence).toBe(
    'Anna takes no calls. The bot is unreachable: connection refused.',
  );
});

const setUp = (...done: number[]): SetUp => ({
  steps: (['carrier', 'caller_id', 'bot', 'call'] as const).map((step, i) =>
    done.includes(i) ? { step, done: true, with: 'x' } : { step, done: false },
  ),
  complete: false,
  hidden: false,
  country: null,
  model: null,
});

test('the next step is the first that is not done, and a call says what it lacks', () => {
  expect(next(setUp())).toBe('carrier');
  expect(next(setUp(0, 2))).toBe('caller_id');
  expect(next(setUp(0, 1, 2, 3))).toBeUndefined();
  expect(missing(setUp())).toBe('Carrier, Caller ID and Bot first.');
  expect(missing(setUp(0, 2))).toBe('Caller ID first.');
  expect(missing(setUp(0, 1, 2))).toBeUndefined();
});

test('a host may be pasted with its port', () => {
  expect(hostAndPort(' sip:sip.example.org:5070 ')).toEqual({ host: 'sip.example.org', port: 5070 });
  expect(hostAndPort('192.0.2.7')).toEqual({ host: '192.0.2.7' });
  expect(hostAndPort('2001:db8::1')).toEqual({ host: '2001:db8::1' });
  expect(hostAndPort('[2001:db8::1]:5060')).toEqual({ host: '[2001:db8::1]', port: 5060 });
  expect(freeName('carrier', ['carrier-1', 'carrier-3'])).toBe('carrier-2');
});
