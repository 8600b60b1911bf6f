// Verdicts of answer classification: an administrator hears calls and says who answered, by keys and by buttons; the
// matrix follows. An operator sees both and hears nothing.
import { readFileSync } from 'node:fs';

import { accessible, eventually, fits, logIn, must, setting, withBrowser } from './browser.mjs';

const base = setting('DIALLER_URL');

await withBrowser(async (page) => {
  await page.goto(`${base}/dashboard/amd-review`);
  await logIn(page);
  await page.getByRole('heading', { level: 1, name: 'AMD review' }).waitFor();
  const rows = page.locator('[data-review]');
  const count = Number(setting('REVIEWS'));
  await eventually('every verdict is listed', async () => (await rows.count()) === count);
  await page.getByText('Nothing is labelled yet.').waitFor();
  await page.getByRole('img', { name: 'Waveform of the callee' }).waitFor();
  await accessible(page, 'the page of verdicts');
  const ids = await rows.evaluateAll((list) => list.map((r) => r.getAttribute('data-review')));
  const heard = page.getByRole('group', { name: 'Hear the call and say who answered' });
  const current = () => heard.getAttribute('data-listen');
  const label = (id) => page.locator(`[data-review="${id}"]`).getAttribute('data-label');

  // It plays, from the row's button and by key.
  await page.getByRole('button', { name: `Listen to call ${ids[0].slice(-8)}` }).click();
  const audio = heard.locator('audio');
  await eventually('the audio is there', async () => (await audio.evaluate((a) => a.duration)) > 0.2);
  await audio.evaluate((a) => a.pause());
  await audio.evaluate((a) => (a.currentTime = 0));
  await heard.press('p');
  await eventually('it has been played', () => audio.evaluate((a) => !a.paused || a.ended || a.currentTime > 0));

  // A key labels and goes on to the next; another takes it back. Outside of the group keys do nothing.
  must((await current()) === ids[0], 'another call is heard than was chosen');
  await heard.press('h');
  await eventually('the label is kept', async () => (await label(ids[0])) === 'human');
  await eventually('the next call is heard', async () => (await current()) === ids[1]);
  await page.keyboard.press('z');
  await eventually(
    'the label is taken back',
    async () => (await label(ids[0])) === null && (await current()) === ids[0],
  );
  await page.getByRole('heading', { level: 1 }).click();
  await page.keyboard.press('m');
  must((await label(ids[0])) === null, 'a key outside of the group labels a call');
  await heard.press('H');
  await eventually('the label is kept', async () => (await label(ids[0])) === 'human');
  await eventually('the next call is heard', async () => (await current()) === ids[1]);
  await heard.press('j');
  await eventually('the third call is heard', async () => (await current()) === ids[2]);
  await heard.press('k');
  await eventually('back at the second call', async () => (await current()) === ids[1]);
  await heard.locator('[data-say="machine"]').click();
  await eventually('the label of the button is kept', async () => (await label(ids[1])) === 'machine');
  must(
    (await page.locator(`[data-review="${ids[1]}"]`).innerText()).includes(setting('EMAIL')),
    'who labelled is not shown',
  );

  // The matrix: by trunk and country, and label against verdict.
  const sum = page.locator(`[data-sum="${setting('TRUNK')} DE"]`);
  await eventually('the sums follow', async () => (await sum.getByRole('cell').nth(2).innerText()) === '2');
  must((await sum.innerText()).includes('Germany'), `the sums show ${await sum.innerText()}`);
  const matrix = page.getByRole('table', { name: 'Confusion matrix' });
  const cells = await matrix.locator('[data-heard="human"] [data-verdict]').allInnerTexts();
  must(
    cells.reduce((n, c) => n + Number(c), 0) === 1 && (await matrix.locator('[data-heard]').count()) === 2,
    `the matrix shows ${await matrix.innerText()}`,
  );
  await accessible(page, 'the matrix');
  await sum.getByRole('button').click();
  await eventually(
    'the address names trunk and country',
    () => page.url().includes(`trunk=${setting('TRUNK')}`) && page.url().includes('country=DE'),
  );
  await page.getByRole('button', { name: 'All trunks and countries' }).click();

  // Filters.
  const filter = async (name, option) => {
    await page.getByRole('combobox', { name }).click();
    await page.getByRole('option', { name: option }).click();
  };
  await filter('Label', 'Not labelled yet');
  await eventually('the labelled ones are gone', async () => (await rows.count()) === count - 2);
  await filter('Label', /^Labelled/);
  await eventually('only the labelled ones', async () => (await rows.count()) === 2);
  await filter('Verdict', 'Fax');
  await page.getByText('No call fits').waitFor();
  await filter('Verdict', 'All verdicts');
  await page.getByRole('combobox', { name: 'Campaign' }).click();
  await page.getByRole('option', { name: setting('CAMPAIGN_NAME') }).click();
  await eventually('those of the campaign', async () => (await rows.count()) === 2);

  // The labelled calls as a folder.
  const download = page.waitForEvent('download');
  await page.getByRole('link', { name: 'Export labelled calls' }).click();
  const file = readFileSync(await (await download).path());
  must(
    file.subarray(0, 2).toString() === 'PK' && file.includes('labels.csv') && file.includes(`${ids[0]}.wav`),
    'the export is no folder of the labelled calls',
  );

  await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' });
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(`${base}/dashboard/amd-review`);
  await page.getByRole('img', { name: 'Waveform of the callee' }).waitFor();
  await page.getByRole('table', { name: 'Confusion matrix' }).waitFor();
  await accessible(page, 'the page of verdicts on a small screen, in the dark');
  await fits(page, 'the page of reviews on a small screen');
  await page.setViewportSize({ width: 1440, height: 1000 });

  // Who is no administrator hears nobody.
  await page.getByRole('button', { name: /^User menu/ }).click();
  await page.getByRole('menuitem', { name: 'Log out' }).click();
  await logIn(page, setting('OPERATOR'));
  await page.getByText('An administrator hears the calls').waitFor();
  await eventually('the verdicts are listed', async () => (await rows.count()) === count);
  must(
    (await page.locator('audio').count()) === 0 &&
      (await page.getByRole('link', { name: 'Export labelled calls' }).count()) === 0,
    'an operator can hear calls',
  );
});
