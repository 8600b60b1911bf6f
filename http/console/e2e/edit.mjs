// Edit, Clone, Restart, Cancel Restart, Delete and the activity log, as an operator uses them while a second one, in a
// browser of their own and by the API, changes the same settings. Prints the commands of the integration panel.
import { accessible, eventually, logIn, must, setting, withBrowser } from './browser.mjs';

const base = setting('DIALLER_URL');
const original = setting('CAMPAIGN');
const name = setting('CAMPAIGN_NAME');
const other = setting('OTHER');

/** theOther does something as the second operator. */
async function theOther(method, path, body, type = 'application/json') {
  theOther.token ??= (
    await (
      await fetch(`${base}/api/v1/auth/token`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ email: other, password: setting('PASSWORD') }),
      })
    ).json()
  ).token;
  const answer = await fetch(`${base}${path}`, {
    method,
    headers: { 'Content-Type': type, Authorization: `Bearer ${theOther.token}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  must(answer.ok, `${method} ${path}: ${answer.status} ${await answer.clone().text()}`);
  return answer.json();
}

const shown = (page, field) => page.locator(`[data-setting="${field}"] dd`).innerText();

/** shows waits until the configuration panel has a value. */
const shows = (page, field, value) =>
  eventually(`${field} is shown as ${value}`, async () => (await shown(page, field)).trim() === value);

async function command(page, dialog, button, label = button) {
  await page.getByRole('button', { name: button, exact: true }).click();
  await dialog.getByRole('button', { name: label, exact: true }).click();
  await dialog.waitFor({ state: 'detached' });
}

async function fromMenu(page, item) {
  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('menuitem', { name: item }).click();
}

/** panel looks at what the page says of a draft's settings. */
async function panel(page, context) {
  // The first four numbers of the pool, then a count; the control copies them all.
  const pool = await shown(page, 'number_pool');
  const numbers = setting('NUMBERS').split(',');
  must(
    numbers.slice(0, 4).every((n) => pool.includes(n)) &&
      numbers.slice(4).every((n) => !pool.includes(n)) &&
      pool.includes(`and ${numbers.length - 4} more`),
    `the number pool is shown as ${pool}`,
  );
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: base });
  await page.getByRole('button', { name: `Copy all ${numbers.length} numbers` }).click();
  await eventually(
    'all numbers are copied',
    async () => (await page.evaluate(() => window.navigator.clipboard.readText())) === numbers.join('\n'),
  );
  await page.getByRole('button', { name: 'Copy campaign ID' }).click();
  await eventually(
    'the Campaign ID is copied',
    async () => (await page.evaluate(() => window.navigator.clipboard.readText())) === original,
  );
  for (const [field, value] of Object.entries({
    bot_id: setting('BOT'),
    concurrency: '4',
    max_attempts: '3',
    retry_delay_s: '30 min',
    sticky_exclusion: 'On',
    callback_detection: 'Disabled',
    single_day: 'Multi-day',
    always_on: 'On',
    retry_on_custom: 'call later',
    retry_on_system: 'No answer, Busy',
    stop_redials_after_s: '45 s of conversation',
    'window.days': 'Mon–Fri, Sun',
  })) {
    const seen = (await shown(page, field)).trim();
    must(seen === value, `${field} is shown as ${seen}, not ${value}`);
  }
  must((await page.locator('[data-setting="redial_only_under_s"]').count()) === 0, 'a rule that is off is shown');
  must((await page.locator('[data-setting="config_url"]').count()) === 0, 'a Config URL is shown that is not set');
  const badge = page.locator('[data-tone="purple"]', { hasText: 'Always-on' });
  must((await badge.count()) === 1, 'the badge Always-on is not purple');
}

/** edited changes settings on the page for it, by their labels, and saves them. */
async function edited(page, campaign, fields) {
  await page.goto(`${base}/dashboard/campaigns/${campaign}/edit`);
  for (const [label, value] of Object.entries(fields)) await page.getByLabel(label).fill(value);
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved: ').first().waitFor();
}

/** withTwo hands a page to each of two operators, in a browser each. */
const withTwo = (test, how) =>
  withBrowser((page, context) => withBrowser((second) => test(page, context, second), how), how);

await withTwo(
  async (page, context, second) => {
    await second.goto(`${base}/dashboard/campaigns`);
    await logIn(second, other);
    await second.getByRole('heading', { level: 1, name: 'Campaigns' }).waitFor();
    await page.goto(`${base}/dashboard/campaigns/${original}`);
    await logIn(page);
    await page.getByRole('heading', { level: 1, name }).waitFor();
    const dialog = page.getByRole('dialog');
    await panel(page, context);

    // Clone opens the copy.
    await fromMenu(page, 'Clone…');
    await dialog.getByText('The copy is a draft').waitFor();
    await dialog.getByRole('button', { name: 'Clone' }).click();
    await page.getByRole('heading', { level: 1, name: `${name} (copy)` }).waitFor();
    const copy = new URL(page.url()).pathname.split('/').at(-1);
    must(copy !== original, 'Clone did not open the copy');
    await eventually(
      'the contacts are copied',
      async () => (await page.locator('[data-figure="total"]').innerText()) === '3',
    );

    // Edit: a mistake is said while one types, what the other saved meanwhile is shown, and both come together.
    await page.getByRole('link', { name: 'Edit' }).click();
    await page.getByRole('heading', { level: 1, name: 'Edit' }).waitFor();
    await page.getByLabel('Concurrency').fill('7');
    await page.getByLabel('Max attempts').fill('51');
    await page.getByText('Must be 1 to 50.').waitFor();
    await page.getByLabel('Max attempts').fill('4');
    await page.getByText('Changed: Concurrency, Max Attempts').waitFor();
    const version = async () => (await theOther('GET', `/api/v1/campaigns/${copy}`)).version;
    await edited(second, copy, { Concurrency: '9', 'Retry delay': '10' });
    await shows(second, 'concurrency', '9');
    const conflict = page.locator('[data-conflict]');
    await conflict.getByText(`${other} changed this campaign meanwhile`).waitFor();
    const row = (field) => conflict.locator(`[data-clash="${field}"]`);
    const cells = await row('concurrency').getByRole('cell').allInnerTexts();
    must(cells.slice(0, 4).join() === 'Concurrency,4,9,7', `the comparison shows ${cells.join()}`);
    must(
      (await row('retry_delay_s').innerText()).includes('10 min') && (await row('max_attempts').count()) === 0,
      'the comparison is not of what the other changed',
    );
    must(await page.getByRole('button', { name: 'Save' }).isDisabled(), 'a stale edit can be saved');
    await accessible(page, 'the comparison of two edits');
    await row('concurrency').getByText('Mine').click();
    await conflict.getByRole('button', { name: 'Go on editing' }).click();
    await conflict.waitFor({ state: 'detached' });

    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved: ').first().waitFor();
    await page.getByRole('heading', { level: 1, name: `${name} (copy)` }).waitFor();
    await shows(second, 'concurrency', '7'); // they have not loaded their page again
    await shows(second, 'max_attempts', '4');

    // The other is faster once more, and this page cannot know: the server refuses, and says what holds.
    const old = await (await page.request.get(`${base}/api/v1/campaigns/${copy}`)).text();
    const reads = (url) => url.pathname === `/api/v1/campaigns/${copy}` || url.pathname.endsWith('/live');
    await context.route(reads, (route) => {
      if (route.request().url().endsWith('/live')) return route.abort();
      return route.request().method() === 'GET'
        ? route.fulfill({ contentType: 'application/json', body: old })
        : route.continue();
    });
    await page.goto(`${base}/dashboard/campaigns/${copy}/edit`);
    await page.getByLabel('Abandon cap').fill('2.5');
    await theOther('PATCH', `/api/v1/campaigns/${copy}`, { version: await version(), ring_timeout_s: 40 });
    const refused = page.waitForResponse((r) => r.request().method() === 'PATCH');
    await page.getByRole('button', { name: 'Save' }).click();
    must((await refused).status() === 409, 'a stale edit is not refused');
    await conflict.waitFor();
    must((await row('ring_timeout_s').innerText()).includes('40 s'), 'what the other saved is not shown');
    await context.unroute(reads);
    await conflict.getByRole('button', { name: 'Go on editing' }).click();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { level: 1, name: `${name} (copy)` }).waitFor();
    await shows(page, 'abandon_cap_pct', '2.5\u00a0%');
    await shows(page, 'concurrency', '7');
    await shows(page, 'max_attempts', '4');
    await shows(page, 'retry_delay_s', '10 min');
    await shows(page, 'ring_timeout_s', '40 s');

    // What the other edits is seen at once, without loading the page again.
    await edited(second, copy, { 'Max attempts': '5' });
    await shows(page, 'max_attempts', '5');

    // What if: the outcome by other settings beside the one by those that hold. A mistake stands at its field.
    await fromMenu(page, 'What if?');
    await page.getByRole('table', { name: 'Outcome of the simulation' }).waitFor();
    must(
      (await page.getByRole('textbox', { name: 'Contacts left' }).inputValue()) === '3',
      'the simulation does not begin with the contacts that are left',
    );
    await page.getByLabel('Seats of the bot').fill('0');
    await page.getByRole('button', { name: 'Simulate' }).click();
    await page.getByText('Must be from 1 to 100000').waitFor();
    await page.getByLabel('Seats of the bot').fill('2');
    await page.getByText('Progressive', { exact: true }).click();
    await page.getByRole('button', { name: 'Simulate' }).click();
    await page.getByRole('columnheader', { name: 'What if' }).waitFor();
    await eventually('both courses are drawn', async () => (await page.locator('figure canvas').count()) === 5);
    must(
      (await page.locator('[data-figure="what_if_abandoned"]').innerText()).match(/^(0\.00|--)/) !== null,
      'progressive dialling abandons somebody',
    );
    await accessible(page, 'a simulation');
    await page.getByRole('link', { name: `${name} (copy)` }).click();
    await shows(page, 'max_attempts', '5');

    // A run by an operator: the log has one entry per start, pause, resume and stop.
    await command(page, dialog, 'Start');
    await command(page, dialog, 'Pause');
    await page.getByRole('link', { name: 'Edit' }).click();
    await page.getByRole('heading', { level: 1, name: 'Edit' }).waitFor();
    await page.getByLabel('Name', { exact: true }).waitFor();
    must(
      (await page.getByLabel('Name', { exact: true }).isDisabled()) &&
        (await page
          .getByRole('textbox', { name: 'Bot', exact: true })
          .or(page.getByRole('combobox', { name: 'Bot', exact: true }))
          .first()
          .isDisabled()),
      'name and bot are not locked after the first run',
    );
    await page.getByRole('link', { name: 'Cancel' }).click();
    await command(page, dialog, 'Resume');
    await command(page, dialog, 'Stop');
    await page.getByText('Reason: manually stopped.').waitFor();
    await fromMenu(page, 'Activity log');
    const log = page.getByRole('list', { name: 'Activity' });
    await eventually('the log has an entry for each', async () => (await log.getByRole('listitem').count()) === 4);
    const entries = await log.getByRole('listitem').allInnerTexts();
    for (const [i, action] of ['Stop', 'Resume', 'Pause', 'Start'].entries()) {
      must(
        entries[i].includes(action) && entries[i].includes(setting('EMAIL')) && /\d\d:\d\d/.test(entries[i]),
        `entry ${i} of the log is ${entries[i]}`,
      );
    }
    await dialog.getByText('Everything').click();
    await log.locator('[data-action="edit"]', { hasText: 'Max Attempts: 4 → 5' }).waitFor();
    must(
      (await log.locator('[data-action="edit"]').first().innerText()).includes(other),
      'the log does not say who edited',
    );
    await accessible(page, 'the activity log');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });

    // Restart prepares a run and says so; Cancel Restart shows the run before again.
    must(
      (await page.locator('[data-figure="restarted"]').innerText()).trim().toLowerCase() === 'never' &&
        (await page.locator('[data-figure="run"]').innerText()) === '1',
      'a campaign that was never restarted does not say so',
    );
    await command(page, dialog, 'Restart');
    const notice = page.locator('[data-notice="prepared"]');
    await notice.getByText('Run 2 is prepared').waitFor();
    must(
      (await notice.innerText()).includes(`Restarted by ${setting('EMAIL')}`),
      `the notice says ${await notice.innerText()}`,
    );
    must(
      (await page.locator('[data-figure="restarted"]').innerText()).includes(`by ${setting('EMAIL')}`),
      'who restarted is not shown',
    );
    await command(page, dialog, 'Cancel Restart');
    await page.getByText('Reason: manually stopped.').waitFor();
    await notice.waitFor({ state: 'detached' });

    // Delete: only what never ran.
    await page.getByRole('button', { name: 'More actions' }).click();
    must((await page.getByRole('menuitem', { name: 'Delete…' }).count()) === 0, 'a campaign that ran can be deleted');
    await page.keyboard.press('Escape');
    await page.goto(`${base}/dashboard/campaigns/${original}`);
    const commands = {};
    const integration = page.getByRole('region', { name: /^curl command/ });
    for (const endpoint of ['Trigger', 'Exclude a number', 'Exclude by account', 'Dialout']) {
      await page.getByText(endpoint, { exact: true }).click();
      await page.getByRole('region', { name: `curl command: ${endpoint}` }).waitFor();
      commands[endpoint] = await integration.innerText();
    }
    await fromMenu(page, 'Delete…');
    await dialog.getByText('removed for good').waitFor();
    // The page learns that the campaign is gone before the answer has come.
    await page.route(`**/api/v1/campaigns/${original}`, async (route) => {
      const response = await route.fetch();
      await page.getByText('There is no such campaign').waitFor();
      await route.fulfill({ response });
    });
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('heading', { level: 1, name: 'Campaigns' }).waitFor();
    await page.getByText(`${name} (copy)`).first().waitFor();
    await page.locator(`[data-campaign="${original}"]`).waitFor({ state: 'detached' });
    console.log(JSON.stringify({ commands, copy }));
  },
  {
    expected: (text, url) =>
      text.includes('409') ||
      text.includes('ERR_FAILED') ||
      (text.includes('422') && url.endsWith('/simulate')) ||
      // A chart of the prepared run may be asked for in the very moment in which Cancel Restart withdraws it.
      (text.includes('404') && /\/(series|breakdown)\?.*run=2/.test(url)),
  },
);
