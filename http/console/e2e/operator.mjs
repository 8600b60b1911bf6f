// What an operator does in a day: logs in, finds a campaign, adds contacts from a file, starts it, watches it, pauses
// and resumes it, takes the report, and logs out. The figures change by themselves: the page is never loaded again.
import { readFileSync } from 'node:fs';

import { accessible, eventually, figure, logIn, must, setting, withBrowser } from './browser.mjs';

const base = setting('DIALLER_URL');
const name = setting('CAMPAIGN_NAME');

/** fromFile adds contacts from a file and looks at what the report says of its rows. */
async function fromFile(page, dialog) {
  // Contacts from a file.
  await page.getByRole('button', { name: 'Add contacts' }).click();
  await dialog.getByText('phone_number').waitFor();
  await accessible(page, 'the dialog for a file');
  const chooser = page.waitForEvent('filechooser');
  await dialog.getByRole('button', { name: 'Choose a file' }).click();
  await (await chooser).setFiles(setting('CSV'));
  await dialog.getByLabel('Variable of column first_name').waitFor();
  await accessible(page, 'the columns of a file');
  await dialog.getByRole('button', { name: 'Check the file' }).click();
  await dialog.getByText('Nothing has been added yet.').waitFor();
  await accessible(page, 'the check of a file');
  await dialog.getByRole('button', { name: `Add ${setting('ADDED')} contacts` }).click();
  await dialog.getByText(`${setting('ADDED')} contacts added`).waitFor();
  const want = {
    rows: setting('ROWS'),
    added: setting('ADDED'),
    invalid: setting('INVALID'),
    duplicate: setting('DUPLICATE'),
    excluded: '0',
  };
  for (const [field, value] of Object.entries(want)) {
    const shown = await figure(page, `import_${field}`);
    must(shown === Number(value), `the report shows ${shown} as ${field}, not ${value}`);
  }
  await dialog.locator('[data-reason="invalid_number"]').first().waitFor();
  await dialog.locator('[data-reason="duplicate"]').first().waitFor();
  await accessible(page, 'the report of an import');
  await dialog.getByRole('button', { name: 'Done' }).click();
  await dialog.waitFor({ state: 'detached' });
}

/** faster gives the campaign, which is paused, more lines for the rest of its contacts. */
async function faster(page) {
  const id = new URL(page.url()).pathname.split('/').at(-1);
  const { csrf_token } = await (await page.request.get(`${base}/api/v1/session`)).json();
  const { version } = await (await page.request.get(`${base}/api/v1/campaigns/${id}`)).json();
  const answer = await page.request.patch(`${base}/api/v1/campaigns/${id}`, {
    headers: { 'X-CSRF-Token': csrf_token },
    data: { version, concurrency: 10 },
  });
  must(answer.ok(), `the campaign is not changed: ${answer.status()} ${await answer.text()}`);
}

await withBrowser(
  async (page) => {
    // Log in. The address stays, so a link to a campaign works after the log-in.
    await page.goto(`${base}/`);
    await page.getByRole('heading', { name: 'Log in to the dialler' }).waitFor();
    must(new URL(page.url()).pathname === '/dashboard/campaigns', `/ leads to ${page.url()}`);
    await accessible(page, 'the log-in page');
    await logIn(page, setting('EMAIL'), 'not the password');
    await page.getByRole('alert').getByText('do not belong together').waitFor();
    await accessible(page, 'the log-in page with its refusal');
    await logIn(page);

    // The list.
    const row = page.getByRole('row', { name });
    await row.waitFor();
    await row.getByText('Draft').waitFor();
    await page.getByRole('status').getByText('Live').waitFor();
    await accessible(page, 'the list of campaigns');
    const head = page.getByRole('columnheader', { name: 'Connected' });
    await head.getByRole('button').click();
    await page.waitForURL(/sort=-connected/);
    await eventually(
      'the column says that the list is sorted by it',
      async () => (await head.getAttribute('aria-sort')) === 'descending',
    );
    await head.getByRole('button').press('Enter');
    await eventually('the order is turned', async () => (await head.getAttribute('aria-sort')) === 'ascending');
    await head.getByRole('button').press('Enter');
    await eventually(
      'the list is not sorted any more',
      async () => (await head.getAttribute('aria-sort')) === null && !page.url().includes('sort='),
    );
    await row.getByRole('button', { name: `Actions for ${name}` }).click();
    await page.getByRole('menuitem', { name: 'Clone…' }).waitFor();
    await page.getByRole('menuitem', { name: 'Start…' }).click();
    const asked = page.getByRole('dialog', { name: `Start “${name}”?` });
    await asked.getByText('dialling begins at once').waitFor();
    await accessible(page, 'a question of the list of campaigns');
    await asked.getByRole('button', { name: 'Cancel' }).click();
    await asked.waitFor({ state: 'detached' });
    await page.getByLabel('Search campaigns by name').fill('no campaign has this name');
    await page.getByText('No campaign fits').waitFor();
    await page.keyboard.press('Escape');
    await page.getByLabel('Search campaigns by name').fill(name.slice(0, 5).toUpperCase());
    await row.getByRole('link', { name }).click();

    // A campaign without contacts: Start says what is missing.
    await page.getByRole('heading', { level: 1, name }).waitFor();
    await page.evaluate(() => (window.stayed = true));
    await page.getByText('No contacts yet').waitFor();
    await accessible(page, 'the page of a draft');
    await page.getByRole('button', { name: 'Start' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Start' }).click();
    await dialog.getByText('The campaign cannot dial yet').waitFor();
    must(
      (await dialog.locator('[data-code="no_callable_contact"]').count()) === 1,
      'the blocker of the preflight is not shown',
    );
    await accessible(page, 'the refusal of Start');
    await dialog.getByRole('button', { name: 'Close' }).last().click();
    await dialog.waitFor({ state: 'detached' });

    // Contacts.
    await fromFile(page, dialog);
    const total = Number(setting('ADDED'));
    await eventually('Total follows the import', async () => (await figure(page, 'total')) === total);
    await page.getByRole('table', { name: 'Contacts' }).waitFor();

    // Start, and see it work.
    await page.getByRole('button', { name: 'Start' }).click();
    await dialog.getByText(`calls ${total} contacts`).waitFor();
    await accessible(page, 'the question before Start');
    await dialog.getByRole('button', { name: 'Start' }).click();
    await page.getByText('Dialling begins').waitFor();
    await page.getByRole('heading', { name: 'Live activity' }).waitFor();
    await eventually('conversations are shown', async () => (await figure(page, 'in_progress')) > 0);
    await eventually('the indicator says so', async () => page.getByText('Live Activity', { exact: true }).isVisible());
    const seen = new Set();
    await eventually('Completed counts up', async () => {
      seen.add(await figure(page, 'completed'));
      return seen.size >= 4;
    });
    await page.locator('[data-constraint]').waitFor(); // what holds the next dial back

    // Pause and resume.
    await page.getByRole('button', { name: 'Pause' }).click();
    await dialog.getByText('No new calls are placed').waitFor();
    await dialog.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('button', { name: 'Resume' }).waitFor();
    await page.locator('[data-constraint="paused"]').waitFor();
    await accessible(page, 'the page of a campaign at work'); // paused, so that it does not end meanwhile
    await eventually(
      'the live calls finish',
      async () => (await figure(page, 'in_progress')) === 0 && (await figure(page, 'ringing')) === 0,
    );
    await faster(page);
    await page.getByRole('button', { name: 'Resume' }).click();
    await dialog.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('button', { name: 'Pause' }).waitFor();

    // It completes by itself, and the page says why.
    await page.locator('[data-reason]').waitFor();
    await page.getByText('Reason: all contacts reached a final state.').waitFor();
    await eventually(
      `${total} contacts are shown as completed`,
      async () => (await figure(page, 'completed')) === total,
    );
    await eventually('the progress is 100 %', async () =>
      (await page.locator('[data-figure="progress"]').innerText()).startsWith('100'),
    );
    // What nobody sees is not asked for again.
    await page.getByRole('table', { name: 'Contacts' }).scrollIntoViewIfNeeded();
    await eventually(
      'the call list follows',
      async () => (await page.locator('[data-contact]').getByText('Completed').count()) >= total,
    );

    // One contact with all that is known of its attempts.
    const contact = page.locator('[data-contact]').first();
    must((await contact.locator('[data-figure="attempts"]').innerText()) === '1/2', 'the attempts are not 1/2');
    await contact.getByRole('button', { name: 'Show details' }).click();
    const attempts = page.getByRole('table', { name: 'Attempts' });
    await attempts.waitFor();
    const cells = await attempts.getByRole('row').nth(1).getByRole('cell').allInnerTexts();
    const short = await contact.locator('[data-attempt]').getAttribute('data-attempt');
    must(
      cells[0] === '1' &&
        cells[1].includes('Completed') &&
        (await contact.innerText()).includes(cells[2]) &&
        cells[3] === setting('FROM') &&
        cells[9].includes(short),
      `the attempt shows ${JSON.stringify(cells)}`,
    );
    await accessible(page, 'the page of a completed campaign, with a contact opened');

    // The report: as many rows as dials.
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Attempt Report' }).click();
    const file = await download;
    const report = readFileSync(await file.path(), 'utf8');
    await page.getByText('Attempt Report downloaded').waitFor();
    const rows = report.trimEnd().split('\n').length - 1;
    await page.getByText(`${rows} rows`).waitFor();

    must(await page.evaluate(() => window.stayed === true), 'the page was loaded again');

    // Dark.
    await page.getByRole('button', { name: /^Colours/ }).click();
    await page.getByRole('menuitem', { name: 'Dark' }).waitFor();
    await accessible(page, 'the menu of colours', { menu: true });
    await page.getByRole('menuitem', { name: 'Dark' }).click();
    await eventually(
      'the page is dark',
      async () => (await page.locator('html').getAttribute('data-mantine-color-scheme')) === 'dark',
    );
    await page.getByRole('menu').waitFor({ state: 'detached' });
    await accessible(page, 'the campaign page in the dark');
    await page.getByRole('link', { name: 'Campaigns' }).first().click();
    await row.getByText('Completed').waitFor();
    await accessible(page, 'the list in the dark');
    await page.goto(`${base}/dashboard/no/such/page`);
    await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
    await accessible(page, 'the page for unknown addresses');

    // Small screens.
    await page.setViewportSize({ width: 390, height: 800 });
    await page.goto(`${base}/dashboard/campaigns`);
    await row.waitFor();
    await accessible(page, 'the list on a small screen');
    await page.getByRole('button', { name: 'Open the navigation' }).click();

    // Log out.
    await page.getByRole('button', { name: /^User menu/ }).click();
    await page.getByRole('menuitem', { name: 'Log out' }).click();
    await page.getByRole('heading', { name: 'Log in to the dialler' }).waitFor();
    await accessible(page, 'the log-in page in the dark');
    await page.reload();
    await page.getByRole('heading', { name: 'Log in to the dialler' }).waitFor();

    console.log(JSON.stringify({ rows, header: report.slice(0, report.indexOf('\n')).trim() }));
  },
  {
    expected: (text, url) =>
      (url.endsWith('/start') && text.includes('409')) ||
      url.endsWith('/session') ||
      (text.includes('401') && url.endsWith('/live')),
  },
);
