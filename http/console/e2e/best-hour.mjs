// What the best hour gains in a campaign: the difference with its words, and the week of a country, for everybody.
import { join } from 'node:path';

import { accessible, eventually, fits, logIn, must, setting, withBrowser } from './browser.mjs';

const base = setting('DIALLER_URL');

await withBrowser(async (page) => {
  await page.goto(`${base}/dashboard/campaigns/${setting('CAMPAIGN')}`);
  await logIn(page);
  const said = page.locator('[data-difference]');
  await said.waitFor();
  const words = await said.innerText();
  const form = /^(\d+) dials: ([+−][0-9.]+ points, between [+−][0-9.]+ and [+−][0-9.]+: .+|nothing to compare yet)$/;
  must(form.exec(words)?.[1] === setting('DIALS'), `the difference is said as "${words}"`);
  const week = page.getByRole('table', { name: /Hours at which people answer: / });
  await week.waitFor();
  must((await week.locator('tbody tr').count()) === 7, 'a week has seven days');
  const dialled = week.locator('[data-dialled]');
  await eventually('an hour was dialled in', async () => (await dialled.count()) > 0);
  const first = await dialled.first().getAttribute('title');
  must(/day \d+:00: [0-9.]+\s%, \d+ dials?$/.test(first ?? ''), `the hour says "${first}"`);
  // The country with most dials is shown first; another one is chosen.
  await page.getByText('Germany: a person answered').waitFor();
  await page.getByRole('combobox', { name: 'Country' }).selectOption('France');
  await page.getByText('France: a person answered 840 of 2,100 dials (40.0').waitFor();
  must((await dialled.count()) === 7 * 10, 'France was dialled from 9 to 19 each day');
  await accessible(page, 'the best hour');
  if (process.env['SCREENSHOTS']) {
    await week.scrollIntoViewIfNeeded();
    await page.screenshot({ path: join(process.env['SCREENSHOTS'], 'best-hour.png') });
  }
  await page.setViewportSize({ width: 390, height: 800 });
  await fits(page, 'the best hour on a small screen');
});
