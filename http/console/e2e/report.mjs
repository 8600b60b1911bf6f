// The Attempt Report on its way: rows and size as it goes, cancelled, broken off, and whole. Between browser and
// dialler stands the test's own server, which holds the report up in its middle or breaks it off there.
import { readFileSync } from 'node:fs';

import { accessible, eventually, logIn, must, setting, withBrowser } from './browser.mjs';

const base = setting('DIALLER_URL');
const rows = Number(setting('ROWS'));

async function make(what) {
  const answer = await fetch(`${setting('CONTROL')}/${what}`, { method: 'POST' });
  must(answer.ok, `the test did not take ${what}`);
}

await withBrowser(
  async (page) => {
    await page.goto(`${base}/dashboard/campaigns/${setting('CAMPAIGN')}`);
    await logIn(page);
    const button = page.getByRole('button', { name: 'Attempt Report' });
    const progress = page.locator('[data-figure="report_progress"]');
    const cancel = page.getByRole('button', { name: 'Cancel download' });
    await button.waitFor();
    let downloads = 0;
    page.on('download', () => downloads++);
    const onTheWay = async () => {
      await eventually('the button can be pressed', async () => !(await button.isDisabled()));
      await button.focus();
      await page.keyboard.press('Enter');
      await eventually('rows are counted as they come', async () =>
        /^[1-9]\d* rows? · [1-9][\d.]* k?B$/.test((await progress.allInnerTexts())[0] ?? ''),
      );
      const counted = Number((await progress.innerText()).split(' ')[0]);
      must(counted < rows, `${counted} rows have come, and the half of ${rows} was sent`);
      must(await button.isDisabled(), 'a second download can be begun');
    };

    // Cancelled, by the keyboard: nothing is saved, and the dialler is told.
    await make('hold');
    await onTheWay();
    await accessible(page, 'the page with a report on its way');
    must(await cancel.evaluate((b) => b === document.activeElement), 'the focus is lost');
    await page.keyboard.press('Enter');
    await page.getByText('Attempt Report cancelled').waitFor();
    await progress.waitFor({ state: 'detached' });
    await eventually(
      'the button is enabled again',
      async () => !(await button.isDisabled()) && (await cancel.count()) === 0,
    );
    await make('cancelled'); // answers once the report's reader has gone

    // Broken off in its middle, and what follows is not there any more: it says so, and nothing is saved.
    await make('lose');
    await onTheWay();
    await make('go');
    await page.getByText('The Attempt Report was not downloaded').waitFor();
    await page.getByText(/broke off after \d+ rows?, before its end\. Nothing was saved/).waitFor();
    await eventually('the button is enabled again', async () => !(await button.isDisabled()));
    must(downloads === 0, 'half a report is saved');

    // Broken off in its middle: it goes on by itself, and the file is whole.
    await make('break');
    const mended = page.waitForEvent('download');
    await onTheWay();
    await make('go');
    const resumed = readFileSync(await (await mended).path(), 'utf8');
    const ids = resumed
      .trimEnd()
      .split('\n')
      .slice(1)
      .map((line) => line.split(',')[3]);
    must(
      ids.length === rows && new Set(ids).size === rows,
      `the file that was gone on with has ${ids.length} rows of ${new Set(ids).size} dials, the campaign ${rows}`,
    );
    await page.getByText('Attempt Report downloaded').waitFor();

    // Whole: the message has as many rows as the file.
    await make('hold');
    await onTheWay();
    const download = page.waitForEvent('download');
    await make('go');
    const text = readFileSync(await (await download).path(), 'utf8');
    must(
      text.trimEnd().split('\n').length - 1 === rows,
      `the file has ${text.trimEnd().split('\n').length - 1} rows, the campaign ${rows} dials`,
    );
    await page.getByText('Attempt Report downloaded').last().waitFor();
    await page
      .getByText(new RegExp(`^${rows} rows, `))
      .last()
      .waitFor();
    await eventually('the button is enabled again', async () => !(await button.isDisabled()));
  },
  { expected: (text) => text.includes('ERR_INCOMPLETE_CHUNKED_ENCODING') || text.includes('404') },
);
