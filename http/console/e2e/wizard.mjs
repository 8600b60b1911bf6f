// A new campaign from its name to its first dial: mistakes are said at their fields, what is typed survives a reload, a
// file's columns get names, and the review says what Start would meet.
import { accessible, eventually, figure, logIn, must, setting, withBrowser } from './browser.mjs';

const base = setting('DIALLER_URL');

// suppress puts a number on the suppression list, as another operator would meanwhile.
async function suppress(number) {
  const post = (path, body, headers) =>
    fetch(`${base}/api/v1${path}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  const { token } = await (
    await post('/auth/token', { email: setting('EMAIL'), password: setting('PASSWORD') })
  ).json();
  const answer = await post('/suppressions', { number }, { Authorization: `Bearer ${token}` });
  must(answer.ok, `the number was not suppressed: ${answer.status}`);
}

await withBrowser(
  async (page) => {
    await page.goto(`${base}/dashboard/campaigns`);
    await logIn(page);
    await page.getByRole('link', { name: 'New campaign' }).click();
    const next = page.getByRole('button', { name: 'Next' });
    const name = page.getByLabel('Name', { exact: true });
    await name.waitFor();

    // Basics. Next says what is missing, at its field, and stays.
    await next.click();
    await page.getByText('A campaign needs a name.').waitFor();
    await page.getByText('Choose a bot.').waitFor();
    await name.fill('Autumn renewals');
    must((await page.getByText('A campaign needs a name.').count()) === 0, 'the mistake stays after it was mended');
    await page.getByRole('combobox', { name: 'Bot' }).click();
    await page.getByRole('option').first().click();
    await page.getByLabel('Concurrency').fill('0');
    await page.getByText('Must be 1 to 100,000.').waitFor();
    await page.getByLabel('Concurrency').fill('6');
    await next.click();

    // Numbers.
    await page.getByRole('button', { name: /^Add all/ }).click();
    await page.getByRole('table', { name: 'Chosen numbers' }).getByText(setting('FROM')).waitFor();

    // A reload in the midst of it: nothing is lost.
    await page.reload();
    await page.getByRole('table', { name: 'Chosen numbers' }).getByText(setting('FROM')).waitFor();
    await page.getByRole('button', { name: 'Basics' }).click();
    must(
      (await name.inputValue()) === 'Autumn renewals' && (await page.getByLabel('Concurrency').inputValue()) === '6',
      'the draft did not survive the reload',
    );
    await next.click();
    await next.click();

    // The dialler. What only the server knows to be wrong stands at its field too.
    await page.getByRole('group', { name: 'Working days' }).waitFor();
    await page.getByLabel('From', { exact: true }).fill('00:00');
    await page.getByLabel('Until').fill('00:00');
    for (const day of ['Sat', 'Sun']) await page.getByRole('group', { name: 'Working days' }).getByText(day).click();
    await page.getByLabel('Retry delay').fill('10');
    await page.getByRole('combobox', { name: 'Retry on custom', exact: true }).fill('x'.repeat(300));
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Save the draft and go on' }).click();
    await page.locator('.mantine-TagsInput-error').waitFor();
    await accessible(page, 'the dialler configuration with a message of the server');
    await page.getByRole('combobox', { name: 'Retry on custom', exact: true }).press('Backspace');
    must((await page.locator('.mantine-TagsInput-error').count()) === 0, 'the mistake stays after it was taken away');
    await page.getByRole('button', { name: 'Save the draft and go on' }).click();

    // Contacts: the column of the numbers is found, the others get names.
    await page.getByText('Drop a CSV file here').waitFor();
    must(
      /\/campaigns\/[^/]+\/set-up$/.test(new URL(page.url()).pathname),
      `the draft is not kept by the server: ${page.url()}`,
    );
    const numbers = setting('NUMBERS').split(',');
    const rows = numbers.map((n, i) => `"Ada; ${i}";${n};gold\r\n`).join('');
    const csv = `Customer;Mobile;Plan\r\n${rows}"No";12;gold\r\n`;
    // Dropped, not chosen: both ways lead to the same.
    const transfer = await page.evaluateHandle((text) => {
      const t = new window.DataTransfer();
      t.items.add(new window.File([text], 'autumn.csv', { type: 'text/csv' }));
      return t;
    }, csv);
    await page.getByRole('group', { name: 'CSV file' }).dispatchEvent('drop', { dataTransfer: transfer });
    await page.getByRole('table', { name: 'Preview' }).getByText('Ada; 0').waitFor();
    must(
      (await page.getByRole('combobox', { name: 'Column with the phone numbers' }).inputValue()) === 'Mobile',
      'the column of the numbers was not found',
    );
    const column = page.getByLabel('Variable of column Customer');
    await column.fill('');
    await page.getByText('A variable needs a name.').waitFor();
    must(
      await page.getByRole('button', { name: 'Check the file' }).isDisabled(),
      'a variable without a name can be sent',
    );
    await column.fill('first_name');
    await accessible(page, 'the columns of a file');
    await page.getByRole('button', { name: 'Check the file' }).click();
    // The last number is on the suppression list: its row is left out.
    const added = numbers.length - 1;
    await page.getByRole('button', { name: `Add ${added} contacts` }).click();
    await page.getByText(`${added} contacts added`).waitFor();
    must((await figure(page, 'import_excluded')) === 1, 'the suppressed number is not counted');
    must((await figure(page, 'import_invalid')) === 1, 'the invalid row is not counted');
    await eventually(
      'the count follows',
      async () => (await page.locator('[data-figure="contacts_so_far"]').innerText()) === `${added} contacts`,
    );
    await suppress(numbers[0]);
    await next.click();

    // Review: what is skipped and why, how long it takes; then the first dial.
    await page.locator('[data-preflight="ready"]').waitFor();
    const skipped = await page.locator('[data-figure="skipped"]').innerText();
    must(
      skipped.includes(`1 of ${added} contacts will be skipped: 1 on the suppression list`),
      `the review says ${skipped}`,
    );
    must(
      /\d/.test(await page.locator('[data-figure="estimated_duration"]').innerText()),
      'the duration is not estimated',
    );
    await page.getByText(`Up to 6 conversations at the same time`).waitFor();
    await accessible(page, 'the review');
    await page.getByRole('button', { name: 'Start' }).click();
    await page.getByRole('heading', { level: 1, name: 'Autumn renewals' }).waitFor();
    await eventually('it dials', async () => (await figure(page, 'completed')) > 0);
    await page.getByRole('table', { name: 'Contacts' }).getByText('Ada; ').first().waitFor();
    must(
      (await page.getByRole('table', { name: 'Contacts' }).innerText()).includes('first_name'),
      'the name of the column is not that of the variable',
    );

    // A new one begins empty.
    await page.goto(`${base}/dashboard/campaigns/new`);
    must((await name.inputValue()) === '', 'the next campaign begins with the draft of the last');
    console.log(JSON.stringify({ ok: true }));
  },
  { expected: (text) => text.includes('422') },
);
