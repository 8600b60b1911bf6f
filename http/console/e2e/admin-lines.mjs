// What an administrator does about the lines: trunks with a test call, numbers with a quarantine, bots.
import { accessible, logIn, must, setting, withBrowser } from './browser.mjs';

const base = setting('DIALLER_URL');

/** ask chooses an action of a row's menu. */
async function ask(page, what, item) {
  await page.getByRole('button', { name: `Actions for ${what}` }).click();
  await page.getByRole('menuitem', { name: item }).click();
}

async function trunks(page, dialog) {
  const trunk = setting('TRUNK');
  const row = page.getByRole('row', { name: trunk });
  await row.getByText('Up', { exact: true }).waitFor();
  await accessible(page, 'the page of trunks');

  // One call over this trunk alone, followed to its end.
  await ask(page, trunk, 'Test call…');
  await dialog.getByLabel('Number to call').fill('12');
  await dialog.getByLabel('Bot').click();
  await page.getByRole('option', { name: setting('BOT') }).click();
  await dialog.getByRole('button', { name: 'Call', exact: true }).click();
  const refused = dialog.getByLabel('Number to call');
  await dialog.locator('[aria-invalid="true"]').waitFor();
  await refused.fill(setting('TO'));
  await accessible(page, 'the form of a test call');
  await dialog.getByRole('button', { name: 'Call', exact: true }).click();
  await dialog.getByText('INVITE').first().waitFor();
  await dialog
    .getByRole('status')
    .getByText(/Completed|Connected, no result|Hang/)
    .first()
    .waitFor();
  await dialog.getByRole('status').getByText(`over ${trunk}`).waitFor();
  await accessible(page, 'a test call and its SIP messages');
  await dialog.getByRole('button', { name: 'Close' }).last().click();

  // A new one: mistakes stand at their fields, also those behind More settings.
  await page.getByRole('button', { name: 'New trunk' }).click();
  await dialog.getByLabel('Name', { exact: true }).fill('spare');
  await dialog.getByLabel('Host', { exact: true }).fill('sip.example.org');
  await dialog.getByRole('button', { name: 'More settings' }).click();
  await dialog.getByLabel('Further headers').fill('Via: elsewhere');
  await accessible(page, 'the form of a trunk');
  await dialog.getByRole('button', { name: 'More settings' }).click();
  await dialog.getByRole('switch', { name: 'Active' }).press('Space');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.getByLabel('Further headers').and(page.locator('[aria-invalid="true"]')).waitFor();
  await dialog.getByLabel('Further headers').fill('X-Account: 42');
  await dialog.getByRole('button', { name: 'Save' }).click();
  const spare = page.getByRole('row', { name: 'spare' });
  await spare.getByText('Off').waitFor();
  await ask(page, 'spare', 'Change…');
  await dialog.getByRole('button', { name: 'More settings' }).click();
  must((await dialog.getByLabel('Further headers').inputValue()) === 'X-Account: 42', 'the form lost the header');
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await ask(page, 'spare', 'Delete…');
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await spare.waitFor({ state: 'detached' });
}

async function numbers(page, dialog) {
  await page.getByRole('link', { name: 'Numbers' }).click();
  const number = setting('NUMBER');
  const row = page.getByRole('row', { name: number });
  await row.getByText('Active').waitFor();
  await accessible(page, 'the page of numbers');
  await ask(page, number, 'Change…');
  await dialog.getByLabel('Calls in an hour').fill('500');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await row.getByText('/ 500').waitFor();
  await ask(page, number, 'Quarantine…');
  await dialog.getByRole('button', { name: 'Quarantine' }).click();
  await row.getByText('Quarantined').waitFor();
  await ask(page, number, 'Lift the quarantine…');
  await dialog.getByRole('button', { name: 'Use it again' }).click();
  await row.getByText('Active').waitFor();
  await row.getByText('/ 500').waitFor();
}

async function bots(page, dialog) {
  await page.getByRole('link', { name: 'Bots' }).click();
  await page
    .getByRole('row', { name: setting('BOT') })
    .getByText('Up', { exact: true })
    .waitFor();
  await accessible(page, 'the page of bots');
  await page.getByRole('button', { name: 'New bot' }).click();
  await dialog.getByLabel('Identifier').fill('second');
  await dialog.getByLabel('Name', { exact: true }).fill('Berta');
  await dialog.getByLabel('Endpoints').fill('https://not.a.socket');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.getByLabel('Endpoints').and(page.locator('[aria-invalid="true"]')).waitFor();
  await accessible(page, 'the form of a bot with a mistake');
  await dialog.getByLabel('Endpoints').fill('ws://127.0.0.1:9/calls');
  await dialog.getByLabel('Headers of our requests').fill('Authorization: Bearer s3cret');
  await dialog.getByLabel('Health URL', { exact: true }).fill('/health');
  await dialog.getByRole('switch', { name: 'Active' }).press('Space');
  await dialog.getByRole('button', { name: 'Save' }).click();
  const row = page.getByRole('row', { name: 'Berta' });
  await row.getByText('Off').waitFor();
  await ask(page, 'Berta', 'Change…');
  const headers = await dialog.getByLabel('Headers of our requests').inputValue();
  const health = await dialog.getByLabel('Health URL', { exact: true }).inputValue();
  if (headers !== 'Authorization' || health !== '/health') throw new Error(`the form shows ${headers} and ${health}`);
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.waitFor({ state: 'detached' });
  await ask(page, 'Berta', 'Delete…');
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await row.waitFor({ state: 'detached' });
}

await withBrowser(
  async (page) => {
    const dialog = page.getByRole('dialog');
    await page.goto(`${base}/dashboard/trunks`);
    await logIn(page);
    await page.getByRole('heading', { level: 1, name: 'Trunks' }).waitFor();
    await trunks(page, dialog);
    await numbers(page, dialog);
    await bots(page, dialog);
    await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' });
    await page.setViewportSize({ width: 390, height: 800 });
    await page.goto(`${base}/dashboard/trunks`);
    await page.getByRole('row', { name: setting('TRUNK') }).waitFor();
    await accessible(page, 'the page of trunks on a small screen in the dark');
  },
  { expected: (text) => ['401', '422'].some((status) => text.includes(status)) },
);
