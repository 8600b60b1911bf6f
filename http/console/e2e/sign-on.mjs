// People log in by an identity provider, and by their passwords all the same.
import { accessible, logIn, must, setting, withBrowser } from './browser.mjs';

const base = setting('DIALLER_URL');
const issuer = new URL(setting('ISSUER')).origin;
const button = (page) => page.getByRole('link', { name: 'Log in with Company' });

async function leave(page, email) {
  await page.getByRole('button', { name: `User menu of ${email}` }).click();
  await page.getByRole('menuitem', { name: 'Log out' }).click();
  await page.getByRole('heading', { name: 'Log in to the dialler' }).waitFor();
}

await withBrowser(
  async (page, context) => {
    // The provider's pages for development ask another host for a font.
    await context.route(/fonts\.googleapis\.com/, (route) => route.fulfill({ contentType: 'text/css', body: '' }));
    await page.goto(`${base}/dashboard/calendars`); // the address stays over the log-in
    await button(page).waitFor();
    await accessible(page, 'the log-in page with a second way');
    await button(page).press('Enter'); // by the keyboard alone
    await page.locator('input[name=login]').fill('olga');
    await page.locator('input[name=password]').fill('whatever');
    await page.locator('[type=submit]').first().click();
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('heading', { level: 1, name: 'Calendars' }).waitFor();
    must(page.url() === `${base}/dashboard/calendars`, `the log-in led to ${page.url()}`);
    await leave(page, 'olga@example.org');

    // By the password of a local account.
    await logIn(page, setting('EMAIL'), setting('PASSWORD'));
    await leave(page, setting('EMAIL'));

    // Who is in no group of the dialler is told so, and finds the form.
    await context.clearCookies();
    await page.goto(`${base}/dashboard`);
    await button(page).click();
    await page.locator('input[name=login]').fill('nobody');
    await page.locator('input[name=password]').fill('whatever');
    await page.locator('[type=submit]').first().click();
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('alert').getByText('None of your groups may use the dialler').waitFor();
    await accessible(page, 'the log-in page with a refusal');
  },
  { others: [issuer, 'https://fonts.googleapis.com'] },
);
