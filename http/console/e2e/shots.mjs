// Takes screenshots of every page and dialog of the console, wide and narrow, light and dark, and lets axe judge each
// in both colours and at both widths. A model world makes the data. node shots.mjs bin/dialler FOLDER
// With --pictures: only those of README.md and docs/console.md, a screen each.
// With --only=REGEXP: those whose name fits.
import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

import { accessible, eventually, figure, fits, logIn, must, withBrowser } from './browser.mjs';
import { withModelWorld } from './model-world.mjs';

const [program, folder, ...options] = process.argv.slice(2);
const pictures = options.includes('--pictures');
const only = new RegExp(options.find((o) => o.startsWith('--only='))?.slice('--only='.length) ?? '');
mkdirSync(folder, { recursive: true });

const sizes = { wide: { width: 1280, height: 900 }, narrow: { width: 390, height: 844 } };
const wrong = []; // that was found, told when everything has been seen
const pictureSize = 170 * 1024; // at most, B

await withModelWorld(program, (world) =>
  withBrowser(async (page) => {
    const { base, ask, renewals, survey, webhook } = world;
    const dialog = page.getByRole('dialog');
    const dress = async (size, scheme) => {
      await page.setViewportSize(size);
      await page.evaluate((s) => document.documentElement.setAttribute('data-mantine-color-scheme', s), scheme);
      await page.mouse.move(0, 0); // no hint under the pointer
    };
    /**
     * shot takes a page; `picture` says in which colours and how wide it is one of the docs', `whole` is its full
     * length.
     */
    const shot = async (name, { whole = true, picture } = {}) => {
      if (pictures && picture !== undefined) {
        const { as = name, scheme = 'light', size = { width: 1280, height: 800 } } = picture;
        await dress(size, scheme);
        const path = join(folder, `${as}.png`);
        await page.screenshot({ path, animations: 'disabled' }); // what moves has come to its end
        must(statSync(path).size <= pictureSize, `${path} has ${statSync(path).size} bytes, more than ${pictureSize}`);
      } else if (!pictures && only.test(name)) {
        process.stderr.write(`${name}\n`);
        for (const [width, size] of Object.entries(sizes)) {
          for (const scheme of ['light', 'dark']) {
            await dress(size, scheme);
            if (whole) await page.evaluate(() => window.scrollTo(0, 0));
            if ((width === 'narrow') === (scheme === 'dark'))
              await accessible(page, `${name}, ${width}, ${scheme}`).catch((e) => wrong.push(e.message));
            await fits(page, `${name}, ${width},`, 5000).catch((e) => wrong.push(e.message));
            await page.screenshot({
              path: join(folder, `${name}-${width}-${scheme}.png`),
              fullPage: whole,
              animations: 'disabled',
            });
          }
        }
      }
      await dress(sizes.wide, 'light');
    };
    const close = async () => {
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
    };
    const button = (name) => page.getByRole('button', { name, exact: true });
    const open = async (path, title) => {
      await page.goto(`${base}/dashboard/${path}`);
      await page.getByRole('heading', { level: 1, name: title }).waitFor();
      await page.locator('[aria-label="Loading"]').waitFor({ state: 'detached' });
    };
    const fromMenu = async (menu, item) => {
      await page.getByRole('button', { name: menu }).first().click();
      await page.getByRole('menuitem', { name: item }).click();
      await page.getByRole('menu').waitFor({ state: 'detached' });
    };
    /** asked takes the dialog that something opens. */
    const asked = async (name, begin, { fill = async () => undefined, end = close, ...how } = {}) => {
      await begin();
      await dialog.waitFor();
      await fill();
      await shot(name, { whole: false, ...how });
      await end();
    };

    await page.goto(`${base}/dashboard/campaigns/${renewals}`);
    await page.getByRole('heading', { name: 'Log in to the dialler' }).waitFor();
    await shot('log-in');
    await logIn(page, world.email, world.password);
    await page.getByRole('table', { name: 'Contacts' }).waitFor();

    // A campaign at work.
    const good = pictures || only.test('campaign') ? 15 : 4; // %
    await eventually('a good part is done', async () => (await figure(page, 'progress')) > good, 300_000);
    await shot('campaign-top', { whole: false, picture: { as: 'console' } });
    await page.getByRole('table', { name: 'Contacts' }).getByRole('button', { name: 'Show details' }).first().click();
    await shot('campaign', { picture: { as: 'console-narrow', scheme: 'dark', size: sizes.narrow } });
    const done = page
      .getByRole('table', { name: 'Contacts' })
      .getByRole('row')
      .filter({ hasText: 'Completed' })
      .first();
    await asked('contact', () => done.getByRole('button', { name: /^\+49/ }).click(), {
      fill: async () => {
        await dialog.locator('[data-explain]').waitFor();
        await dialog.getByRole('list', { name: 'Stages' }).first().waitFor();
        await page.locator('[aria-label="Loading"]').waitFor({ state: 'detached' });
      },
      picture: { as: 'console-contact' },
    });
    await done.getByRole('button', { name: /^\+49/ }).click();
    await dialog.getByRole('link', { name: 'This person in all campaigns' }).click();
    await page.getByRole('list', { name: 'What happened' }).waitFor();
    await shot('person', { picture: { as: 'console-person' } });
    await asked('exclude-everywhere', () => button('Exclude everywhere…').click());
    await asked('find', () => page.keyboard.press('Control+k'), {
      fill: async () => {
        await dialog.getByRole('combobox').fill('+4915');
        await dialog.getByRole('group', { name: 'People' }).waitFor();
      },
    });
    await page.goto(`${base}/dashboard/campaigns/${renewals}`);
    await page.getByRole('table', { name: 'Contacts' }).waitFor();
    await asked('activity-log', () => fromMenu('More actions', 'Activity log'), {
      fill: () => page.getByRole('list', { name: 'Activity' }).waitFor(),
    });
    await asked('clone', () => fromMenu('More actions', 'Clone…'));
    await asked('stop', () => button('Stop').click());
    await asked('add-contacts', () => button('Add contacts').click());

    // What if.
    await page.goto(`${base}/dashboard/campaigns/${renewals}/simulate`);
    await page.getByRole('table', { name: 'Outcome of the simulation' }).waitFor();
    await page.getByLabel('Seats of the bot').fill('40');
    await page.getByLabel('Concurrency').fill('40');
    await page.getByRole('textbox', { name: 'Contacts left' }).fill('800');
    await button('Simulate').click();
    await page.getByRole('columnheader', { name: 'What if' }).waitFor();
    await shot('simulation', { picture: { as: 'console-simulation' } });

    // All campaigns.
    await open('campaigns', 'Campaigns');
    await page.locator(`[data-campaign="${renewals}"]`).waitFor();
    await shot('campaigns', { picture: { as: 'console-campaigns' } });
    await open('wall', 'Live wall');
    await page.locator('[data-campaign]').first().waitFor();
    await shot('wall', { picture: { as: 'console-wall', scheme: 'dark' } });

    // Exclusions.
    await open(`campaigns/${survey}/exclusions`, 'Exclusions');
    await shot('exclusions');
    await asked('exclude', () => button('Exclude').click());
    await asked('exclude-import', () => button('Exclude').click(), {
      fill: async () => {
        await dialog.getByRole('tab', { name: 'From a file' }).click();
        await page.locator('input[type="file"]').setInputFiles({
          name: 'left.csv',
          mimeType: 'text/csv',
          buffer: Buffer.from('phone_number\n+4915119990021\n12\n+4915119990022\n'),
        });
        await dialog.getByRole('button', { name: 'Import' }).click();
        await dialog.getByText('Line 3').waitFor();
      },
      end: async () => {
        await dialog.getByRole('button', { name: 'Done' }).click();
        await dialog.waitFor({ state: 'detached' });
      },
    });

    await open('set-up', 'Set-up');
    await page.locator('[data-step]').first().waitFor();
    await shot('set-up');

    // Telephony.
    await open('trunks', 'Trunks');
    await page.getByRole('row', { name: 'sandbox' }).getByText('Up', { exact: true }).waitFor();
    await shot('trunks');
    await asked('trunk', () => button('New trunk').click(), {
      fill: () => dialog.getByLabel('Name', { exact: true }).fill('spare'),
    });
    await asked('test-call', () => fromMenu('Actions for sandbox', 'Test call…'));
    await open('numbers', 'Numbers');
    await shot('numbers');
    await asked('number', () => fromMenu(/^Actions for \+/, 'Change…'));
    await open('bots', 'Bots');
    await page.getByRole('row', { name: 'Anna' }).getByText('Up', { exact: true }).waitFor();
    await shot('bots');
    await asked('bot', () => fromMenu('Actions for Anna', 'Change…'));

    // Rules and events.
    await open('suppressions', 'Suppression list');
    await shot('suppressions');
    await asked('suppress', () => button('Block numbers').click());
    await ask('PUT', '/cadences/evenings', {
      name: 'Evenings too',
      rules: 'busy: 5m, 15m, 1h · no_answer: 3h, another part of the day, next day, at most 4 · at most 3 a day',
    });
    await open('cadences', 'Cadences');
    await page.getByRole('row', { name: 'Evenings too' }).waitFor();
    await shot('cadences');
    await asked('cadence', () => fromMenu('Actions for Evenings too', 'Change…'), {
      fill: () => dialog.getByRole('table', { name: 'Dates' }).waitFor(),
    });
    await ask('PUT', '/calendars/bavaria', {
      name: 'Bavaria',
      zone: 'Europe/Berlin',
      holiday_sets: ['DE-BY'],
      hours: {
        Mon: ['09:00-12:00', '13:00-18:00'],
        Tue: ['09:00-18:00'],
        Wed: ['09:00-18:00'],
        Thu: ['09:00-12:00', '13:00-20:00'],
        Fri: ['09:00-15:00'],
      },
      exceptions: [{ date: new Date(Date.now() + 4 * 86_400_000).toISOString().slice(0, 10), hours: [] }],
    });
    await ask('PUT', '/calendars/fr', { preset: 'fr-solicitation' });
    await open('calendars', 'Calendars');
    await page.getByRole('list', { name: 'Openings of Bavaria' }).waitFor();
    await shot('calendars');
    await asked('calendar', () => fromMenu('Actions for Bavaria', 'Change…'));
    await open('webhooks', 'Webhooks');
    await shot('webhooks');
    await asked('webhook-new', () => button('New endpoint').click());
    await page.goto(`${base}/dashboard/webhooks/${webhook}`);
    await page.getByRole('table', { name: 'Deliveries' }).waitFor();
    await shot('webhook');
    await ask('GET', '/amd/reviews').then(async ({ reviews }) => {
      // Others have heard some of the calls already; in one the verdict was wrong.
      const heard = reviews.filter((r) => r.audio_url !== '' && r.audio_url !== undefined).slice(3, 27);
      for (const [i, r] of heard.entries())
        await ask('PUT', `/amd/reviews/${r.attempt_id}`, { label: i === 4 ? 'human' : r.verdict });
    });
    await open('amd-review', 'AMD review');
    await page.getByRole('img', { name: 'Waveform of the callee' }).waitFor();
    await page.getByRole('table', { name: 'Confusion matrix' }).waitFor();
    await shot('amd-review', { picture: { as: 'console-amd-review' } });

    // Administration.
    await open('api-keys', 'API keys');
    await shot('api-keys');
    await asked('key', () => button('New API key').click(), {
      fill: () => dialog.getByLabel('Name').fill('Front office'),
    });
    await asked('key-created', () => button('New API key').click(), {
      fill: async () => {
        await dialog.getByLabel('Name').fill('Front office');
        await dialog.getByRole('button', { name: 'Make the key' }).click();
        await dialog.locator('[data-secret]').waitFor();
      },
      end: async () => {
        await dialog.getByRole('button', { name: 'I have stored it' }).click();
        await dialog.waitFor({ state: 'detached' });
      },
    });
    await open('users', 'Users');
    await shot('users');
    await asked('user', () => button('Add a user').click());
    await open('audit', 'Audit');
    await shot('audit');

    // A new campaign, step by step.
    await page.goto(`${base}/dashboard/campaigns/new`);
    await page.getByLabel('Name').fill('Spring offers');
    await page.getByRole('combobox', { name: 'Bot' }).click();
    await page.getByRole('option').first().click();
    await shot('new-basics');
    await button('Next').click();
    await page.getByRole('button', { name: /^Add all/ }).click();
    await shot('new-numbers');
    await button('Next').click();
    await page.getByRole('group', { name: 'Working days' }).waitFor();
    await shot('new-dialler');
    await button('Save the draft and go on').click();
    await page.getByText('Drop a CSV file here').waitFor();
    await shot('new-file');
    const chooser = page.waitForEvent('filechooser');
    await button('Choose a file').click();
    const rows = Array.from({ length: 40 }, (_, i) => `+4915112${String(340000 + i)},Ada,A-${1000 + i}`);
    await (
      await chooser
    ).setFiles({
      name: 'spring.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from(`mobile,first_name,account\n${rows.join('\n')}\n12,Ada,A-1\n`),
    });
    await page.getByRole('table', { name: 'Preview' }).waitFor();
    await shot('new-columns');
    await button('Check the file').click();
    await page.getByText('Nothing has been added yet.').waitFor();
    await shot('new-checked');
    await button(/^Add \d+ contacts$/).click();
    await page.getByText('contacts added').waitFor();
    await shot('new-contacts');
    await button('Next').click();
    await page.locator('[data-preflight]').waitFor();
    await shot('new-review', { picture: { as: 'console-review' } });
    await page.getByRole('link', { name: 'Keep as a draft' }).click();
    await page.getByRole('link', { name: 'Edit' }).click();
    await page.getByRole('heading', { level: 1, name: 'Edit' }).waitFor();
    await shot('edit');

    // Two operators at once.
    const draft = new URL(page.url()).pathname.split('/').at(-2);
    await page.getByLabel('Concurrency').fill('7');
    await page.getByText('Changed: Concurrency').waitFor();
    await ask('PATCH', `/campaigns/${draft}`, {
      version: (await ask('GET', `/campaigns/${draft}`)).version,
      concurrency: 9,
      retry_delay_s: 600,
    });
    await page.locator('[data-conflict]').waitFor();
    await page.locator('[data-conflict]').scrollIntoViewIfNeeded();
    await shot('edit-conflict', { picture: { as: 'console-conflict' } });

    await page.goto(`${base}/dashboard/no/such/page`);
    await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
    await shot('not-found');
    await page.goto(`${base}/dashboard/campaigns`);
    await asked('own-password', async () => {
      await page.getByRole('button', { name: /^User menu/ }).click();
      await page.getByRole('menuitem', { name: /password/i }).click();
    });
  }),
);
must(wrong.length === 0, wrong.join('\n'));
