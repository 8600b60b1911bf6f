// A real browser for the tests of the console: the system's Chromium, driven by playwright-core. Whatever a page does
// that no page of ours may do is kept as a fault: an error on its console, an exception, a request to another host.
import { mkdtempSync, rmSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import axe from 'axe-core';
import { chromium } from 'playwright-core';

/** Every wait ends: a page that does not come is a failure, not a hang. */
export const patience = 60_000;

const flags = [
  '--headless=new',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-dev-shm-usage',
  // A page is left long before optimised code would pay for its compilation.
  '--js-flags=--no-opt --no-maglev --single-threaded-gc',
];

/** setting reads what the caller passes by the environment. */
export function setting(name) {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set; this script is run by go test`);
  return value;
}

/**
 * withBrowser runs a test in a browser with a profile of its own and closes it whatever happens. `expected` says which
 * console errors a test provokes on purpose.
 */
export async function withBrowser(
  test,
  {
    colorScheme = 'light',
    expected = () => false,
    timezoneId = 'Europe/Berlin',
    viewport = { width: 1440, height: 1000 },
    deviceScaleFactor = 1,
    reducedMotion = 'reduce',
    others = [], // origins of other hosts that the test leads to
  } = {},
) {
  const profile = mkdtempSync(join(tmpdir(), 'dialler-browser-'));
  const faults = [];
  const origin = new URL(setting('DIALLER_URL')).origin;
  let context;
  try {
    context = await chromium.launchPersistentContext(profile, {
      executablePath: setting('CHROMIUM'),
      headless: true,
      timeout: 2 * patience,
      args: flags,
      colorScheme,
      reducedMotion, // axe would judge the colours of what is half faded in
      locale: 'en-GB',
      timezoneId,
      viewport,
      deviceScaleFactor,
      acceptDownloads: true,
    });
    context.setDefaultTimeout(patience);
    const watch = (page) => {
      page.on('console', (m) => {
        // Whoever is not logged in is asked for, and what works is asked for while somebody logs out: the browser calls
        // every 401 an error.
        const asked = m.text().includes('401') && /\/api\/v1\/(session|health)$/.test(m.location().url);
        if (m.type() === 'error' && !asked && !expected(m.text(), m.location().url))
          faults.push(`console: ${m.text()} (${m.location().url})`);
      });
      page.on('pageerror', (e) => faults.push(`exception: ${e.stack ?? e}`));
    };
    context.on('page', watch);
    context.pages().forEach(watch);
    context.on('request', (r) => {
      const url = new URL(r.url());
      if (!['data:', 'blob:', 'about:'].includes(url.protocol) && url.origin !== origin && !others.includes(url.origin))
        faults.push(`a request to another host: ${r.url()}`);
    });
    const page = context.pages()[0] ?? (await context.newPage());
    try {
      await test(page, context);
    } catch (e) {
      const shot = process.env['SCREENSHOTS'];
      if (shot)
        await Promise.all(
          context
            .pages()
            .map((p, i) =>
              p.screenshot({ path: join(shot, `failed-${i}.png`), fullPage: true }).catch(() => undefined),
            ),
        );
      const open = context.pages().at(-1) ?? page; // the first one may have been closed
      const seen = await open
        .locator('body')
        .innerText({ timeout: 2000 })
        .catch(() => '(nothing)');
      throw new Error(
        `${e.stack ?? e}\n--- the page shows:\n${seen.replace(/\s*\n\s*/g, ' | ').slice(0, 3000)}\n` +
          `--- faults:\n${faults.join('\n') || 'none'}`,
      );
    }
    if (faults.length > 0) throw new Error(`the pages misbehave:\n${faults.join('\n')}`);
  } finally {
    await context?.close();
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** must ends the test with a sentence unless it holds. */
export function must(ok, what) {
  if (!ok) throw new Error(what);
}

/** eventually waits for a condition without an event of its own. */
export async function eventually(what, ok, within = patience) {
  const end = Date.now() + within;
  for (;;) {
    if (await ok()) return;
    if (Date.now() > end) throw new Error(`never: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/**
 * accessible fails when axe finds what people who use a keyboard or a screen reader stumble over. A dialog is judged
 * alone: what lies under it nobody reaches. A menu that is open lies outside the page's landmarks.
 */
export async function accessible(page, what, { menu = false } = {}) {
  // A page keeps it until it is left.
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe.source);
  const found = await page.evaluate(
    async (options) => {
      // Colours that are on their way to others are not judged.
      await new Promise((drawn) => window.requestAnimationFrame(() => window.requestAnimationFrame(drawn)));
      const moving = document.getAnimations().filter((a) => Number.isFinite(a.effect?.getComputedTiming().endTime));
      await Promise.all(moving.map((a) => a.finished.catch(() => undefined)));
      const dialog = [...document.querySelectorAll('[role="dialog"], [role="alertdialog"]')].at(-1);
      return window.axe.run(dialog ?? document, options);
    },
    {
      runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
      rules: menu ? { region: { enabled: false } } : {},
      resultTypes: ['violations'],
    },
  );
  const lines = found.violations.flatMap((v) =>
    v.nodes.map((n) => `${v.id}: ${v.help}\n    ${n.html}\n    ${n.failureSummary?.replaceAll('\n', '\n    ')}`),
  );
  must(lines.length === 0, `${what} is not accessible:\n${lines.join('\n')}`);
}

/**
 * fits waits until the page is no wider than its window, which takes a moment after the window was made narrow: what is
 * drawn is drawn anew.
 */
export async function fits(page, what, within = patience) {
  const over = () =>
    page.evaluate(() => {
      const width = document.documentElement.scrollWidth - window.innerWidth;
      const wide = [...document.body.querySelectorAll('*')].filter(
        (e) => e.getBoundingClientRect().right > window.innerWidth + 0.5,
      );
      const tell = (e) => `${e.tagName.toLowerCase()}.${[...e.classList].join('.')}`;
      return { width, who: wide.slice(-3).map(tell).join(', ') };
    });
  let last;
  await eventually(what, async () => (last = await over()).width <= 0, within).catch(() => {
    throw new Error(`${what} is ${last.width} px too wide: ${last.who}`);
  });
}

/**
 * firstLoad gives what a page has loaded since it was opened, but for the API's answers, in bytes as gzip sends them.
 */
export async function firstLoad(page) {
  const names = await page.evaluate(() =>
    ['navigation', 'resource'].flatMap((kind) => window.performance.getEntriesByType(kind)).map((e) => e.name),
  );
  const files = [...new Set(names)].filter(
    (name) => name.startsWith('http') && !new URL(name).pathname.startsWith('/api/'),
  );
  const sizes = await Promise.all(
    files.map(async (file) => {
      const answer = await new Promise((resolve, reject) =>
        get(file, { headers: { 'Accept-Encoding': 'gzip' } }, resolve).on('error', reject),
      );
      must(answer.statusCode === 200, `${file} is answered ${answer.statusCode}`);
      let bytes = 0;
      for await (const part of answer) bytes += part.length;
      return bytes;
    }),
  );
  return sizes.reduce((a, b) => a + b, 0);
}

/** logIn logs in on the page that is open. */
export async function logIn(page, email = setting('EMAIL'), password = setting('PASSWORD')) {
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Log in' }).click();
}

/** figure reads a figure of the campaign page as a number; null when it is not there. */
export async function figure(page, name) {
  const at = page.locator(`[data-figure="${name}"]`);
  if ((await at.count()) === 0) return null;
  const text = await at.first().innerText();
  return Number(text.replaceAll(/[^0-9.-]/g, ''));
}
