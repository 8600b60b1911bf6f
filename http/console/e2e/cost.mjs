// Measures what the pages of the console cost a browser while campaigns dial: processor time of all its processes, and
// when a page that was opened for the first time can be used. Run by dialler bench console (make console-cost).
import { performance } from 'node:perf_hooks';

import { eventually, logIn, must, setting, withBrowser } from './browser.mjs';

const base = setting('DIALLER_URL');
const windowMs = Number(setting('WINDOW'));

/** How often each page is opened; the middle one of the times counts. */
const openings = 5;

/** The pages, what stands on them once they show something, and a button of theirs with what it opens. */
const pages = [
  { page: 'campaigns', path: () => '/campaigns', shows: '[data-campaign]', button: 'button[aria-haspopup="menu"]' },
  {
    page: 'live wall',
    path: () => '/wall',
    shows: '[data-campaign] [data-figure="dials_per_s"]',
    button: 'button[aria-haspopup="menu"]',
  },
  {
    page: 'campaign',
    path: (id) => `/campaigns/${id}`,
    shows: '[data-figure="progress"]',
    button: 'button[aria-label="More actions"]',
  },
];

/* global MutationObserver, PerformanceObserver */

/**
 * watch presses a button of the page as soon as its content stands, and notes when, when the menu was there that the
 * button opens, and when the main thread was busy for long.
 */
function watch([shows, button]) {
  const cost = (globalThis.__cost = { shown: 0, answered: 0, busy: [] });
  const look = () => {
    if (cost.answered > 0) return;
    if (cost.shown > 0) {
      if (document.querySelector('[role="menu"]')) cost.answered = performance.now();
      return;
    }
    const press = document.querySelector(button);
    if (!document.querySelector(shows) || !press) return;
    cost.shown = performance.now();
    setTimeout(() => press.click()); // as a click of the mouse: in a task of its own
  };
  new MutationObserver(look).observe(document, { childList: true, subtree: true });
  new PerformanceObserver((list) =>
    list.getEntries().forEach((e) => cost.busy.push([e.startTime, e.startTime + e.duration])),
  ).observe({ type: 'longtask', buffered: true });
}

/** spent is the processor time of the browser's processes, s. */
async function spent(system) {
  const { processInfo } = await system.send('SystemInfo.getProcessInfo');
  const sum = (list) => list.reduce((n, p) => n + p.cpuTime, 0);
  return { all: sum(processInfo), tab: sum(processInfo.filter((p) => p.type === 'renderer')) };
}

/** open opens a page as for the first time: nothing of it is in the cache. It gives when it could be used, ms. */
async function open(page, context, { page: name, path, shows, button }, loggedIn) {
  await page.goto(`${base}/dashboard/campaigns`);
  if (!loggedIn) await logIn(page);
  const first = page.locator('[data-campaign]').first();
  await first.waitFor();
  const id = await first.getAttribute('data-campaign');
  const cdp = await context.newCDPSession(page);
  await cdp.send('Page.enable');
  await cdp.send('Network.clearBrowserCache');
  await page.goto('about:blank');
  const { identifier } = await cdp.send('Page.addScriptToEvaluateOnNewDocument', {
    source: `(${watch})(${JSON.stringify([shows, button])})`,
  });
  await page.goto(`${base}/dashboard${path(id)}`);
  await eventually(`${name} answers`, () => page.evaluate(() => globalThis.__cost?.answered > 0));
  await page.waitForTimeout(4000); // what is drawn later has been drawn
  const { shown, answered, busy } = await page.evaluate(() => globalThis.__cost);
  await cdp.send('Page.removeScriptToEvaluateOnNewDocument', { identifier });
  await page.keyboard.press('Escape');
  // Busy spells that begin within half a second of the one before hold it up; those of the stream that follow do not.
  let interactive = answered;
  for (const [from, until] of busy) if (from < interactive + 500) interactive = Math.max(interactive, until);
  const later = Math.max(0, ...busy.filter(([from]) => from >= interactive).map(([from, until]) => until - from));
  return { shown, answered, interactive, later };
}

/** busyFor measures the browser with the page that is open, in per cent of a core. */
async function busyFor(page, context) {
  const system = await context.browser()?.newBrowserCDPSession();
  must(system !== undefined, 'the browser tells nothing of its processes');
  const began = performance.now();
  const before = await spent(system);
  await page.waitForTimeout(windowMs);
  const after = await spent(system);
  const took = (performance.now() - began) / 1000;
  const pct = (of) => Math.round((1000 * (after[of] - before[of])) / took) / 10;
  return { cpu_pct: pct('all'), tab_pct: pct('tab') };
}

const figures = [];
for (const at of pages) {
  await withBrowser(async (page, context) => {
    const times = [];
    for (let i = 0; i < openings; i++) times.push(await open(page, context, at, i > 0));
    const middle = (of) => Math.round(times.map((t) => t[of]).sort((a, b) => a - b)[Math.floor(openings / 2)]);
    const opening = {
      shown_ms: middle('shown'),
      answered_ms: middle('answered'),
      interactive_ms: middle('interactive'),
      later_ms: middle('later'),
    };
    figures.push({ page: at.page, opening, ...(windowMs > 0 ? await busyFor(page, context) : {}) });
    process.stderr.write(
      `${at.page}: interactive after ${times.map((t) => Math.round(t.interactive)).join(', ')} ms\n`,
    );
  });
}
process.stdout.write(JSON.stringify(figures));
