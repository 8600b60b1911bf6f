// Takes screenshots of every page of the console, wide and narrow, light and dark, and lets axe judge each: a sandbox of
// model carrier and model bot makes the data, so no real person's. node shots.mjs bin/dialler FOLDER
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { accessible, eventually, figure, logIn, must, withBrowser } from './browser.mjs';

const [program, folder] = process.argv.slice(2);
const found = (names) => names.map((n) => execFileSync('sh', ['-c', `command -v ${n} || true`], { encoding: 'utf8' }).trim()).find((p) => p !== '');
process.env.CHROMIUM ??= found(['chromium', 'chromium-browser', 'google-chrome']) ?? '';
mkdirSync(folder, { recursive: true });

const data = mkdtempSync(join(tmpdir(), 'dialler-shots-'));
chmodSync(data, 0o755); // PostgreSQL never runs as root
const sandbox = spawn(program, ['sandbox', '--no-open', '--contacts=260', '--seats=24', '--seed=7', '--listen-http=127.0.0.1:0', `--data-dir=${data}`], { stdio: ['ignore', 'pipe', 'ignore'] });
const ended = new Promise((resolve) => sandbox.on('exit', resolve));
let said = '';
sandbox.stdout.setEncoding('utf8').on('data', (text) => (said += text));

const sizes = { wide: { width: 1280, height: 900 }, narrow: { width: 390, height: 844 } };

try {
  const read = (pattern) => pattern.exec(said)?.[1];
  await eventually('the sandbox is up', () => read(/Console: (\S+)/) !== undefined, 120_000);
  const address = read(/Console: (\S+)/);
  const base = new URL(address).origin;
  process.env.DIALLER_URL = base;
  await withBrowser(async (page) => {
    let width = 'wide';
    let scheme = 'light';
    const shot = async (name, { whole = true } = {}) => {
      for (width of Object.keys(sizes)) {
        await page.setViewportSize(sizes[width]);
        for (scheme of ['light', 'dark']) {
          await page.evaluate((s) => document.documentElement.setAttribute('data-mantine-color-scheme', s), scheme);
          await page.mouse.move(0, 0);
          await accessible(page, `${name}, ${width}, ${scheme}`);
          const over = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
          must(over <= 0, `${name}, ${width}: ${over} px too wide`);
          await page.screenshot({ path: join(folder, `${name}-${width}-${scheme}.png`), fullPage: whole });
        }
      }
      await page.evaluate(() => document.documentElement.setAttribute('data-mantine-color-scheme', 'light'));
      await page.setViewportSize(sizes.wide);
    };
    await page.goto(address);
    await page.getByRole('heading', { name: 'Log in to the dialler' }).waitFor();
    await shot('log-in');
    await logIn(page, 'admin@dialler.local', read(/password \(shown once\): (\S+)/));
    await page.getByRole('table', { name: 'Contacts' }).waitFor();
    const campaign = new URL(page.url()).pathname.split('/').at(-1);
    await eventually('a good part is done', async () => (await figure(page, 'progress')) > 25, 180_000);
    await page.getByRole('button', { name: 'Show details' }).first().click();
    await shot('campaign');
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Activity log' }).click();
    await page.getByRole('list', { name: 'Activity' }).waitFor();
    await shot('activity-log', { whole: false });
    await page.keyboard.press('Escape');
    await page.getByRole('table', { name: 'Contacts' }).getByRole('row').nth(1).waitFor();
    await page.goto(`${base}/dashboard/campaigns/${campaign}/simulate`);
    await page.getByRole('table', { name: 'Outcome of the simulation' }).waitFor();
    await page.getByLabel('Seats of the bot').fill('40');
    await page.getByLabel('Concurrency').fill('40');
    await page.getByLabel('Contacts left').fill('3000');
    await page.getByRole('button', { name: 'Simulate' }).click();
    await page.getByRole('columnheader', { name: 'What if' }).waitFor();
    await shot('simulation');
    await page.goto(`${base}/dashboard/campaigns`);
    await page.locator(`[data-campaign="${campaign}"]`).waitFor();
    await shot('campaigns');
    await page.goto(`${base}/dashboard/wall`);
    await page.getByRole('heading', { level: 1, name: 'Live wall' }).waitFor();
    await page.getByText(/Running|Nothing is dialled now/).first().waitFor();
    await shot('wall');
    for (const [path, title] of [
      ['trunks', 'Trunks'],
      ['numbers', 'Numbers'],
      ['bots', 'Bots'],
      ['suppressions', 'Suppression list'],
      ['webhooks', 'Webhooks'],
      ['api-keys', 'API keys'],
      ['users', 'Users'],
      ['audit', 'Audit'],
    ]) {
      await page.goto(`${base}/dashboard/${path}`);
      await page.getByRole('heading', { level: 1, name: title }).waitFor();
      await page.locator('[aria-label="Loading"]').waitFor({ state: 'detached' });
      await shot(path);
    }
    await page.goto(`${base}/dashboard/campaigns/new`);
    await page.getByLabel('Name').fill('Autumn renewals');
    await page.getByRole('combobox', { name: 'Bot' }).click();
    await page.getByRole('option').first().click();
    await shot('new-basics');
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByRole('button', { name: /^Add all/ }).click();
    await shot('new-numbers');
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByRole('group', { name: 'Working days' }).waitFor();
    await shot('new-dialler');
    await page.getByRole('button', { name: 'Save the draft and go on' }).click();
    await page.getByText('Drop a CSV file here').waitFor();
    const chooser = page.waitForEvent('filechooser');
    await page.getByRole('button', { name: 'Choose a file' }).click();
    const rows = Array.from({ length: 40 }, (_, i) => `+4915112${String(340000 + i)},Ada,A-${1000 + i}`);
    await (await chooser).setFiles({ name: 'autumn.csv', mimeType: 'text/csv', buffer: Buffer.from(`mobile,first_name,account\n${rows.join('\n')}\n12,Ada,A-1\n`) });
    await page.getByRole('table', { name: 'Preview' }).waitFor();
    await shot('new-columns');
    await page.getByRole('button', { name: 'Add these contacts' }).click();
    await page.getByText('contacts added').waitFor();
    await shot('new-contacts');
    await page.getByRole('button', { name: 'Next' }).click();
    await page.locator('[data-preflight]').waitFor();
    await shot('new-review');
    await page.getByRole('link', { name: 'Keep as a draft' }).click();
    await page.getByRole('link', { name: 'Edit' }).click();
    await page.getByRole('heading', { level: 1, name: 'Edit' }).waitFor();
    await shot('edit');
    await page.goto(`${base}/dashboard/no/such/page`);
    await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
    await shot('not-found');
  });
} finally {
  sandbox.kill('SIGTERM');
  setTimeout(() => sandbox.kill('SIGTERM'), 500).unref(); // its calls need no end
  await ended;
  rmSync(data, { recursive: true, force: true, maxRetries: 5 });
}
