// Measures what the pages of the console cost a browser while campaigns dial: processor time of all its processes, and
// when a page that was opened for the first time can be used. Run by dialler bench console (make console-cost).
import { performance } from 'node:perf_hooks';

import { eventually, logIn, must, setting, withBrowser } from './browser.mjs';

const base = setting('DIALLER_URL');
const windowMs = Number(setting('WINDOW'));

/** The pages, and what stands on them once they show something. */
const pages = [
  { page: 'campaigns', path: () => '/campaigns', shows: '[data-campaign]' },
  { page: 'live wall', path: () => '/wall', shows: '[data-campaign] [data-figure="dials_per_s"]' },
  { page: 'campaign', path: (id) => `/campaigns/${id}`, shows: '[data-figure="progress"]' },
];

/* global MutationObserver, PerformanceObserver */

/** watch notes when something first matches, and when the main thread was busy for long. */
function watch(selector) {
  globalThis.__cost = { shown: 0, busy: [] };
  const look = () => {
    if (globalThis.__cost.shown === 0 && document.querySelector(selector)) globalThis.__cost.shown = performance.now();
  };
  new MutationObserver(look).observe(document, { childList: true, subtree: true });
  new PerformanceObserver((list) => list.getEntries().forEach((e) => globalThis.__cost.busy.push([e.startTime, e.startTime + e.duration]))).observe({ type: 'longtask', buffered: true });
}

/** spent is the processor time of the browser's processes, s. */
async function spent(system) {
  const { processInfo } = await system.send('SystemInfo.getProcessInfo');
  const sum = (list) => list.reduce((n, p) => n + p.cpuTime, 0);
  return { all: sum(processInfo), tab: sum(processInfo.filter((p) => p.type === 'renderer')) };
}

const figures = [];
for (const { page: name, path, shows } of pages) {
  await withBrowser(async (page, context) => {
    await page.goto(`${base}/dashboard/campaigns`);
    await logIn(page);
    const first = page.locator('[data-campaign]').first();
    await first.waitFor();
    const id = await first.getAttribute('data-campaign');
    // Opened as for the first time: nothing of it is in the cache.
    const cdp = await context.newCDPSession(page);
    await cdp.send('Network.clearBrowserCache');
    await page.goto('about:blank');
    await page.addInitScript(watch, shows);
    await page.goto(`${base}/dashboard${path(id)}`);
    await eventually(`${name} shows something`, () => page.evaluate(() => globalThis.__cost.shown > 0));
    await page.waitForTimeout(2500);
    const { shown, busy } = await page.evaluate(() => globalThis.__cost);
    // Busy spells that begin within half a second of the one before hold it up; those of the stream that follow do not.
    let interactive = shown;
    for (const [from, until] of busy) if (from < interactive + 500) interactive = Math.max(interactive, until);
    const system = await context.browser()?.newBrowserCDPSession();
    must(system !== undefined, 'the browser tells nothing of its processes');
    const began = performance.now();
    const before = await spent(system);
    await page.waitForTimeout(windowMs);
    const after = await spent(system);
    const took = (performance.now() - began) / 1000;
    const pct = (of) => Math.round((1000 * (after[of] - before[of])) / took) / 10;
    figures.push({ page: name, cpu_pct: pct('all'), tab_pct: pct('tab'), interactive_ms: Math.round(interactive) });
    process.stderr.write(`${name}: ${pct('all')} % of a core, interactive after ${Math.round(interactive)} ms\n`);
  });
}
process.stdout.write(JSON.stringify(figures));
