// What the page of a campaign at work tells of how it works: what binds, how much of everything is taken, the room that
// the abandon cap leaves, how calls end, how the numbers fare, how soon callees hear the bot, and the run over its
// time.
import { accessible, eventually, fits, figure, logIn, must, setting, withBrowser } from './browser.mjs';

const base = setting('DIALLER_URL');
const address = `${base}/dashboard/campaigns/${setting('CAMPAIGN')}`;

const text = async (at) => (await at.innerText()).replaceAll(/\s+/g, ' ');

/** drawn says whether a plot has lines on its canvas. */
const drawn = (page, plot) =>
  page.locator(`[data-plot="${plot}"] canvas`).evaluate((c) => {
    const { data } = c.getContext('2d').getImageData(0, 0, c.width, c.height);
    const colours = new Set();
    for (let i = 0; i < data.length; i += 4)
      if (data[i + 3] > 200) colours.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
    return colours.size;
  });

await withBrowser(async (page) => {
  const asked = [];
  page.on('request', (r) => asked.push(r.url()));
  const drawing = () => asked.some((u) => /\/assets\/charts-.*\.js$/.test(u));
  await page.goto(`${base}/dashboard/campaigns`);
  await logIn(page);
  await page.locator(`[data-campaign="${setting('CAMPAIGN')}"]`).waitFor();
  must(!drawing(), 'what draws charts is loaded with the list');
  await page.goto(address);

  // What binds, with its figures, and the same on the bar.
  const all = `${setting('CHANNELS')} of ${setting('CHANNELS')}`;
  await page.locator('[data-constraint="trunk_channels"]').waitFor();
  await eventually('the reason has its figures', async () =>
    (await text(page.locator('[data-constraint]'))).includes(`${all} are in use.`),
  );
  const meter = (name) => page.locator(`[data-meter="${name}"]`);
  await eventually('the bar marks what binds', async () => {
    const t = await text(meter('trunk_channels'));
    return t.includes('limiting') && t.includes(all);
  });
  await eventually('a screen reader is told', async () =>
    (await page.getByRole('meter', { name: 'Channels' }).getAttribute('aria-valuetext')).includes('limiting'),
  );
  must(/[0-5] of 5$/.test(await text(meter('seats'))), `seats: ${await text(meter('seats'))}`);
  await eventually('the calls a second are counted', async () =>
    /(0\.[1-9]|[1-9]\d*\.\d) of \d/.test(await text(meter('trunk_cps'))),
  );
  must((await text(meter('numbers'))).endsWith('0 of 1'), `numbers: ${await text(meter('numbers'))}`);

  // The room that the abandon cap leaves.
  must((await text(meter('abandon_run'))).includes('of 3 %'), `gauge: ${await text(meter('abandon_run'))}`);
  for (const period of ['abandon_day', 'abandon_30_day']) await meter(period).waitFor();
  await eventually(
    'the credits are shown',
    async () => (await figure(page, 'credit_free')) !== null && (await figure(page, 'credit_held')) !== null,
  );

  // How calls end, by the carrier's code and our outcome. What nobody sees is not asked for again, and the first calls
  // of the run may all have been of one kind.
  await page.getByText('How calls ended', { exact: true }).scrollIntoViewIfNeeded();
  const row = (code) => page.locator(`[data-cause="${code}"]`);
  await row('486 busy').getByText('Busy Here').waitFor();
  await row('200 completed').getByText('Completed').waitFor();
  must(/ [1-9]\d* \d+\.\d %$/.test(await text(row('486 busy'))), `a cause shows ${await text(row('486 busy'))}`);
  const number = page.locator(`[data-number="${setting('FROM')}"]`);
  must(/Active [1-9]\d* [1-9]\d*\.\d %$/.test(await text(number)), `a number shows ${await text(number)}`);
  must(
    /^\d+ ms$|^[\d.]+ s$/.test(await text(page.locator('[data-figure="heard_half"]'))),
    'how soon callees hear the bot is not shown',
  );
  must(
    (await page
      .getByRole('list', { name: /^Calls by the time/ })
      .getByRole('listitem')
      .count()) === 13,
    'the histogram is not whole',
  );

  // The run over its time, and going on by itself. What nobody sees is not drawn anew.
  await page.locator('[data-plot="dials"]').scrollIntoViewIfNeeded();
  for (const name of ['dials', 'calls', 'rates', 'abandons']) {
    await page.locator(`[data-plot="${name}"] canvas`).waitFor();
    await eventually(`${name} are drawn`, async () => (await drawn(page, name)) > 3);
  }
  must(drawing(), 'the charts are drawn by something else');
  const points = async () => Number(await page.locator('[data-plot="calls"]').getAttribute('data-points'));
  await page.locator('[data-plot="calls"]').scrollIntoViewIfNeeded();
  const before = await points();
  await eventually('live points are added', async () => (await points()) > before);
  must(/[1-9]\d* dials, at most \d/.test(await text(page.locator('[data-summary]'))), 'the charts have no words');
  await page.getByText('Show as a table').focus();
  await page.keyboard.press('Enter');
  const table = page.getByRole('table', { name: 'The run over its time' });
  await table.waitFor();
  const rows = await table.getByRole('row').count();
  must(rows > 1 && rows <= 25, `the table has ${rows} rows`);
  await page.getByRole('radiogroup', { name: 'Time shown' }).getByText('15 min').click();
  await page.locator('[data-plot="calls"] canvas').waitFor();

  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 900 });
    for (const scheme of ['light', 'dark']) {
      await page.evaluate((s) => document.documentElement.setAttribute('data-mantine-color-scheme', s), scheme);
      if ((width === 390) === (scheme === 'dark'))
        await accessible(page, `the campaign page with its charts, ${width} px, ${scheme}`);
      await fits(page, `the campaign page with its charts, ${width} px, ${scheme},`);
      if (process.env['SCREENSHOTS'])
        await page.screenshot({ path: `${process.env['SCREENSHOTS']}/charts-${width}-${scheme}.png`, fullPage: true });
    }
  }

  // A run before.
  await page.getByRole('combobox', { name: 'Run' }).selectOption('1');
  await page
    .getByText(`${setting('BEFORE')} calls`, { exact: true })
    .first()
    .waitFor();
  must(
    (await page.getByRole('radiogroup', { name: 'Time shown' }).count()) === 0,
    'a run that is over has a last hour',
  );
  await page.locator('[data-plot="dials"] canvas').waitFor();
});
