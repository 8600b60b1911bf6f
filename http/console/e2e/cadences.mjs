// A cadence, from its rules with a mistake to a contact that waits by it: made beside a preview, given to a campaign,
// changed by somebody else meanwhile, deleted.
import { accessible, eventually, fits, logIn, must, setting, withBrowser } from './browser.mjs';

const base = setting('DIALLER_URL');
const campaign = setting('CAMPAIGN');

/** theOther edits the cadence as somebody else does. */
async function theOther(page, version) {
  const answer = await page.request.fetch(`${base}/api/v1/cadences/evenings`, {
    method: 'PUT',
    headers: { Authorization: `Bearer ${setting('TOKEN')}` },
    data: { name: 'Evenings too', rules: 'busy: 4h · no_answer: next day', version },
  });
  must(answer.ok(), `the other edit: ${answer.status()} ${await answer.text()}`);
}

await withBrowser(
  async (page) => {
    const dialog = page.getByRole('dialog');
    const dates = dialog.getByRole('table', { name: 'Dates' }).locator('[data-attempt]');
    await page.goto(`${base}/dashboard/cadences`);
    await logIn(page);
    await page.getByText('No cadences yet').waitFor();
    await page.getByRole('button', { name: 'New cadence' }).click();
    await dialog.getByLabel('Identifier').fill('evenings');
    await dialog.getByLabel('Name').fill('Evenings too');

    // A mistake is named with an example, before it is saved and after.
    const rules = dialog.getByRole('textbox', { name: 'Rules' });
    await rules.fill('busy: soon');
    await dialog.getByRole('group', { name: 'Preview' }).getByText('"soon" is no step').waitFor();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await eventually(
      'the mistake stands beside the rules too',
      async () => (await dialog.getByText('for example busy: 5m').count()) === 2,
    );
    await accessible(page, 'the form of a cadence with a mistake');

    // The preview follows: nobody answers.
    await rules.fill('busy: 3h\nno_answer: next day\nat most 2 a day');
    await eventually('eight dates are shown', async () => (await dates.count()) === 8);
    await dates.nth(1).getByText('no_answer: next day').waitFor();
    await dialog.getByText('Then: all 8 attempts are used').waitFor();
    await dialog.getByLabel('A contact of').fill(setting('CAMPAIGN_NAME'));
    await page.getByRole('option', { name: setting('CAMPAIGN_NAME') }).click();
    await eventually('the attempts are the campaign’s', async () => (await dates.count()) === 2);
    await dialog.getByRole('combobox', { name: 'whose attempts end as' }).click();
    await page.getByRole('option', { name: 'Busy', exact: true }).click();
    await dates.nth(1).getByText('busy: 3h').waitFor();
    await accessible(page, 'the form of a cadence with its preview');
    await dialog.getByRole('button', { name: 'Save' }).click();
    const row = page.locator('[data-cadence="evenings"]');
    await row.getByText('no_answer: next day').waitFor();
    await accessible(page, 'the cadences');

    // Somebody else changes it first: what holds now is shown and taken.
    await row.getByRole('button', { name: /Evenings too/ }).click();
    await page.getByRole('menuitem', { name: 'Change…' }).click();
    await theOther(page, 1);
    await dialog.getByLabel('Name').fill('Evenings and more');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText('Now it says: busy: 4h · no_answer: next day').waitFor();
    await dialog.getByRole('button', { name: 'Take what it says now' }).click();
    await dialog.getByLabel('Name').fill('Evenings and more');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await row.getByText('Evenings and more').waitFor();
    await row.getByText('busy: 4h').waitFor();

    // A campaign is given it, and its page says so.
    await page.goto(`${base}/dashboard/campaigns/${campaign}/edit`);
    await page.getByRole('combobox', { name: 'Cadence' }).click();
    await page.getByRole('option', { name: 'Evenings and more' }).click();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('[data-setting="cadence_id"]').getByText('Evenings and more').waitFor();

    // Its contact is busy, and waits by the cadence.
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    await dialog.getByRole('button', { name: 'Start', exact: true }).click();
    const contacts = page.getByRole('table', { name: 'Contacts' });
    await page.locator('[data-figure="last_dial"]').getByText('ago').waitFor();
    await eventually('it is busy', async () => {
      await page.reload();
      await contacts.waitFor();
      return (await contacts.getByText('Busy').count()) > 0;
    });
    await contacts.getByRole('button', { name: setting('BUSY'), exact: true }).click();
    await dialog.getByText('by the cadence Evenings and more (busy: 4h)').waitFor();
    await page.keyboard.press('Escape');

    // While it is used it stays.
    await page.goto(`${base}/dashboard/cadences`);
    await row.getByRole('button', { name: /Evenings and more/ }).click();
    await page.getByRole('menuitem', { name: 'Delete…' }).click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await dialog.getByText(`(${setting('CAMPAIGN_NAME')}) is running`).waitFor();
    await page.keyboard.press('Escape');
    await page.setViewportSize({ width: 390, height: 800 });
    await fits(page, 'the cadences on a small screen');
  },
  { expected: (text) => ['401', '409', '422'].some((status) => text.includes(status)) },
);
