// A call back, from the number that answers with a message of ours to the call in the lists: the form chooses the
// message, then the person calls, and is seen in the list of calls, on the call's page and in the contact's trail.
import { accessible, eventually, fits, logIn, must, setting, withBrowser } from './browser.mjs';

const base = setting('DIALLER_URL');
const [number, caller] = [setting('NUMBER'), setting('CALLER')];

await withBrowser(
  async (page) => {
    const dialog = page.getByRole('dialog');
    await page.goto(`${base}/dashboard/numbers`);
    await logIn(page);
    const change = async () => {
      await page.getByRole('button', { name: `Actions for ${number}` }).click();
      await page.getByRole('menuitem', { name: 'Change…' }).click();
    };
    const choose = async (field, option) => {
      await dialog.getByRole('combobox', { name: field }).click();
      await page.getByRole('option', { name: option }).click();
    };

    // A message that is gone by the time it is saved is refused at its field; another one is kept.
    await change();
    await choose('Who calls it', 'Hears a message');
    await choose('Message', 'Old greeting');
    const gone = await page.request.delete(`${base}/api/v1/voicemails/${setting('GONE')}`, {
      headers: { Authorization: `Bearer ${setting('TOKEN')}` },
    });
    must(gone.status() === 204, `the message is not deleted: ${gone.status()}`);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText('does not exist').waitFor();
    await accessible(page, 'the form of a number with a message that is gone');
    await choose('Message', 'We called you');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    await change();
    const kept = dialog.getByRole('combobox', { name: 'Message' });
    await eventually('the form has the message', async () => (await kept.inputValue()) === 'We called you');
    await dialog.getByRole('button', { name: 'Cancel' }).click();

    // They call: the one we called, and somebody without a number.
    const called = await fetch(setting('CONTROL'));
    must(called.ok, `they did not call: ${called.status}`);
    await page.getByRole('link', { name: 'Calls', exact: true }).click();
    const calls = page.getByRole('table', { name: 'Calls' });
    const rows = calls.locator('[data-call]');
    await eventually('all calls are listed', async () => (await rows.count()) === 3);
    await rows.filter({ hasText: 'Outbound' }).waitFor();
    await accessible(page, 'the calls');
    await page.getByRole('combobox', { name: 'Direction' }).click();
    await page.getByRole('option', { name: 'Inbound' }).click();
    await eventually('only the calls that came in are listed', async () => (await rows.count()) === 2);
    must((await calls.locator('[data-direction="inbound"] svg').count()) === 2, 'there is no arrow');
    await rows.filter({ hasText: 'number withheld' }).waitFor();
    must(new URL(page.url()).search === '?direction=inbound', `the address is ${page.url()}`);

    // The call's page says which call it returns, and leads there.
    const theirs = rows.filter({ hasText: caller });
    await theirs.getByText('Completed').waitFor();
    await theirs.getByRole('link').click();
    await page.getByRole('heading', { level: 1, name: `Call from ${caller}` }).waitFor();
    await page.locator('[data-direction="inbound"]', { hasText: 'Inbound' }).waitFor();
    await accessible(page, 'a call that came in');
    await page.setViewportSize({ width: 390, height: 800 });
    await fits(page, 'a call on a small screen');
    await page.setViewportSize({ width: 1440, height: 1000 });
    await page.getByRole('link', { name: /^call …/ }).click();
    await page.getByRole('heading', { level: 1, name: `Call to ${caller}` }).waitFor();
    await page.locator('[data-direction="outbound"]', { hasText: 'Outbound' }).waitFor();

    // The contact's trail has it behind the attempt.
    await page.getByRole('link', { name: 'Its campaign' }).click();
    const contact = page.locator(`[data-contact="${caller}"]`);
    await contact.getByRole('img', { name: 'Inbound' }).waitFor();
    must((await contact.locator('[data-attempt]').count()) === 2, 'the trail does not have both calls');
    must((await contact.locator('[data-figure="attempts"]').innerText()) === '1/1', 'a call back counts as an attempt');
    await contact.getByRole('button', { name: caller, exact: true }).click();
    const drawer = page.getByRole('dialog', { name: 'Contact' });
    const titles = drawer.locator('[data-attempt-detail]');
    await eventually('the trail has both calls', async () => (await titles.count()) === 2);
    await titles.first().getByRole('button', { name: 'Call back' }).waitFor();
    await titles.last().getByRole('button', { name: 'Attempt 1' }).waitFor();
    await accessible(page, 'a contact who called back');
  },
  { expected: (text) => text.includes('422') },
);
