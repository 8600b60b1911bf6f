// What an operator sees when the carrier or the bot is gone, and when the dialler itself does not answer. The test's
// own server makes the faults; a proxy in between freezes the dialler as a machine that hangs does: connections stand,
// nothing comes.
import { createServer, request } from 'node:http';

import { accessible, eventually, logIn, must, setting, withBrowser } from './browser.mjs';

const dialler = new URL(setting('DIALLER_URL'));
const id = setting('CAMPAIGN');

let frozen = false;
const waiting = new Set(); // what goes on once the dialler is no longer frozen
const pass = (on) => {
  if (frozen) waiting.add(on);
  else on();
};
const server = createServer((from, to) => {
  const go = () => {
    const onward = request(
      { host: dialler.hostname, port: dialler.port, method: from.method, path: from.url, headers: from.headers },
      (answer) => {
        to.writeHead(answer.statusCode, answer.headers);
        to.flushHeaders();
        answer.on('error', () => to.destroy());
        answer.on('data', (piece) => pass(() => to.write(piece)));
        answer.on('end', () => pass(() => to.end()));
      },
    );
    onward.on('error', () => to.destroy());
    to.on('close', () => onward.destroy());
    from.pipe(onward);
  };
  pass(go);
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
process.env.DIALLER_URL = `http://127.0.0.1:${server.address().port}`;
const at = (path) => `${process.env.DIALLER_URL}/dashboard${path}`;
const thaw = () => {
  frozen = false;
  waiting.forEach((f) => f());
  waiting.clear();
};

async function make(fault) {
  const answer = await fetch(`${setting('CONTROL')}/${fault}`, { method: 'POST' });
  must(answer.ok, `the test did not make ${fault}`);
}

const own = `/campaigns/${id}`;
const pages = ['/campaigns', '/wall', own, '/calls'];
const cancelled = (text) => text.includes('ERR_ABORTED');

try {
  await withBrowser(
    async (page, context) => {
      // Counts notifications, which nobody can see here, over all tabs.
      await context.addInitScript(() => {
        window.Notification = class {
          static permission = 'granted';
          static requestPermission = async () => 'granted';
          constructor() {
            localStorage.setItem('test-notified', String(Number(localStorage.getItem('test-notified') ?? '0') + 1));
          }
        };
      });
      await page.goto(at('/campaigns'));
      await logIn(page);
      const row = page.locator(`[data-campaign="${id}"]`);
      await row.waitFor();
      const alarm = (of) => of.locator('[role="alert"] [data-attention]');
      await page.locator('[data-link="live"]').waitFor();
      must((await alarm(page).count()) === 0, 'there is an alarm though all is well');
      must((await row.locator('[data-tone="green"]').count()) > 0, 'a campaign that dials is not green');

      // The browser tells once more, in one tab of all.
      await page.getByRole('button', { name: /^User menu/ }).click();
      await page.getByRole('menuitem', { name: 'Alerts…' }).click();
      await page.getByRole('switch', { name: 'Play a sound' }).click();
      await page.getByRole('switch', { name: 'Show a notification' }).click();
      await accessible(page, 'the dialog of alerts');
      await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click();
      // The wall and the campaign's page share a tab: one of them is open when the carrier dies, the other one when the
      // bot does, and both are opened while it is dead.
      const [shared, calls] = [await context.newPage(), await context.newPage()];
      const shows = async (path) => {
        if (path === '/campaigns') return page;
        const tab = path === '/calls' ? calls : shared;
        if (tab.url() !== at(path)) await tab.goto(at(path));
        await tab.locator('main').waitFor();
        return tab;
      };
      await shows('/calls');
      const notified = () => page.evaluate(() => Number(localStorage.getItem('test-notified') ?? '0'));

      let told = 0;
      for (const fault of [
        { dies: 'carrier-dies', lives: 'carrier-lives', says: /No trunk is usable: model/, open: '/wall', then: own },
        { dies: 'bot-dies', lives: 'bot-lives', says: /The bot Anna takes no calls/, open: own, then: '/wall' },
      ]) {
        const opened = await shows(fault.open);
        await opened.locator('[data-link="live"]').waitFor();
        const began = Date.now();
        await make(fault.dies);
        for (const [i, path] of ['/campaigns', fault.open, '/calls', fault.then].entries()) {
          const tab = await shows(path);
          await tab.bringToFront(); // a browser draws what is looked at
          const what = `${fault.dies}, ${path}`;
          await eventually(`${what}: an alarm`, async () => (await alarm(tab).count()) === 1);
          // The first page that is looked at; the others were opened since. Without the question that a silent INVITE
          // raises it would take a transaction, 32 s at least.
          const after = (Date.now() - began) / 1000;
          must(i > 0 || after < 30, `${what}: red after ${after} s`);
          await eventually(`${what}: the alarm names it`, async () => fault.says.test(await alarm(tab).innerText()));
          const text = await alarm(tab).innerText();
          must(text.includes(setting('CAMPAIGN_NAME')), `${what}: which campaign? ${text}`);
          must(/since \d/.test(text), `${what}: since when? ${text}`);
          must((await tab.title()).startsWith('(1) '), `${what}: the tab is called ${await tab.title()}`);
          const main = tab.locator('main');
          const badges = main.locator(`[data-campaign="${id}"], header`).locator('[data-tone="green"]');
          const green = badges.and(main.locator(':not([role="progressbar"] *)')); // the bar's green is what was reached
          await eventually(`${what}: nothing is green`, async () => (await green.count()) === 0);
          must(
            (await main.getByText('Live Activity', { exact: true }).count()) === 0,
            `${what}: it says Live Activity`,
          );
          must((await main.locator('[data-figure="eta"]').count()) === 0, `${what}: there is an ETA`);
          if (path === own) await accessible(tab, what);
          if (process.env['SCREENSHOTS'])
            await tab.screenshot({ path: `${process.env['SCREENSHOTS']}/${fault.dies}-${i}.png` });
        }
        told++;
        await eventually('the browser tells of it', async () => (await notified()) >= told);

        await make(fault.lives);
        for (const tab of [page, shared, calls]) {
          await tab.bringToFront();
          await eventually(`${fault.lives}: the alarm goes`, async () => (await alarm(tab).count()) === 0);
          must(!(await tab.title()).startsWith('('), `the tab is still called ${await tab.title()}`);
        }
      }

      const list = await page.evaluate(() => localStorage.getItem('dialler-alerts-told'));
      must((await notified()) === told, `${await notified()} notifications of ${told} troubles: ${list}`);

      // A dialler that hangs: within seconds every page says of when its figures are.
      for (const path of pages) {
        const tab = await shows(path);
        await tab.bringToFront();
        const bar = tab.locator('[data-stale-since]');
        await tab.locator('[data-link="live"]').waitFor();
        must((await bar.count()) === 0, `${path} is stale though the dialler answers`);
        frozen = true;
        await bar.waitFor();
        must(/^As of \d/.test(await bar.innerText()), `${path}: ${await bar.innerText()}`);
        await accessible(tab, `${path}, stale`);
        thaw();
        await bar.waitFor({ state: 'detached' });
      }
    },
    { expected: cancelled },
  );
} finally {
  server.closeAllConnections();
  server.close();
}
