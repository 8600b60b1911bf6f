// What the line to the dialler may do: several tabs share it, streams break, reports break off, the session ends. A
// proxy between browser and dialler does the breaking.
import { createServer, request } from 'node:http';

import { eventually, figure, logIn, must, setting, withBrowser } from './browser.mjs';

const dialler = new URL(setting('DIALLER_URL'));
const campaign = setting('CAMPAIGN');
const livePath = `/api/v1/campaigns/${campaign}/live`;

const streams = new Set(); // live streams that are open
const resumed = []; // what each stream asked to go on from
let refuseStreams = false;
let breakReports = 0; // so many of the next ones break off

const proxy = createServer((from, to) => {
  const live = from.url.startsWith(livePath);
  if (live && refuseStreams) {
    to.writeHead(503, { 'Content-Type': 'text/plain', 'Retry-After': '1' }).end('no streams now');
    return;
  }
  const onward = request(
    { host: dialler.hostname, port: dialler.port, method: from.method, path: from.url, headers: from.headers },
    (answer) => {
      to.writeHead(answer.statusCode, answer.headers);
      to.flushHeaders();
      answer.on('error', () => to.destroy());
      if (breakReports > 0 && from.url.includes('/attempts.csv')) {
        breakReports--;
        answer.once('data', (piece) => to.write(piece.subarray(0, piece.length - 2), () => to.destroy()));
        return;
      }
      answer.pipe(to);
    },
  );
  onward.on('error', () => to.destroy());
  to.on('close', () => {
    streams.delete(to);
    onward.destroy();
  });
  from.pipe(onward);
  if (live) {
    streams.add(to);
    resumed.push(from.headers['last-event-id']);
  }
});
await new Promise((resolve) => proxy.listen(0, '127.0.0.1', resolve));
process.env.DIALLER_URL = `http://127.0.0.1:${proxy.address().port}`;
const address = `${process.env.DIALLER_URL}/dashboard/campaigns/${campaign}`;

/** moves waits until a figure of a page is another than now. */
async function moves(page, name, what) {
  const before = await figure(page, name);
  await eventually(what, async () => (await figure(page, name)) !== before);
}

const link = (page, state) => page.locator(`[data-link="${state}"]`).waitFor();

try {
  await withBrowser(
    async (first, context) => {
      await first.goto(address);
      await logIn(first, setting('EMAIL'));
      await link(first, 'live');
      const second = await context.newPage();
      await second.goto(address);
      await link(second, 'live');
      await moves(first, 'completed', 'the first tab is live');
      await moves(second, 'completed', 'the second tab is live');
      await eventually('two tabs read one stream', () => streams.size === 1);

      // The tab that reads the stream is closed: the other goes on where it was.
      const before = resumed.length;
      await first.close();
      await eventually('the second tab reads the stream', () => streams.size === 1 && resumed.length > before);
      must(typeof resumed.at(-1) === 'string' && resumed.at(-1) !== '', 'the stream begins anew instead of going on');
      await moves(second, 'completed', 'the second tab is still live');

      // No streams: the figures are fetched every few seconds, until there is one again.
      refuseStreams = true;
      streams.forEach((s) => s.socket?.destroy());
      await link(second, 'broken');
      await moves(second, 'completed', 'figures follow without a stream');
      refuseStreams = false;
      await link(second, 'live');
      await moves(second, 'completed', 'figures are live again');

      // A report that breaks off goes on by itself and is whole: one file.
      let files = 0;
      second.on('download', () => files++);
      breakReports = 2;
      const whole = second.waitForEvent('download');
      await second.getByRole('button', { name: 'Attempt Report' }).click();
      await whole;
      await second.getByText('Attempt Report downloaded').waitFor();
      must(breakReports === 0, 'no report broke off');
      must(files === 1, `${files} files were saved`);

      // Somebody who may only look.
      await second.getByRole('button', { name: /^User menu/ }).click();
      await second.getByRole('menuitem', { name: 'Log out' }).click();
      await logIn(second, setting('VIEWER'));
      await link(second, 'live');
      await second.getByRole('button', { name: 'Attempt Report' }).waitFor();
      for (const name of ['Start', 'Pause', 'Stop', 'Add contacts']) {
        must((await second.getByRole('button', { name, exact: true }).count()) === 0, `a viewer is offered ${name}`);
      }

      // The session ends elsewhere: the page says so and asks for a log-in, then shows the campaign again.
      const session = await (await context.request.get(`${process.env.DIALLER_URL}/api/v1/session`)).json();
      const ended = await context.request.delete(`${process.env.DIALLER_URL}/api/v1/session`, {
        headers: { 'X-CSRF-Token': session.csrf_token },
      });
      must(ended.status() === 204, `the session does not end: ${ended.status()}`);
      await second.getByText('Your session has ended').waitFor();
      await logIn(second, setting('EMAIL'));
      await second.getByRole('button', { name: 'Pause' }).waitFor();

      // A log-in in another tab gives the browser another cookie: this tab's next command still works.
      // The browser sends it, as another tab would: what the test sends itself leaves the old cookie in use for a
      // while.
      const again = await second.evaluate(
        async (login) =>
          (
            await fetch('/api/v1/session', {
              method: 'POST',
              headers: { 'Content-Type': 'application/json' },
              body: JSON.stringify(login),
            })
          ).ok,
        { email: setting('EMAIL'), password: setting('PASSWORD') },
      );
      must(again, 'the second log-in fails');
      await second.getByRole('button', { name: 'Pause' }).click();
      await second.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
      await second.getByRole('button', { name: 'Resume' }).waitFor();
    },
    {
      expected: (text, url) =>
        url.includes('/live') || url.includes('/attempts.csv') || text.includes('401') || url.endsWith('/pause'),
    },
  );
} finally {
  proxy.closeAllConnections();
  proxy.close();
}
