// What an operator sees while the database is away: a banner on every page that says what it means, the campaigns as
// the dialler knows them, and why nothing is dialled. The test's own server takes the database away and gives it back.
import { accessible, eventually, logIn, must, setting, withBrowser } from './browser.mjs';

const dialler = setting('DIALLER_URL');
const campaign = setting('CAMPAIGN');

async function make(fault) {
  const answer = await fetch(`${setting('CONTROL')}/${fault}`, { method: 'POST' });
  must(answer.ok, `the test did not make it ${fault}`);
}

await withBrowser(
  async (page) => {
    await page.goto(`${dialler}/dashboard/campaigns`);
    await logIn(page);
    await page.getByText(setting('CAMPAIGN_NAME')).first().waitFor();
    const banner = page.locator('[data-trouble="database"]');
    must((await banner.count()) === 0, 'the banner is there though nothing is wrong');

    await make('down');
    await banner.waitFor();
    for (const part of [
      'The database is away',
      'Calls in progress go on',
      'No new call is placed',
      'Since ',
      'cannot be reached',
    ])
      await banner.getByText(part).first().waitFor();
    must((await page.locator('[role="status"]', { has: banner }).count()) > 0, 'a screen reader is not told');
    await accessible(page, 'the list with the banner');

    // The pages go on with what the dialler knows by itself.
    await page.goto(`${dialler}/dashboard/campaigns/${campaign}`);
    await page.getByText('No call is placed whose intent cannot be stored').first().waitFor();
    await banner.waitFor();
    await page.goto(`${dialler}/dashboard/campaigns`);
    await page.getByText(setting('CAMPAIGN_NAME')).first().waitFor();

    await make('up');
    await eventually('the banner goes', async () => (await banner.count()) === 0);
    await page.goto(`${dialler}/dashboard/campaigns/${campaign}`);
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('button', { name: 'Resume' }).waitFor();
  },
  { expected: (text) => text.includes('503') },
);
