// What an operator does to one contact, in the drawer: promise a call at a time, have it retried, exclude it; each with
// what the dialler refuses. The campaign is paused: nothing happens by itself.
import { accessible, eventually, logIn, must, setting, withBrowser } from './browser.mjs';

const base = setting('DIALLER_URL');
const id = setting('CAMPAIGN');
const [waiting, ended] = [setting('WAITING'), setting('ENDED')];

await withBrowser(
  async (page) => {
    await page.goto(`${base}/dashboard/campaigns/${id}`);
    await logIn(page);
    const drawer = page.getByRole('dialog', { name: 'Contact' });
    const open = async (number) => {
      await page.getByRole('table', { name: 'Contacts' }).getByRole('button', { name: number, exact: true }).click();
      await drawer.getByRole('heading', { level: 2, name: number }).waitFor();
    };
    const question = (name) => page.getByRole('dialog', { name });
    const explained = (code) => drawer.locator(`[data-explain="${code}"]`).waitFor();

    // Called back at a time: the clock is named, a time that has gone is refused at its field.
    await open(waiting);
    await explained('paused');
    await drawer.getByText(`${setting('OTHER')}, office`).waitFor();
    await drawer.getByText('number 1 of 2 is called next').waitFor();
    await drawer.getByRole('button', { name: 'Call back at…' }).click();
    const callBack = question(`Call ${waiting} back?`);
    const when = callBack.getByLabel('When, by your clock (Europe/Berlin)');
    must(
      /In UTC, the campaign’s zone: /.test(await callBack.innerText()),
      `the other clock is not named: ${await callBack.innerText()}`,
    );
    await callBack.getByText('somebody resumes it').waitFor();
    await accessible(page, 'the question when to call back');
    await when.fill('2020-01-01T10:00');
    await callBack.getByRole('button', { name: 'Schedule callback' }).click();
    await callBack.getByText('is in the past').waitFor();
    const day = new Date(Date.now() + 26 * 3_600_000);
    const two = (n) => String(n).padStart(2, '0');
    const wanted = `${day.getFullYear()}-${two(day.getMonth() + 1)}-${two(day.getDate())}T10:30`;
    await when.fill(wanted);
    await callBack.getByRole('button', { name: 'Schedule callback' }).click();
    await callBack.waitFor({ state: 'detached' });
    await drawer.getByText('Callback pending').waitFor();
    const seen = await (
      await page.request.get(`${base}/api/v1/campaigns/${id}/contacts?number=${encodeURIComponent(waiting)}`)
    ).json();
    const at = new Date(seen.contacts[0].callback.at);
    const berlin = new Intl.DateTimeFormat('sv-SE', {
      timeZone: 'Europe/Berlin',
      dateStyle: 'short',
      timeStyle: 'short',
    })
      .format(at)
      .replace(' ', 'T');
    must(berlin === wanted, `it is promised for ${berlin} by the clock of who looks, not ${wanted}`);

    // Retried: its callback comes now.
    await drawer.getByRole('button', { name: 'Retry now' }).click();
    const retry = question(`Retry ${waiting} now?`);
    await retry.getByText('The callback that it waits for comes now').waitFor();
    await retry.getByRole('button', { name: 'Retry now' }).click();
    await retry.waitFor({ state: 'detached' });
    await explained('paused');

    // Excluded, with a reason; then there is nothing left to do.
    await drawer.getByRole('button', { name: 'Exclude…' }).click();
    const exclude = question(`Exclude ${waiting}?`);
    await exclude.getByLabel('Reason').fill('moved away');
    await accessible(page, 'the question before an exclusion');
    await exclude.getByRole('button', { name: 'Exclude' }).click();
    await exclude.waitFor({ state: 'detached' });
    await explained('excluded');
    await drawer.getByText('moved away').waitFor();
    must(
      (await drawer.getByRole('group', { name: 'What to do with this contact' }).count()) === 0,
      'an excluded contact can be called',
    );
    await accessible(page, 'an excluded contact');
    await page.keyboard.press('Escape');
    await drawer.waitFor({ state: 'detached' });

    // A final one is reopened. Meanwhile somebody else stops the campaign: the refusal is shown.
    await open(ended);
    await drawer.getByRole('button', { name: 'Retry now' }).click();
    const reopen = question(`Retry ${ended} now?`);
    await reopen.getByText('it starts over with all its attempts').waitFor();
    await reopen.getByRole('button', { name: 'Retry now' }).click();
    await reopen.waitFor({ state: 'detached' });
    await eventually('it has no attempts used', async () => (await drawer.innerText()).includes(`0/${setting('MAX')}`));
    await drawer.getByRole('button', { name: 'Retry now' }).click();
    await fetch(setting('CONTROL')); // stops the campaign
    await reopen.getByRole('button', { name: 'Retry now' }).click();
    await reopen.getByText('this one is completed').waitFor();
    await reopen.getByRole('button', { name: 'Close' }).last().click();
    await eventually(
      'only Exclude is left',
      async () =>
        (await drawer.getByRole('button', { name: 'Retry now' }).count()) === 0 &&
        (await drawer.getByRole('button', { name: 'Exclude…' }).count()) === 1,
    );
    await page.keyboard.press('Escape');
    await drawer.waitFor({ state: 'detached' });

    // Who did it stands in the log.
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Activity log' }).click();
    const log = page.getByRole('dialog', { name: 'Activity log' });
    await log.getByText('Everything').click();
    for (const action of ['exclude_contact', 'call_back_contact', 'retry_contact']) {
      const entry = log.locator(`[data-action="${action}"]`).first();
      await entry.waitFor();
      must((await entry.innerText()).includes(setting('EMAIL')), `who did it is not shown: ${await entry.innerText()}`);
    }
    await accessible(page, 'the log with what was done to contacts');
  },
  { expected: (text) => text.includes('422') || text.includes('409') },
);
