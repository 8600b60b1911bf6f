// A dialler of model carrier and model bot with campaigns, users, keys and rules in it, so that every page has
// something to show: for pictures, of no real person's data.
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { eventually } from './browser.mjs';

const found = (names) =>
  names
    .map((n) => execFileSync('sh', ['-c', `command -v ${n} || true`], { encoding: 'utf8' }).trim())
    .find((p) => p !== '');

/** withModelWorld hands the world to `test` and ends it whatever happens. */
export async function withModelWorld(program, test) {
  process.env.CHROMIUM ??= found(['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome']) ?? '';
  const folder = mkdtempSync(join(tmpdir(), 'dialler-model-world-'));
  chmodSync(folder, 0o755); // PostgreSQL never runs as root
  const args = [
    'sandbox',
    '--no-open',
    '--contacts=1',
    '--name=Line check',
    '--seats=24',
    '--seed=7',
    '--listen-http=127.0.0.1:0',
    '--webhook-allow-private',
    `--data-dir=${folder}`,
  ];
  const sandbox = spawn(program, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  const ended = new Promise((resolve) => sandbox.on('exit', resolve));
  let said = '';
  sandbox.stdout.setEncoding('utf8').on('data', (text) => (said += text));
  const crm = createServer((_, answer) => answer.end('ok'));
  await new Promise((resolve) => crm.listen(0, '127.0.0.1', resolve));
  try {
    const read = (pattern) => pattern.exec(said)?.[1];
    await eventually('the sandbox is up', () => read(/Console: (\S+)/) !== undefined, 120_000);
    const world = {
      base: new URL(read(/Console: (\S+)/)).origin,
      email: 'admin@dialler.local',
      password: read(/password \(shown once\): (\S+)/),
    };
    process.env.DIALLER_URL = world.base;
    await test({ ...world, ...(await furnish(world, `http://127.0.0.1:${crm.address().port}/events`)) });
  } finally {
    sandbox.kill('SIGTERM');
    setTimeout(() => sandbox.kill('SIGTERM'), 500).unref(); // its calls need no end
    await ended;
    crm.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

const names = [
  'Ada',
  'Bela',
  'Clara',
  'David',
  'Emma',
  'Felix',
  'Greta',
  'Hugo',
  'Ida',
  'Jonas',
  'Klara',
  'Leon',
  'Mia',
  'Noah',
  'Ole',
  'Paula',
];
const cities = ['Berlin', 'Hamburg', 'Köln', 'Leipzig', 'München'];
const contacts = (prefix, n) =>
  Array.from({ length: n }, (_, i) => ({
    mobile: `+49151${prefix}${String(1000 + i)}`,
    metadata: {
      first_name: names[(i * 7) % names.length],
      city: cities[(i * 3) % cities.length],
      account: `A-${String(20418 + i * 13)}`,
    },
  }));

/** furnish makes what the pages show, as an administrator does by the API. */
async function furnish({ base, email, password }, hook) {
  const ask = async (method, path, body) => {
    const headers = {
      'Content-Type': 'application/json',
      ...(ask.token === undefined ? {} : { Authorization: `Bearer ${ask.token}` }),
    };
    const answer = await fetch(`${base}/api/v1${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer.status === 204 ? undefined : answer.json();
  };
  ask.token = (await ask('POST', '/auth/token', { email, password })).token;
  const { bots } = await ask('GET', '/bots');
  const [{ endpoints, account }] = bots;
  await ask('PUT', '/bots/sandbox', { name: 'Anna', seats: 24, endpoints, account });
  await ask('PUT', '/bots/survey', {
    name: 'Survey assistant',
    seats: 8,
    endpoints: ['wss://survey.example.org/calls'],
    active: false,
  });
  const pool = ['+493012345601', '+493012345602', '+493012345603', '+493012345604', '+493012345605', '+493012345606'];
  for (const n of pool.slice(3)) await ask('PUT', `/numbers/${n}`, { hour_cap: 600, day_cap: 4000 });
  await ask('PUT', '/numbers/+493012345607', { state: 'quarantined' });
  await ask('POST', '/users', { email: 'olga@example.org', role: 'operator', password: 'a model password' });
  const { id: vera } = await ask('POST', '/users', { email: 'vera@example.org', role: 'viewer' });
  await ask('PATCH', `/users/${vera}`, { is_active: false });
  await ask('POST', '/api-keys', { name: 'CRM', scopes: ['trigger', 'exclude', 'read'] });
  await ask('POST', '/api-keys', {
    name: 'Website forms',
    scopes: ['dialout'],
    dialouts_per_day: 500,
    expires_at: new Date(Date.now() + 90 * 86_400_000).toISOString(),
  });
  await ask('POST', '/suppressions', {
    numbers: ['+4915119990001', '+4915119990002', '+4915119990003'],
    reason: 'asked by letter',
  });
  await ask('POST', '/suppressions', {
    numbers: ['+4915119990004', '+4915119990005'],
    reason: 'national do-not-call list',
  });
  const { id: webhook } = await ask('POST', '/webhooks', { url: hook, description: 'CRM', types: [] });

  const window = { zone: 'Europe/Berlin', start: '00:00', end: '00:00' };
  const make = async (settings, list) => {
    const made = await ask('POST', '/campaigns', {
      bot_id: 'sandbox',
      number_pool: pool.slice(0, 3),
      concurrency: 6,
      retry_delay_s: 60,
      window,
      ...settings,
    });
    if (list.length > 0) await ask('POST', `/campaigns/${made.campaign_id}/contacts`, { contacts: list });
    return made.campaign_id;
  };
  const act = (campaign, action) => ask('POST', `/campaigns/${campaign}/${action}`);
  const reminders = await make({ name: 'Invoice reminders', max_attempts: 1, concurrency: 24 }, contacts('555', 14));
  await act(reminders, 'start');
  const survey = await make(
    { name: 'Customer survey', always_on: true, callback_detection: true, max_attempts: 2 },
    contacts('444', 30),
  );
  await ask('POST', `/campaigns/${survey}/exclusions`, { mobile: '+4915119990011', reason: 'asked on the phone' });
  await ask('POST', `/campaigns/${survey}/exclusions`, { mobile: '+4915119990012', reason: 'moved away' });
  await ask('POST', `/campaigns/${survey}/exclusions`, { match: { account: 'A-20431' }, reason: 'contract ended' });
  const meter = await make({ name: 'Meter readings', max_attempts: 3 }, contacts('666', 180));
  await make({ name: 'Winter tariff' }, []);
  await act(meter, 'start');
  await act(survey, 'start');
  const renewals = await make(
    {
      name: 'Autumn renewals',
      concurrency: 24,
      max_attempts: 2,
      retry_delay_s: 20,
      number_pool: pool,
      amd: 'parallel',
      recording: 'on',
      amd_review_share: 0.5,
      callback_detection: true,
    },
    contacts('333', 960),
  );
  await act(renewals, 'start');
  return { ask, renewals, survey, meter, reminders, webhook };
}
