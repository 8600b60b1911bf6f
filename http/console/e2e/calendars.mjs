// A calendar, from hours with a mistake to a contact that waits for it: made, shown as a strip, given to a campaign,
// changed by somebody else meanwhile, kept while it is used.
import { accessible, eventually, fits, logIn, must, setting, withBrowser } from './browser.mjs';

const base = setting('DIALLER_URL');
const campaign = setting('CAMPAIGN');

/** theOther edits the calendar as somebody else does. */
async function theOther(page, version) {
  const answer = await page.request.fetch(`${base}/api/v1/calendars/office`, {
    method: 'PUT',
    headers: { Authorization: `Bearer ${setting('TOKEN')}` },
    data: { name: 'Head office', exceptions: JSON.parse(setting('CLOSED')), version },
  });
  must(answer.ok(), `the other edit: ${answer.status()} ${await answer.text()}`);
}

await withBrowser(
  async (page) => {
    const dialog = page.getByRole('dialog');
    await page.goto(`${base}/dashboard/calendars`);
    await logIn(page);
    await page.getByText('No calendars yet').waitFor();
    await page.getByRole('button', { name: 'New calendar' }).click();
    await dialog.getByLabel('Identifier').fill('office');
    await dialog.getByLabel('Name').fill('Office');

    // A mistake stands beside its day, with an example.
    await dialog.getByLabel('Tue', { exact: true }).fill('9 to 17');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText('for example 09:00-18:00').waitFor();
    await accessible(page, 'the form of a calendar with a mistake');
    for (const day of ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'])
      await dialog.getByLabel(day, { exact: true }).fill('09:00 – 12:00, 13:00-17:00');
    await dialog.getByRole('combobox', { name: 'Holidays of' }).fill('DE-BY');
    await page.getByRole('option', { name: 'DE-BY Germany' }).click();
    await dialog.getByRole('textbox', { name: 'Exceptions' }).fill(`${setting('DATE')} closed`);
    await dialog.locator('input[type="file"]').setInputFiles({
      name: 'holidays.ics',
      mimeType: 'text/calendar',
      buffer: Buffer.from(
        'BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART;VALUE=DATE:20301225\nRRULE:FREQ=YEARLY\nEND:VEVENT\nEND:VCALENDAR',
      ),
    });
    await dialog.getByRole('button', { name: 'Save' }).click();

    // The strip has its hours, and says why a day is closed.
    const row = page.locator('[data-calendar="office"]');
    await row.getByText('DE-BY').waitFor();
    await row.getByText(/A file: \d+ days/).waitFor();
    const days = row.getByRole('list', { name: 'Openings of Office' }).locator('[data-day]');
    await eventually('fourteen days are shown', async () => (await days.count()) === 14);
    await row.locator(`[data-day="${setting('DATE')}"][data-says^="closed"]`).waitFor();
    await row.locator('[data-says="09:00–12:00, 13:00–17:00"]').first().waitFor({ state: 'attached' });
    await accessible(page, 'the calendars');

    // Somebody else changes it first: what holds now is taken.
    await row.getByRole('button', { name: /Office/ }).click();
    await page.getByRole('menuitem', { name: 'Change…' }).click();
    await theOther(page, 1);
    await dialog.getByLabel('Name').fill('My office');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText('Somebody else saved Head office as version 2').waitFor();
    await dialog.getByRole('button', { name: 'Take what it says now' }).click();
    await dialog.getByLabel('Name').fill('My office');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await row.getByText('My office', { exact: true }).waitFor();

    // A campaign is given it, and its page says when it calls.
    await page.goto(`${base}/dashboard/campaigns/${campaign}/edit`);
    await page.getByRole('combobox', { name: 'Calendars' }).click();
    await page.getByRole('option', { name: 'My office' }).click();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('[data-setting="calendar_ids"]').getByText('My office').waitFor();
    const strip = page.getByRole('list', { name: 'Hours in which the campaign calls' });
    await strip.locator(`[data-day="${setting('DATE')}"][data-says^="closed"]`).waitFor();
    await page.getByText('Closed: My office. It opens').waitFor();
    await accessible(page, 'a campaign with a calendar');

    // Its contact waits for the calendar.
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    await dialog.getByRole('button', { name: 'Start', exact: true }).click();
    await page.getByText('The calendar My office is closed').first().waitFor();
    const contacts = page.getByRole('table', { name: 'Contacts' });
    await contacts.getByRole('button', { name: setting('WAITS'), exact: true }).click();
    await dialog.getByText('the calendar My office is closed').first().waitFor();
    await page.keyboard.press('Escape');

    // While it is used it stays.
    await page.goto(`${base}/dashboard/calendars`);
    await row.getByRole('button', { name: /My office/ }).click();
    await page.getByRole('menuitem', { name: 'Delete…' }).click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await dialog.getByText(`(${setting('CAMPAIGN_NAME')}) is running`).waitFor();
    await page.keyboard.press('Escape');
    await page.setViewportSize({ width: 390, height: 800 });
    await fits(page, 'the calendars on a small screen');
  },
  { expected: (text) => ['401', '409', '422'].some((status) => text.includes(status)) },
);
