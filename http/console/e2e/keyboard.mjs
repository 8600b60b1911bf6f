// A campaign by the keyboard alone: logged in, set up, given contacts, started, watched and stopped. What has the focus
// is always to be seen, and nobody is thrown back to the beginning of the page.
import { eventually, figure, must, setting, withBrowser } from './browser.mjs';

const base = setting('DIALLER_URL');

/** seen says whether what has the focus shows it: an outline, or the border of a field that is written in. */
const seen = () => {
  const at = document.activeElement;
  const ringed = (e) => {
    const { outlineStyle, outlineWidth, boxShadow } = window.getComputedStyle(e);
    return (outlineStyle !== 'none' && parseFloat(outlineWidth) > 0) || boxShadow !== 'none';
  };
  const beside = [at, at.parentElement, at.nextElementSibling, ...(at.labels ?? [])].filter((e) => e !== null);
  return at.matches('input, textarea, select') ? at.matches(':focus-visible') : beside.some(ringed);
};

await withBrowser(async (page) => {
  const press = (key) => page.keyboard.press(key);
  /** to goes on to something with Tab, or backwards, and fails when it is not reached. */
  const to = async (role, name, { backwards = false, exact = true } = {}) => {
    const wanted = page.getByRole(role, { name, exact });
    await wanted.first().waitFor({ state: 'attached' }); // some are drawn by their label
    for (let i = 0; i < 150; i++) {
      if (await wanted.first().evaluate((e) => e === document.activeElement)) {
        must(await page.evaluate(seen), `${name} has the focus, which cannot be seen`);
        return;
      }
      await press(backwards ? 'Shift+Tab' : 'Tab');
    }
    throw new Error(`the ${role} ${name} is not reached with Tab`);
  };
  const type = async (role, name, text) => {
    await to(role, name);
    await press('Control+a');
    await page.keyboard.type(text);
  };
  const at = (what) =>
    eventually(`the focus is somewhere after ${what}`, () =>
      page.evaluate(() => document.activeElement !== document.body),
    );

  await page.goto(`${base}/dashboard/campaigns`);
  await type('textbox', 'E-mail', setting('EMAIL'));
  await type('textbox', 'Password', setting('PASSWORD'));
  await press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Campaigns' }).waitFor();

  // The first stop of a page leads past the navigation.
  await page.reload();
  await page.getByRole('heading', { level: 1, name: 'Campaigns' }).waitFor();
  await press('Tab');
  must(
    await page.getByRole('link', { name: 'Skip to the content' }).evaluate((e) => e === document.activeElement),
    'the first stop does not lead past the navigation',
  );
  await press('Enter');
  await to('link', 'New campaign');
  await press('Enter');

  await page.getByRole('heading', { level: 1, name: 'New campaign' }).waitFor();
  await at('a link to another page');
  await type('textbox', 'Name', 'By keyboard');
  await to('combobox', 'Bot');
  await press('ArrowDown');
  await page.getByRole('option').first().waitFor();
  await press('ArrowDown');
  await press('Enter');
  await to('button', 'Next');
  await press('Enter');
  await page.getByRole('button', { name: /^Add all/ }).waitFor();
  await at('Next');
  await to('button', /^Add all/);
  await press('Enter');
  await to('button', 'Next');
  await press('Enter');
  await page.getByRole('group', { name: 'Working days' }).waitFor();
  for (const [name, time] of [
    ['From', '1200AM'],
    ['Until', '1200AM'],
  ]) {
    await page.getByLabel(name, { exact: true }).waitFor();
    for (
      let i = 0;
      i < 60 && !(await page.getByLabel(name, { exact: true }).evaluate((e) => e === document.activeElement));
      i++
    )
      await press('Tab');
    await page.keyboard.type(time);
  }
  for (const day of ['Sat', 'Sun']) {
    await to('checkbox', day);
    await press('Space');
  }
  await to('button', 'Save the draft and go on');
  await press('Enter');

  await page.getByText('Drop a CSV file here').waitFor();
  await at('saving the draft');
  const chooser = page.waitForEvent('filechooser');
  await to('button', 'Choose a file');
  await press('Enter');
  await (
    await chooser
  ).setFiles({
    name: 'list.csv',
    mimeType: 'text/csv',
    // As a German spreadsheet saves it: in Windows-1252, with national numbers.
    buffer: Buffer.from(
      `Telefon;Straße\r\n${setting('NUMBERS')
        .split(',')
        .map((n) => `${n.replace('+49', '0')};Müllerstraße`)
        .join('\r\n')}\r\n`,
      'latin1',
    ),
  });
  await page.getByRole('table', { name: 'Preview' }).getByText('Müllerstraße').first().waitFor();
  // The caller IDs are German, so numbers without a country are taken for German ones. Another country is chosen, and
  // Germany again.
  const country = page.getByRole('combobox', { name: 'Country of numbers without a country code' });
  for (const [name, option] of [
    ['Austria', 'Austria (AT)'],
    ['Germany', 'Germany (DE)'],
  ]) {
    must((await country.inputValue()) !== option, `${option} is chosen already`);
    if (name === 'Austria') must((await country.inputValue()) === 'Germany (DE)', 'the country is not suggested');
    await to('combobox', 'Country of numbers without a country code');
    await press('Control+a');
    await page.keyboard.type(name);
    await page.getByRole('option', { name: option }).waitFor();
    await press('ArrowDown');
    await press('Enter');
    await eventually(`${option} is chosen`, async () => (await country.inputValue()) === option);
  }
  await to('button', 'Check the file');
  await press('Enter');
  const add = `Add ${setting('NUMBERS').split(',').length} contacts`;
  await page.getByRole('button', { name: add }).waitFor();
  await to('button', add);
  await press('Enter');
  await page.getByText(`${setting('NUMBERS').split(',').length} contacts added`).waitFor();
  await to('button', 'Next');
  await press('Enter');
  await page.locator('[data-preflight]').waitFor();
  await to('button', 'Start');
  await press('Enter');

  // Watched, and stopped.
  await page.getByRole('heading', { level: 1, name: 'By keyboard', exact: true }).waitFor();
  await at('Start');
  await eventually('it dials', async () => (await figure(page, 'connected')) > 0);
  await to('button', 'Stop');
  await press('Enter');
  const question = page.getByRole('dialog');
  await question.waitFor();
  await eventually('a grave question begins at Cancel', () =>
    question.getByRole('button', { name: 'Cancel' }).evaluate((e) => e === document.activeElement),
  );
  // What a dialog was opened with has the focus again, also when the page is so busy that its timers are late.
  const back = async (name) => {
    const there = () =>
      page
        .getByRole('button', { name, exact: true })
        .first()
        .evaluate((e) => e === document.activeElement);
    await eventually(`the focus is back at ${name}`, there).catch(async (e) => {
      throw new Error(
        `${e.message}; it is at ${await page.evaluate(() => document.activeElement?.outerHTML.slice(0, 300))}`,
      );
    });
  };
  const atOnce = await page.evaluateHandle(() => window.setTimeout);
  for (const late of [false, true]) {
    if (late)
      await page.evaluate((set) => (window.setTimeout = (f, ms, ...args) => set(f, ms || 300, ...args)), atOnce);
    await press('Escape');
    await question.waitFor({ state: 'detached' });
    await back('Stop');
    await press('Enter');
    await question.waitFor();
    await eventually('a grave question begins at Cancel', () =>
      question.getByRole('button', { name: 'Cancel' }).evaluate((e) => e === document.activeElement),
    );
  }
  await page.evaluate((set) => (window.setTimeout = set), atOnce);
  for (
    let i = 0;
    i < 5 &&
    !(await question.getByRole('button', { name: 'Stop', exact: true }).evaluate((e) => e === document.activeElement));
    i++
  )
    await press('Tab');
  await press('Enter');
  await page.getByText('Reason: manually stopped.').waitFor();
  await at('the button that was pressed is gone');

  // However a dialog is closed: buttons, and menus whose choice opened it.
  const dialog = page.getByRole('dialog');
  const closed = async (name) => {
    await dialog.waitFor({ state: 'detached' });
    await back(name);
  };
  // What opens takes the focus a moment after it is there; what is pressed before that goes elsewhere.
  const within = (what) =>
    eventually('what opened has the focus', () => what.first().evaluate((e) => e.contains(document.activeElement)));
  const opened = async () => {
    await dialog.waitFor();
    await within(dialog);
  };
  const choose = async (menu, item) => {
    await to('button', menu);
    await press('Enter');
    await page.getByRole('menuitem', { name: item }).waitFor();
    await within(page.getByRole('menu'));
    for (
      let i = 0;
      i < 10 && !(await page.getByRole('menuitem', { name: item }).evaluate((e) => e === document.activeElement));
      i++
    )
      await press('ArrowDown');
  };
  const cancel = async () => {
    for (
      let i = 0;
      i < 20 && !(await dialog.getByRole('button', { name: 'Cancel' }).evaluate((e) => e === document.activeElement));
      i++
    )
      await press('Tab');
    await press('Enter');
  };
  await choose('More actions', 'Activity log');
  await press('Escape');
  await page.getByRole('menu').waitFor({ state: 'detached' });
  await back('More actions');
  for (const item of ['Activity log', 'Clone…']) {
    await choose('More actions', item);
    await press('Enter');
    await opened();
    await press('Escape');
    await closed('More actions');
  }
  const phone = await page
    .getByRole('table', { name: 'Contacts' })
    .getByRole('button', { name: /^\+/ })
    .first()
    .innerText();
  await page.getByRole('button', { name: phone, exact: true }).focus();
  await press('Enter');
  await opened();
  await press('Escape');
  await closed(phone);

  await page.goto(`${base}/dashboard/campaigns`);
  const menu = 'Actions for By keyboard';
  for (const end of [() => press('Escape'), cancel]) {
    await choose(menu, 'Clone…');
    await press('Enter');
    await opened();
    await end();
    await closed(menu);
  }
  await page.goto(`${base}/dashboard/suppressions`);
  const opener = 'Block numbers';
  await to('button', opener);
  for (const end of [() => press('Escape'), cancel]) {
    await press('Enter');
    await opened();
    await end();
    await closed(opener);
  }
  await press('Enter');
  await dialog.getByRole('textbox').first().waitFor();
  await eventually('the form begins at its field', () =>
    dialog
      .getByRole('textbox')
      .first()
      .evaluate((e) => e === document.activeElement),
  );
  await page.keyboard.type('+4915119990011');
  await dialog.getByRole('button', { name: 'Leave it alone' }).focus();
  await press('Enter');
  await closed(opener);
});
