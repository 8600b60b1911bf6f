// What fits on a screen: a list of many campaigns on a desk, a wall of those that dial, and one of them on a phone.
import { accessible, eventually, logIn, must, setting, withBrowser } from './browser.mjs';

const at = (path) => `${setting('DIALLER_URL')}/dashboard${path}`;
const dialling = Number(setting('DIALLING'));

/** seen counts the elements that are whole in the window as it stands. */
const seen = (found) =>
  found.evaluateAll(
    (list) =>
      list.filter((e) => {
        const { top, bottom, left, right, height } = e.getBoundingClientRect();
        return height > 0 && top >= 0 && left >= 0 && bottom <= window.innerHeight && right <= window.innerWidth;
      }).length,
  );

async function shot(page, name) {
  if (process.env['SCREENSHOTS']) await page.screenshot({ path: `${process.env['SCREENSHOTS']}/crowd-${name}.png` });
}

await withBrowser(async (page) => {
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.goto(at('/campaigns'));
  await logIn(page);
  const rows = page.locator('main [data-campaign]');
  await rows.first().waitFor();
  await page.locator('[data-link="live"]').waitFor();
  await shot(page, 'list');
  must((await seen(rows)) >= 18, `${await seen(rows)} campaigns are seen on a desk`);
  for (let i = 0; i < Math.min(18, dialling); i++)
    must(/Running/.test(await rows.nth(i).innerText()), `what dials does not stand first: row ${i + 1}`);

  await page.setViewportSize({ width: 1920, height: 1080 });
  await page.goto(at('/wall'));
  const tiles = page.locator('main [data-campaign]');
  await eventually('a tile for each', async () => (await tiles.count()) === dialling);
  await shot(page, 'wall');
  must((await seen(tiles)) === dialling, `${await seen(tiles)} of ${dialling} tiles are seen on a wall`);
  const scrolls = await page.evaluate(() => document.documentElement.scrollHeight > window.innerHeight);
  must(!scrolls, 'the wall has a scroll bar');
  await accessible(page, 'a wall of many');

  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(at(`/campaigns/${setting('CAMPAIGN')}`));
  const main = page.locator('main');
  for (const [what, found] of [
    ['its state', main.getByText('Running', { exact: true }).first()],
    ['its reason', main.locator('[data-standing]').first()],
    ['Pause', main.getByRole('button', { name: 'Pause' })],
  ]) {
    await found.waitFor();
    await shot(page, 'phone');
    must((await seen(found)) === 1, `on a phone one has to scroll for ${what}`);
  }
  const wide = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
  must(!wide, 'the page is wider than a phone');
});
