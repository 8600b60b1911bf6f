// Takes the picture of the README: a campaign of the sandbox at work, so no real person's data.
// node picture.mjs bin/dialler docs/console.png
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { eventually, figure, logIn, must, withBrowser } from './browser.mjs';

const [program, picture] = process.argv.slice(2);
const found = (names) => names.map((n) => execFileSync('sh', ['-c', `command -v ${n} || true`], { encoding: 'utf8' }).trim()).find((p) => p !== '');
process.env.CHROMIUM ??= found(['chromium', 'chromium-browser', 'google-chrome']) ?? '';

const folder = mkdtempSync(join(tmpdir(), 'dialler-picture-'));
chmodSync(folder, 0o755); // PostgreSQL never runs as root
const sandbox = spawn(program, ['sandbox', '--no-open', '--contacts=260', '--seats=24', '--seed=7', '--listen-http=127.0.0.1:0', `--data-dir=${folder}`], { stdio: ['ignore', 'pipe', 'ignore'] });
const ended = new Promise((resolve) => sandbox.on('exit', resolve));
let said = '';
sandbox.stdout.setEncoding('utf8').on('data', (text) => (said += text));

try {
  const read = (pattern) => pattern.exec(said)?.[1];
  await eventually('the sandbox is up', () => read(/Console: (\S+)/) !== undefined);
  const address = read(/Console: (\S+)/);
  process.env.DIALLER_URL = new URL(address).origin;
  await withBrowser(
    async (page) => {
      await page.goto(address);
      await logIn(page, 'admin@dialler.local', read(/password \(shown once\): (\S+)/));
      await page.getByRole('table', { name: 'Contacts' }).waitFor();
      await eventually('a good part is done', async () => (await figure(page, 'progress')) > 42, 180_000);
      await page.mouse.move(0, 0); // no hint under the pointer
      await page.screenshot({ path: picture });
    },
    { viewport: { width: 1440, height: 900 } },
  );
  must(statSync(picture).size < 200 * 1024, `${picture} has ${statSync(picture).size} bytes; the README wants less than 200 KiB`);
} finally {
  sandbox.kill('SIGTERM');
  setTimeout(() => sandbox.kill('SIGTERM'), 500).unref(); // its calls need no end
  await ended;
  rmSync(folder, { recursive: true, force: true });
}
