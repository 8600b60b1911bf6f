// A list as a German spreadsheet saves it, in Latin-1 with semicolons and numbers as within Germany: how it is written
// is found and shown, the whole of it is checked before anything is added, and the rows that were left out are
// downloaded, corrected, and added. The first list turns out to be the wrong one, and is taken back.
import { readFileSync } from 'node:fs';

import { accessible, eventually, figure, logIn, must, setting, withBrowser } from './browser.mjs';

const base = setting('DIALLER_URL');
const id = setting('CAMPAIGN');

await withBrowser(async (page) => {
  await page.goto(`${base}/dashboard/campaigns/${id}`);
  await logIn(page);
  const ask = async (path) => (await page.request.get(`${base}/api/v1/campaigns/${id}${path}`)).json();
  const dialog = page.getByRole('dialog');
  const box = (name) => dialog.getByRole('combobox', { name });
  const country = box('Country of numbers without a country code');
  const choose = async (file) => {
    const chooser = page.waitForEvent('filechooser');
    await dialog.getByRole('button', { name: 'Choose a file' }).click();
    await (await chooser).setFiles(file);
    await dialog.getByRole('table', { name: 'Preview' }).waitFor();
  };
  const pick = async (select, option) => {
    await select.click();
    await page.getByRole('option', { name: option, exact: true }).click();
    await eventually(`${option} is chosen`, async () => (await select.inputValue()) === option);
  };
  const figures = async (want) => {
    for (const [name, value] of Object.entries(want)) {
      const shown = await figure(page, `import_${name}`);
      must(shown === value, `${shown} is shown as ${name}, not ${value}`);
    }
  };
  const check = async (before, want) => {
    await dialog.getByRole('button', { name: 'Check the file' }).click();
    await dialog.locator('[data-import="checked"]').waitFor();
    await figures(want);
    must((await ask('/contacts')).total === before, 'the check of a file has added contacts');
  };

  await page.getByRole('button', { name: 'Add contacts' }).click();
  await choose(setting('CSV'));

  // How it is written.
  await dialog.getByText('Jürgen Müller').first().waitFor();
  must((await box('Text encoding').inputValue()).includes('Windows-1252'), 'the encoding is not shown');
  must((await box('Separator').inputValue()).startsWith('Semicolon'), 'the separator is not shown');
  must((await country.inputValue()) === 'Germany (DE)', 'the country is not suggested');
  await accessible(page, 'how a file is read');

  // Both can be said otherwise, and again as they were.
  await pick(box('Text encoding'), 'Cyrillic (Windows-1251)');
  await eventually('it is read as Cyrillic', async () => (await dialog.getByText('Jьrgen').count()) > 0);
  await pick(box('Text encoding'), 'Western European (Windows-1252, Latin-1)');
  await dialog.getByText('Jürgen Müller').first().waitFor();
  await pick(box('Separator'), 'Pipe ( | )');
  await eventually('it is one column', async () => (await dialog.getByRole('columnheader').count()) === 1);
  await pick(box('Separator'), 'Semicolon ( ; )');
  await eventually('it is three columns', async () => (await dialog.getByRole('columnheader').count()) === 3);

  // Without a country none of the numbers is one, and the rows say what to do. Nothing is added.
  await dialog.locator('[aria-label="No country"]').click();
  await dialog.getByText('a number needs its country').waitFor();
  await dialog.getByRole('button', { name: 'Check the file' }).click();
  await dialog.getByText('choose the country of such numbers').first().waitFor();
  await figures({ rows: 62, added: 0, invalid: 62 });
  must(await dialog.getByRole('button', { name: 'Add 0 contacts' }).isDisabled(), 'a file of nobody can be added');
  await dialog.getByRole('button', { name: 'Back to the columns' }).click();

  // With it all but two are.
  await pick(country, 'Germany (DE)');
  await check(0, { rows: 62, added: 60, invalid: 2 });
  await dialog.getByText('characters that are neither digits nor separators').waitFor();
  must((await dialog.getByText('choose the country of such numbers').count()) === 0, 'a country is still asked for');
  await accessible(page, 'the check of a file');

  // What is left out, as a file.
  const downloaded = page.waitForEvent('download');
  await dialog.getByRole('link', { name: 'Download these rows' }).click();
  const file = readFileSync(await (await downloaded).path(), 'utf8');
  const lines = file.trimEnd().split('\n');
  must(lines[0] === '\ufeffrejected_line;rejected_because;Name;phone_number;Ort', `its first line is ${lines[0]}`);
  must(lines.length === 3 && file.includes('Jürgen Müller;0151 1;Köln'), `the file is ${file}`);

  await dialog.getByRole('button', { name: 'Add 60 contacts' }).click();
  await dialog.getByText('60 contacts added').waitFor();
  must((await ask('/contacts')).total === 60, 'the contacts are not in the campaign');

  // Corrected, it is added as it is; the country is remembered.
  await dialog.getByRole('button', { name: 'Add another file' }).click();
  await choose({
    name: 'corrected.csv',
    mimeType: 'text/csv',
    buffer: Buffer.from(file.replace(';0151 1;', ';0151 22000001;').replace(';unbekannt;', ';0151 22000002;')),
  });
  must((await country.inputValue()) === 'Germany (DE)', 'the country is not remembered');
  await check(60, { rows: 2, added: 2, invalid: 0 });
  await dialog.getByRole('button', { name: 'Add 2 contacts' }).click();
  await dialog.getByText('2 contacts added').waitFor();
  const { contacts } = await ask('/contacts?number=%2B4915122000001');
  must(
    JSON.stringify(contacts.map((c) => c.variables)) === JSON.stringify([{ Name: 'Jürgen Müller', Ort: 'Köln' }]),
    `the corrected contact is ${JSON.stringify(contacts)}`,
  );
  await dialog.getByRole('button', { name: 'Done' }).click();
  await dialog.waitFor({ state: 'detached' });

  // The lists are shown with what became of them.
  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('menuitem', { name: 'Uploaded lists' }).click();
  const lists = page.getByRole('list', { name: 'Uploaded lists' }).locator('[data-list]');
  const wrong = lists.filter({ hasText: 'Kunden.csv' });
  await wrong.getByText('60 contacts added, 2 rows left out').waitFor();
  must((await lists.count()) === 2, `${await lists.count()} lists are shown, not 2`);
  must((await lists.first().innerText()).includes('corrected.csv'), 'the newest list does not come first');
  await accessible(page, 'the uploaded lists');

  // What would go is said before.
  await wrong.getByRole('button', { name: 'Take back…' }).click();
  const sure = page.getByRole('dialog', { name: 'Take this list back?' });
  await sure.getByText('60 contacts of Kunden.csv will be deleted.').waitFor();
  await accessible(page, 'the question before a list is taken back');
  await sure.getByRole('button', { name: 'Cancel' }).click();
  await sure.waitFor({ state: 'detached' });
  must((await ask('/contacts')).total === 62, 'contacts are gone that nobody took back');

  await wrong.getByRole('button', { name: 'Take back…' }).click();
  await sure.getByText('60 contacts of Kunden.csv will be deleted.').waitFor();
  await sure.getByRole('button', { name: 'Take it back' }).click();
  await sure.waitFor({ state: 'detached' });
  await wrong.getByText(/^Taken back by .*: 60 contacts deleted\.$/).waitFor();
  must((await wrong.getByRole('button', { name: 'Take back…' }).count()) === 0, 'it can be taken back twice');
  must((await ask('/contacts')).total === 2, 'other contacts than those of the list are gone, or too few');
  await accessible(page, 'a list that was taken back');
});
