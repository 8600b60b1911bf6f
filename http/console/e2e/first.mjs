// The set-up of a new installation. JOURNEY says which: clicks, from the log-in to the conversation with the bot,
// counted; model, the same with the model carrier and bot of the sandbox; mistakes, every error at its field, and
// what each role sees.
import { accessible, eventually, fits, logIn, must, setting, withBrowser } from './browser.mjs';

const base = setting('DIALLER_URL');

/** step is a line of the checklist. */
const step = (page, name) => page.locator(`[data-step="${name}"]`);
const stepDone = (page, name) => page.locator(`[data-step="${name}"][data-done]`).waitFor();

/** What the pages have counted: each press of a button of the mouse, wherever it went. */
const clicks = (page) => page.evaluate(() => Number(window.sessionStorage.getItem('clicks')));

/** type types into a field as a person does: with a click on it, unless it has the focus. */
async function type(page, field, text) {
  await field.waitFor();
  if (!(await field.evaluate((e) => e === document.activeElement))) await field.click();
  await page.keyboard.press('Control+a');
  await page.keyboard.type(text);
}

async function countClicks(context) {
  await context.addInitScript(() => {
    document.addEventListener(
      'pointerdown',
      (e) => {
        if (!e.isTrusted) return;
        const before = Number(window.sessionStorage.getItem('clicks'));
        window.sessionStorage.setItem('clicks', String(before + 1));
      },
      true,
    );
  });
}

/** talks waits until the bot talks to the person, and for the end of the call, which a bot that stays leaves to us. */
async function talks(page, stays = true) {
  const call = step(page, 'call');
  if (stays) await call.getByRole('status').getByText('Connected', { exact: true }).waitFor();
  await stepDone(page, 'call');
  const count = await clicks(page);
  if (stays) {
    await accessible(page, 'a call to my phone');
    await call.getByRole('button', { name: 'Hang up' }).click();
  }
  await call.getByRole('button', { name: 'Call again' }).waitFor();
  await page.getByRole('heading', { name: 'The dialler is ready to call' }).waitFor();
  return count;
}

function few(count) {
  must(count <= Number(setting('CLICKS')), `it took ${count} clicks`);
  must(count > 1, `${count} clicks were counted`);
}

async function reachesTheBot(page) {
  await type(page, page.getByLabel('E-mail'), setting('EMAIL'));
  await type(page, page.getByLabel('Password', { exact: true }), setting('PASSWORD'));
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('heading', { name: 'Four steps to your first call' }).waitFor();
  await accessible(page, 'the set-up of an empty installation');
  await type(page, page.getByLabel('Host', { exact: true }), setting('CARRIER')); // with its port
  await page.getByRole('button', { name: 'Save and try' }).click();
  await stepDone(page, 'carrier');
  await type(page, page.getByLabel('Number', { exact: true }), setting('NUMBER'));
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await stepDone(page, 'caller_id');
  await type(page, page.getByLabel('Address', { exact: true }), setting('BOT'));
  await page.getByRole('button', { name: 'Save and try' }).click();
  await stepDone(page, 'bot');
  await accessible(page, 'a set-up that lacks the call');
  await type(page, page.getByLabel('Your phone'), setting('PHONE')); // without its country
  await page.getByRole('button', { name: 'Ring my phone', exact: true }).last().click();
  few(await talks(page));
  must(new URL(page.url()).pathname === '/dashboard/campaigns', `it ended at ${page.url()}`);
  await page.getByRole('link', { name: /^Set-up/ }).waitFor({ state: 'detached' });
  await page.reload(); // the server knows it all
  await page.getByRole('heading', { name: 'The dialler is ready to call' }).waitFor();
  must((await page.locator('[data-step][data-done]').count()) === 4, 'a step is not done after a reload');
}

async function usesTheModel(page) {
  await type(page, page.getByLabel('E-mail'), setting('EMAIL'));
  await type(page, page.getByLabel('Password', { exact: true }), setting('PASSWORD'));
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Try with a model carrier and bot' }).click();
  await stepDone(page, 'carrier');
  await stepDone(page, 'bot');
  await page.getByRole('button', { name: 'Ring my phone', exact: true }).last().click();
  few(await talks(page, false));
}

/** at expects a mistake at a field, with words that it must have. */
async function at(page, field, words) {
  await field.and(page.locator('[aria-invalid="true"]')).waitFor();
  const id = await field.getAttribute('aria-describedby');
  const texts = await page.evaluate(
    (ids) => ids.map((i) => document.getElementById(i)?.textContent ?? '').join(' '),
    (id ?? '').split(' '),
  );
  must(words.test(texts), `the field says: ${texts}`);
}

async function makesMistakes(page) {
  await logIn(page);
  await page.getByRole('heading', { name: 'Four steps to your first call' }).waitFor();
  const save = page.getByRole('button', { name: 'Save and try' });

  const host = page.getByLabel('Host', { exact: true });
  const name = page.getByLabel('Name', { exact: true });
  await save.click();
  await at(page, host, /for example sip\.carrier\.example/);
  await host.fill('no such host');
  await name.fill('Carrier 1');
  await save.click();
  await at(page, name, /letters, digits, dots, dashes and underscores/i);
  await at(page, host, /\S/);
  await accessible(page, 'a carrier with mistakes');
  await name.fill('carrier-1');
  await host.fill('127.0.0.1:9'); // where nobody listens
  await save.click();
  const carrier = step(page, 'carrier');
  await carrier.getByText('No answer', { exact: true }).waitFor();
  await carrier.getByText(/Check host and port/).waitFor();
  await accessible(page, 'a carrier that does not answer');
  await host.fill(setting('CARRIER'));
  await save.click();
  await stepDone(page, 'carrier');

  const number = page.getByLabel('Number', { exact: true });
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await at(page, number, /for example \+49/);
  await number.fill('030 12345601');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await at(page, number, /\+4915112345678/);
  const ours = setting('NUMBER');
  await number.fill(`${ours.slice(0, 3)} (${ours.slice(3, 5)}) ${ours.slice(5, 8)}-${ours.slice(8)}`);
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await stepDone(page, 'caller_id');

  const bot = page.getByLabel('Address', { exact: true });
  await save.click();
  await at(page, bot, /for example wss:/);
  await bot.fill('https://bot.example.org');
  await save.click();
  await at(page, bot, /wss?:\/\//);
  await bot.fill('ws://127.0.0.1:9/');
  await save.click();
  const talker = step(page, 'bot');
  await talker.getByText('No answer', { exact: true }).waitFor();
  await talker.getByText(/Check that it runs/).waitFor();
  await accessible(page, 'a bot that does not answer');
  await page.reload(); // what is there already is known
  await page.locator('[data-done="2"]').waitFor();
  must((await page.getByLabel('Address', { exact: true }).inputValue()) === 'ws://127.0.0.1:9/', 'the bot is lost');
  await page.getByLabel('Address', { exact: true }).fill(setting('BOT'));
  await save.click();
  await stepDone(page, 'bot');

  const phone = page.getByLabel('Your phone');
  const ring = page.getByRole('button', { name: 'Ring my phone', exact: true }).last();
  await ring.click();
  await at(page, phone, /0151 12345678/); // our only number is German
  for (const [wrong, says] of [
    ['12', /length/i],
    ['0900 1234567', /premium/i],
    ['+43 1 2345678', /AT/],
    ['my phone', /digits/i],
  ]) {
    await phone.fill(wrong);
    await ring.click();
    await at(page, phone, says);
  }
  await accessible(page, 'a phone with a mistake');

  // A narrow screen in the dark.
  await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' });
  await page.setViewportSize({ width: 390, height: 844 });
  await fits(page, 'the set-up');
  await accessible(page, 'the set-up on a small screen in the dark');
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
  await page.setViewportSize({ width: 1440, height: 1000 });

  // Hidden, it leaves the start page and the navigation, for everybody; its page stays.
  const link = page.getByRole('link', { name: /^Set-up/ });
  await link.waitFor();
  await page.getByRole('button', { name: 'Hide', exact: true }).click();
  await page.getByText('No campaigns yet').waitFor();
  await link.waitFor({ state: 'detached' });
  await page.goto(`${base}/dashboard/set-up`);
  await page.getByRole('button', { name: 'Show again' }).click();
  await link.waitFor();
  await phone.fill(setting('PHONE'));
  await ring.click();
  await talks(page);
  await page.getByRole('link', { name: 'New campaign' }).waitFor();
}

/** seenBy logs in as somebody who may not set up: the steps are there, nothing to press. */
async function seenBy(page, context, email, password) {
  await context.clearCookies();
  await page.goto(`${base}/dashboard/campaigns`);
  await logIn(page, email, password);
  await page.getByRole('heading', { name: 'Four steps to your first call' }).waitFor();
  await page.getByText('An administrator does them').waitFor();
  const list = page.locator('[data-step]');
  await eventually('the four steps are there', async () => (await list.count()) === 4);
  const acts = page.getByRole('region', { name: 'Four steps to your first call' }).locator('button, input, a');
  must((await acts.count()) === 0, `${email} is offered ${await acts.count()} acts`);
  must((await page.getByRole('link', { name: /^Set-up/ }).count()) === 0, `${email} has the link`);
  await accessible(page, `the set-up as ${email} sees it`);
}

const journeys = {
  clicks: reachesTheBot,
  model: usesTheModel,
  mistakes: async (page, context) => {
    await seenBy(page, context, setting('VIEWER'), setting('VIEWER_PASSWORD'));
    await seenBy(page, context, setting('OPERATOR'), setting('OPERATOR_PASSWORD'));
    await context.clearCookies();
    await page.goto(`${base}/dashboard/campaigns`);
    await makesMistakes(page);
  },
};

await withBrowser(
  async (page, context) => {
    await countClicks(context);
    await page.goto(`${base}/dashboard/`);
    await page.getByRole('heading', { name: 'Log in to the dialler' }).waitFor();
    await journeys[setting('JOURNEY')](page, context);
  },
  { expected: (text) => ['401', '422'].some((status) => text.includes(status)) },
);
