// What the dots of what is alive cost a browser without a GPU: processor time of the main thread, while they breathe.
import { eventually, logIn, must, setting, withBrowser } from './browser.mjs';

const windowMs = 5000;
const most = 35; // % of a core
// So many frames a second may the dots add to what the main thread styles without them, which the stream brings.
const frames = 12;
const campaigns = Number(setting('CAMPAIGNS'));

await withBrowser(
  async (page, context) => {
    const cdp = await context.newCDPSession(page);
    await cdp.send('Performance.enable');
    const spent = async () =>
      Object.fromEntries((await cdp.send('Performance.getMetrics')).metrics.map((m) => [m.name, m.value]));
    const breathing = () =>
      page.evaluate(
        () =>
          document
            .getAnimations()
            .filter((a) => a.playState === 'running' && a.effect.target?.hasAttribute('data-alive')).length,
      );
    const measure = async (name, path, dots, loggedIn) => {
      await page.goto(`${setting('DIALLER_URL')}/dashboard/${path}`);
      if (!loggedIn) await logIn(page);
      await eventually(`${dots} dots breathe on ${name}`, async () => (await breathing()) >= dots);
      await page.waitForTimeout(2000); // what is drawn later has been drawn
      const measured = async () => {
        const before = await spent();
        await page.waitForTimeout(windowMs);
        const after = await spent();
        return (metric) => (after[metric] - before[metric]) / (after.Timestamp - before.Timestamp);
      };
      const still = (yes) =>
        page.evaluate(
          (yes) =>
            document
              .getAnimations()
              .forEach((a) => a.effect.target?.hasAttribute('data-alive') && (yes ? a.pause() : a.play())),
          yes,
        );
      await still(true);
      const without = (await measured())('RecalcStyleCount');
      await still(false);
      await eventually(`the dots of ${name} breathe again`, async () => (await breathing()) >= dots);
      const per = await measured();
      must((await breathing()) >= dots, `the dots of ${name} stopped while they were measured`);
      // Processor time: how long the tasks took would count what others on this machine do.
      const share = 100 * per('ThreadTime');
      process.stdout.write(
        `${name}: main thread ${share.toFixed(1)} % of a core, ` +
          `${per('RecalcStyleCount').toFixed(1)} styled frames a second, ` +
          `${without.toFixed(1)} while the dots are still, with ${await breathing()} dots\n`,
      );
      must(
        share > 0 && share <= most,
        `the main thread is busy with ${name} for ${share.toFixed(1)} % of a core, more than ${most} %`,
      );
      const added = per('RecalcStyleCount') - without;
      must(
        added <= frames,
        `the dots have the main thread style ${name} ${added.toFixed(1)} times a second more, above ${frames}: ` +
          "they are not the compositor's alone",
      );
    };
    await measure('the list of campaigns', 'campaigns', campaigns, false);
    // Its dot breathes for 30 s after a dial, and the calls go on: who is added is the last one to be dialled.
    const { csrf_token } = await (await page.request.get(`${setting('DIALLER_URL')}/api/v1/session`)).json();
    const added = await page.request.post(
      `${setting('DIALLER_URL')}/api/v1/campaigns/${setting('CAMPAIGN')}/contacts`,
      {
        headers: { 'X-CSRF-Token': csrf_token },
        data: { contacts: [{ mobile: setting('LAST') }] },
      },
    );
    must(added.ok(), `nobody is added: ${added.status()}`);
    await measure('a live campaign', `campaigns/${encodeURIComponent(setting('CAMPAIGN'))}`, 2, true);
  },
  { reducedMotion: 'no-preference' },
);
