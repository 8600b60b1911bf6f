// What binds every call, and who is told: the suppression list, webhooks with their log, the audit, and the wall.
import { accessible, eventually, fits, logIn, must, setting, withBrowser } from './browser.mjs';

const base = setting('DIALLER_URL');

async function suppressions(page, dialog) {
  const number = setting('TO');
  await page.getByText('The list is empty').waitFor();
  await page.getByRole('button', { name: 'Block numbers' }).click();
  await dialog.getByLabel('Numbers').fill(`${number}\n12`);
  await dialog.getByRole('button', { name: 'Leave 2 numbers alone' }).click();
  await dialog.getByText('12:').waitFor(); // the one that is wrong is named
  await accessible(page, 'the form of the suppression list with a mistake');
  await dialog.getByLabel('Numbers').fill(number);
  await dialog.getByLabel('Reason').fill('asked by letter');
  await dialog.getByRole('button', { name: 'Leave it alone' }).click();
  const row = page.getByRole('row', { name: number });
  await row.getByText('asked by letter').waitFor();

  // From a file; a row that cannot be read is named with its line.
  await page.getByRole('button', { name: 'Block numbers' }).click();
  await dialog.getByRole('tab', { name: 'From a file' }).click();
  await page.locator('input[type="file"]').setInputFiles({
    name: 'list.csv',
    mimeType: 'text/csv',
    buffer: Buffer.from(`phone_number\n${number}\n12\n${setting('OTHER')}\n`),
  });
  await dialog.getByRole('button', { name: 'Import' }).click();
  await dialog.getByText('3 rows: 1 put on the list, 1 on it already, 1 not readable.').waitFor();
  await dialog.getByText('Line 3').waitFor();
  await dialog.getByRole('button', { name: 'Done' }).click();

  // Found, and taken off.
  await page.getByRole('row', { name: setting('OTHER') }).waitFor();
  await page.getByLabel('Find a number').fill('9999');
  await page.getByText('Only a whole phone number can be looked for').waitFor();
  must((await page.getByRole('row').count()) === 0, 'a search that cannot be applied shows rows');
  await page.getByLabel('Find a number').fill(number);
  await eventually('only that one is shown', async () => (await page.getByRole('row').count()) === 2);
  await accessible(page, 'the suppression list');
  await row.getByRole('button', { name: `Take ${number} off the list` }).click();
  await dialog.getByRole('button', { name: 'Take it off' }).click();
  await page.getByText(`${number} is not on the list`).waitFor();
}

async function exclusions(page, dialog) {
  const number = setting('TO');
  await page.goto(`${base}/dashboard/campaigns/${encodeURIComponent(setting('CAMPAIGN'))}`);
  await page.getByRole('link', { name: 'Exclusions' }).click();
  await page.getByText('Nobody is excluded').waitFor();
  await page.getByRole('button', { name: 'Exclude' }).click();
  await dialog.getByRole('textbox', { name: 'Number' }).fill('12');
  await dialog.getByRole('button', { name: 'Exclude it' }).click();
  await dialog.getByText('country').last().waitFor(); // what is wrong with it
  await accessible(page, 'the form of an exclusion with a mistake');
  await dialog.getByRole('textbox', { name: 'Number' }).fill(number);
  await dialog.getByLabel('Reason').fill('asked on the phone');
  await dialog.getByRole('button', { name: 'Exclude it' }).click();
  await page.getByRole('row', { name: number }).getByText('asked on the phone').waitFor();
  await page.getByRole('button', { name: 'Exclude' }).click();
  await dialog.getByRole('tab', { name: 'From a file' }).click();
  await page.locator('input[type="file"]').setInputFiles({
    name: 'list.csv',
    mimeType: 'text/csv',
    buffer: Buffer.from(`phone_number\n12\n${setting('OTHER')}\n`),
  });
  await dialog.getByRole('button', { name: 'Import' }).click();
  await dialog.getByText('2 rows: 1 excluded, 0 of them contacts of this campaign; 1 not readable.').waitFor();
  await dialog.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('row', { name: setting('OTHER') }).waitFor();
  await accessible(page, 'the exclusions');
  await page.getByRole('button', { name: `Remove the exclusion of ${number}` }).click();
  await dialog.getByRole('button', { name: 'Remove exclusion' }).click();
  await page.getByText('Removed: 0 contacts can be called again.').waitFor();
  await eventually('the other one is left', async () => (await page.getByRole('row').count()) === 2);
}

async function webhooks(page, dialog) {
  await page.getByRole('link', { name: 'Webhooks' }).click();
  await page.getByText('No endpoints yet').waitFor();
  await page.getByRole('button', { name: 'New endpoint' }).click();
  await dialog.getByRole('textbox', { name: 'Address' }).fill(setting('HOOK'));
  await accessible(page, 'the form of a webhook');
  await dialog.getByRole('button', { name: 'Make the endpoint' }).click();
  const secret = await dialog.locator('[data-secret]').innerText();
  must(secret.startsWith('whsec_'), 'the secret is not shown');
  await dialog.getByRole('button', { name: 'I have stored it' }).click();
  await page.getByRole('link', { name: setting('HOOK') }).click();

  // A test message is taken, and sent again; the log follows by itself.
  await page.getByText('Nothing was sent').waitFor();
  await page.getByRole('button', { name: 'Send a test' }).click();
  const row = page.getByRole('row', { name: /webhook\.ping/ });
  await row.getByText('Delivered').waitFor();
  await row.getByText('HTTP 200, 1 try').waitFor();
  await accessible(page, 'the log of a webhook');
  await row.getByRole('button', { name: 'Send webhook.ping again' }).click();
  await eventually(
    'it is delivered again',
    async () => (await (await fetch(`${setting('HOOK')}/taken`)).text()) === '2',
  );
  await page.getByRole('button', { name: 'New secret…' }).click();
  await dialog.getByRole('button', { name: 'Make a new secret' }).click();
  must((await dialog.locator('[data-secret]').innerText()) !== secret, 'the secret is the same');
  await dialog.getByRole('button', { name: 'I have stored it' }).click();
  await page.getByText('The secret before signs too until').waitFor();
  await page.getByRole('button', { name: 'Delete…' }).click();
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('No endpoints yet').waitFor();
}

/** A call that waits for its time is shown with it, and cancelled. */
async function scheduled(page, dialog) {
  const number = setting('LATER');
  await page.getByRole('link', { name: 'Scheduled calls' }).click();
  const row = page.getByRole('row', { name: number });
  await row.getByText('it is called from then on').waitFor();
  await accessible(page, 'the scheduled calls');
  await row.getByRole('button', { name: `Cancel the call to ${number}` }).click();
  await dialog.getByRole('button', { name: 'Cancel the call' }).click();
  await page.getByText('No call waits for its time').waitFor();
}

await withBrowser(
  async (page) => {
    const dialog = page.getByRole('dialog');
    await page.goto(`${base}/dashboard/suppressions`);
    await logIn(page);
    await page.getByRole('heading', { level: 1, name: 'Suppression list' }).waitFor();
    await suppressions(page, dialog);
    await exclusions(page, dialog);
    await webhooks(page, dialog);
    await scheduled(page, dialog);

    // The audit has it all.
    await page.getByRole('link', { name: 'Audit' }).click();
    for (const action of ['suppress', 'lift_suppression', 'create_webhook', 'rotate_webhook_secret', 'delete_webhook'])
      await page.locator(`[data-action="${action}"]`).first().waitFor();
    await accessible(page, 'the audit');

    // The wall shows what dials, and follows it.
    await page.getByRole('link', { name: 'Live wall' }).click();
    const tile = page.locator(`[data-campaign="${setting('CAMPAIGN')}"]`);
    await tile.getByText('Running').waitFor();
    await page.getByRole('status').getByText('Live', { exact: true }).waitFor();
    await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' });
    await page.setViewportSize({ width: 390, height: 800 });
    await accessible(page, 'the wall on a small screen in the dark');
    await fits(page, 'the wall on a small screen in the dark');
  },
  { expected: (text) => ['401', '422'].some((status) => text.includes(status)) },
);
