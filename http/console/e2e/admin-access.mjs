// What an administrator does about who may come in: keys of other systems, users, the own password. And what those see
// who are no administrators.
import { accessible, fits, logIn, must, setting, withBrowser } from './browser.mjs';

const base = setting('DIALLER_URL');
const password = setting('PASSWORD');
const another = 'quite another password';

/** asWhoever logs out and in again. */
async function asWhoever(page, email, secret) {
  await page.getByRole('button', { name: /^User menu/ }).click();
  await page.getByRole('menuitem', { name: 'Log out' }).click();
  await logIn(page, email, secret);
  await page.getByRole('button', { name: `User menu of ${email}` }).waitFor();
}

/** titles gives what the navigation offers. */
const titles = (page) => page.getByRole('navigation', { name: 'Console' }).getByRole('link').allInnerTexts();

/** withKey makes a request as an external system does. */
const withKey = (key) => fetch(`${base}/api/v1/campaigns/${setting('CAMPAIGN')}`, { headers: { 'X-API-Key': key } });

async function keys(page, dialog) {
  await page.getByRole('link', { name: 'API keys' }).click();
  await page.getByRole('heading', { level: 1, name: 'API keys' }).waitFor();
  await accessible(page, 'the page of keys');
  await page.getByRole('button', { name: 'New API key' }).click();
  await dialog.getByLabel('Name').fill('Front office');
  await accessible(page, 'the form of a key');
  const box = (name) => dialog.getByRole('checkbox', { name, exact: true });
  // Nothing ticked is refused at its field.
  for (const scope of ['Dialout', 'Trigger', 'Exclude']) await box(scope).uncheck();
  await dialog.getByRole('button', { name: 'Make the key' }).click();
  await dialog.getByText('Choose at least one.').waitFor();
  // What includes another ticks it, and unticked gives it up again.
  await box('Trunks').check();
  must(await box('Trunks, read only').isChecked(), 'an included scope is not ticked');
  await box('Trunks').uncheck();
  must(!(await box('Trunks, read only').isChecked()), 'an included scope stays ticked');
  await box('Read').check();
  await dialog.getByLabel('Expires').fill('2000-01-01T10:00');
  await dialog.getByRole('button', { name: 'Make the key' }).click();
  const key = await dialog.locator('[data-secret]').innerText();
  must(/^vx_[A-Za-z0-9]{32}$/.test(key), `the key is shown as ${key}`);
  await dialog.getByRole('button', { name: 'Copy the key' }).waitFor();
  await accessible(page, 'a key, shown once');
  await page.keyboard.press('Escape'); // by mistake: the key stays
  await dialog.getByText('It is shown this one time').waitFor();
  await dialog.getByRole('button', { name: 'I have stored it' }).click();
  await dialog.waitFor({ state: 'detached' });

  const row = page.getByRole('row', { name: /Front office/ });
  must(
    (await row.innerText()).includes(key.slice(0, 7)) && !(await page.content()).includes(key),
    'the key is not masked',
  );
  await row.getByText('Expired').waitFor();
  must((await withKey(key)).status === 401, 'an expired key is accepted');

  // Without an end it works, until it is deactivated.
  const act = async (item) => {
    await row.getByRole('button', { name: 'Actions for Front office' }).click();
    await page.getByRole('menuitem', { name: item }).click();
  };
  await act('Change…');
  must(
    (await dialog.getByLabel('Expires').inputValue()) === '2000-01-01T10:00',
    'the form does not show the expiry by the clock of who looks',
  );
  await dialog.getByLabel('Expires').fill('');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await row.getByText('Active', { exact: true }).waitFor();
  must((await withKey(key)).status === 200, 'the key is refused');
  // Another secret: both are valid, until the first is said to end at once.
  await act('New secret…');
  await accessible(page, 'the question before a new secret');
  await dialog.getByRole('button', { name: 'Make a new secret' }).click();
  const second = await dialog.locator('[data-secret]').innerText();
  await dialog.getByRole('button', { name: 'I have stored it' }).click();
  await row.getByText('the old secret until').waitFor();
  must((await withKey(key)).status === 200, 'the old secret is refused');
  must((await withKey(second)).status === 200, 'the new secret is refused');
  await page.reload();
  await row.getByRole('switch').press('Space'); // by the keyboard alone
  await dialog.getByText('are refused (401)').waitFor();
  await dialog.getByRole('button', { name: 'Deactivate' }).click();
  await row.getByText('Inactive').waitFor();
  must((await withKey(second)).status === 401, 'a deactivated key is accepted');
  await act('Delete…');
  await dialog.getByRole('button', { name: 'Delete the key' }).click();
  await row.waitFor({ state: 'detached' });
}

async function users(page, dialog, admin) {
  await page.getByRole('link', { name: 'Users' }).click();
  const self = page.getByRole('row', { name: admin });
  await self.getByText('you').waitFor();
  await accessible(page, 'the page of users');
  const ask = async (email, item) => {
    await page.getByRole('button', { name: `Actions for ${email}` }).click();
    await page.getByRole('menuitem', { name: item }).click();
  };

  const roleOf = async (email, role) => {
    await ask(email, 'Change the role…');
    await dialog.getByRole('radio', { name: role }).check();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('row', { name: email }).getByText(role).waitFor();
    await dialog.waitFor({ state: 'detached' });
  };

  // The last administrator stays one: the server's words are shown.
  await roleOf(setting('FIRST'), 'Operator');
  await ask(admin, 'Deactivate…');
  await dialog.getByRole('button', { name: 'Deactivate' }).click();
  await dialog.getByRole('alert').getByText('administrator').waitFor();
  await dialog.getByRole('button', { name: 'Close' }).last().click();
  await roleOf(setting('FIRST'), 'Administrator');

  await page.getByRole('button', { name: 'Add a user' }).click();
  await dialog.getByLabel('E-mail').fill('nina@example.org');
  await dialog.getByLabel('Password', { exact: true }).fill('short');
  await dialog.getByRole('button', { name: 'Add' }).click();
  await dialog.getByText('Must have at least 12 characters').waitFor();
  await dialog.getByLabel('Password', { exact: true }).fill('');
  await dialog.getByRole('button', { name: 'Add' }).click();
  const generated = await dialog.locator('[data-secret]').innerText();
  await dialog.getByRole('button', { name: 'I have stored it' }).click();
  const row = page.getByRole('row', { name: 'nina@example.org' });
  await row.getByText('Operator').waitFor();

  await roleOf('nina@example.org', 'Viewer');
  return generated;
}

await withBrowser(
  async (page) => {
    const dialog = page.getByRole('dialog');
    const admin = setting('EMAIL');
    await page.goto(`${base}/dashboard/users`); // the address stays over the log-in
    await logIn(page, admin, password);
    await page.getByRole('heading', { level: 1, name: 'Users' }).waitFor();
    await keys(page, dialog);
    const generated = await users(page, dialog, admin);

    // The new one has the generated password, sees no page of administration, and is told why by a link to one.
    await asWhoever(page, 'nina@example.org', generated);
    await page.getByText('This page needs the role Administrator').waitFor();
    await page.getByText('the role Viewer').waitFor();
    await accessible(page, 'a page that the role does not include');
    const offered = await titles(page);
    must(
      !offered.some((t) => ['API keys', 'Users', 'Trunks', 'Webhooks'].includes(t.trim())),
      `a viewer is offered ${offered.join(', ')}`,
    );
    await page.getByRole('button', { name: /^User menu/ }).click();
    await page.getByRole('menuitem', { name: 'Change password…' }).click();
    await dialog.getByLabel('Current password').fill('not that one');
    await dialog.getByLabel('The new one', { exact: true }).fill(another);
    await dialog.getByLabel('The new one again').fill('something else');
    await dialog.getByRole('button', { name: 'Change' }).click();
    await dialog.getByText('It differs from the one above.').waitFor();
    await dialog.getByLabel('The new one again').fill(another);
    await dialog.getByRole('button', { name: 'Change' }).click();
    await dialog.getByText('Is not your current password').waitFor();
    await accessible(page, 'the form of the own password');
    await dialog.getByLabel('Current password').fill(generated);
    await dialog.getByRole('button', { name: 'Change' }).click();
    await page.getByRole('heading', { name: 'Log in to the dialler' }).waitFor();
    await logIn(page, 'nina@example.org', another);
    await page.getByRole('button', { name: 'User menu of nina@example.org' }).waitFor();

    // Deactivated, and out.
    await asWhoever(page, admin, password);
    await page.goto(`${base}/dashboard/users`);
    await page.getByRole('button', { name: 'Actions for nina@example.org' }).click();
    await page.getByRole('menuitem', { name: 'Deactivate…' }).click();
    await dialog.getByRole('button', { name: 'Deactivate' }).click();
    await page.getByRole('row', { name: 'nina@example.org' }).getByText('Deactivated').waitFor();
    await asWhoeverFails(page);

    // In the dark, and on a small screen.
    await logIn(page, admin, password);
    await page.getByRole('button', { name: `User menu of ${admin}` }).waitFor();
    await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' });
    await page.goto(`${base}/dashboard/api-keys`);
    await page.getByRole('heading', { name: 'API keys' }).waitFor();
    await accessible(page, 'the page of keys in the dark');
    await page.setViewportSize({ width: 390, height: 800 });
    await page.goto(`${base}/dashboard/users`);
    await page.getByRole('row', { name: admin }).waitFor();
    await accessible(page, 'the page of users on a small screen');
    await fits(page, 'the page of users on a small screen');
  },
  { expected: (text) => ['401', '409', '422'].some((status) => text.includes(status)) },
);

/** asWhoeverFails tries to log in as the one who was deactivated. */
async function asWhoeverFails(page) {
  await page.getByRole('button', { name: /^User menu/ }).click();
  await page.getByRole('menuitem', { name: 'Log out' }).click();
  await logIn(page, 'nina@example.org', another);
  await page.getByRole('alert').getByText('do not belong together').waitFor();
}
