// What the page of a campaign shows, rule by rule of the specification. The campaign is real; what its figures are is
// set between browser and dialler, so that every rule is met at its threshold and on both sides of it.
import { accessible, eventually, firstLoad, fits, logIn, must, setting, withBrowser } from './browser.mjs';

const base = setting('DIALLER_URL');
const id = setting('CAMPAIGN');
const address = `${base}/dashboard/campaigns/${id}`;

/** What the next answer of the API is changed to. */
let change = (c) => c;

const at = (page, name) => page.locator(`[data-figure="${name}"]`);

/** shown is a figure as it is written; null when it is not there. */
async function shown(page, name) {
  return (await at(page, name).allInnerTexts())[0]?.trim() ?? null; // without waiting: it may go any moment
}

/** expect changes the campaign and waits until figures are written as they should be; null: not there. */
async function expect(page, what, next, figures) {
  change = next;
  let seen;
  await eventually(
    `${what}: ${JSON.stringify(figures)}`,
    async () => {
      seen = Object.fromEntries(await Promise.all(Object.keys(figures).map(async (f) => [f, await shown(page, f)])));
      return Object.entries(figures).every(([f, v]) => (v instanceof RegExp ? v.test(seen[f] ?? '') : seen[f] === v));
    },
    60_000,
  ).catch((e) => {
    throw new Error(`${e.message}, but ${JSON.stringify(seen)}`);
  });
}

const ago = (s) => new Date(Date.now() - s * 1000).toISOString();

/** lastDial reads the age of the last dial and its tone, both of the same moment. */
async function lastDial(page) {
  const { text, tone } = await at(page, 'last_dial').evaluate((e) => ({
    text: e.innerText,
    tone: e.getAttribute('data-tone'),
  }));
  return { s: /^\d+s ago$/.test(text.trim()) ? parseInt(text, 10) : undefined, tone };
}

/** patched lays changes over a campaign; counters and live figures one by one. */
const patched = (p) => (c) => ({
  ...c,
  ...p,
  counters: { ...c.counters, ...(p.counters ?? {}) },
  live: p.live === null ? null : { ...c.live, ...(p.live ?? {}) },
  settings: { ...c.settings, ...(p.settings ?? {}) },
});

const running = { status: 'running', draining: false, totals: null, completed_at: null, completion_reason: undefined };
const quiet = {
  dialling: 0,
  ringing: 0,
  in_progress: 0,
  constraint: '',
  at: new Date().toISOString(),
  indicator: 'live',
  dials_per_s: null,
  connected_per_h: null,
  avg_ring_s: null,
  eta_s: null,
  explanation: '',
  resources: [],
  last_dial_at: undefined,
};

await withBrowser(
  async (page, context) => {
    await page.goto(address);
    await logIn(page);
    await page.getByRole('heading', { level: 1, name: setting('CAMPAIGN_NAME') }).waitFor();

    // The first load is small, of the page that has the most.
    await page.locator('[data-plot="dials"] canvas').waitFor();
    const loaded = await firstLoad(page);
    must(loaded > 100 * 1024 && loaded <= 450 * 1024, `the first load takes ${Math.round(loaded / 1024)} KiB`);

    // The call list as it is: columns, footer, attempt trail with all that is known of each dial.
    const table = page.getByRole('table', { name: 'Contacts' });
    await table.waitFor();
    const columns = await table.getByRole('columnheader').allInnerTexts();
    must(
      columns.join() === 'Phone,Status,Attempts,Attempt Trail,Last Result,Variables',
      `the columns are ${columns.join()}`,
    );
    await eventually(
      `the footer says ${setting('CONTACTS')}`,
      async () => (await shown(page, 'contacts_total')) === setting('CONTACTS'),
    );
    const [previous, next] = [
      page.getByRole('button', { name: 'Previous' }),
      page.getByRole('button', { name: 'Next', exact: true }),
    ];
    must(
      (await table.locator('[data-contact]').count()) === 50,
      `the first page has ${await table.locator('[data-contact]').count()} contacts`,
    );
    must(
      (await previous.isDisabled()) && !(await next.isDisabled()),
      'on the first page Previous is not disabled, or Next is',
    );
    await next.click();
    await eventually(
      'the last page',
      async () => (await table.locator('[data-contact]').count()) === Number(setting('CONTACTS')) - 50,
    );
    must(
      !(await previous.isDisabled()) && (await next.isDisabled()),
      'on the last page Next is not disabled, or Previous is',
    );
    // What cannot be looked for shows no rows, and why.
    const search = page.getByLabel('Find contacts by number, name or variable');
    for (const text of ['z', 'z 1', 'one two three four five six seven']) {
      await search.fill(text);
      await page.getByText('This cannot be searched for').waitFor();
      must(
        (await page.locator('[data-contact]').count()) === 0 && (await shown(page, 'contacts_total')) === null,
        `a search for ${text} shows rows that were not looked for`,
      );
    }
    await search.fill('nobody has this');
    await page.getByText('No contact fits').waitFor();
    must((await page.locator('[data-contact]').count()) === 0, 'a search that finds nobody shows rows');
    await accessible(page, 'a search that cannot be applied');
    if (process.env['SCREENSHOTS']) await page.screenshot({ path: `${process.env['SCREENSHOTS']}/search.png` });
    await search.fill(setting('UNMAPPED'));
    const contact = table.locator(`[data-contact="${setting('UNMAPPED')}"]`);
    await contact.waitFor();
    await eventually(
      'only the contact with the number',
      async () => (await table.locator('[data-contact]').count()) === 1,
    );
    must((await contact.locator('[data-figure="attempts"]').innerText()) === '1/1', 'the attempts are not 1/1');
    await contact.getByRole('button', { name: 'Show details' }).click();
    await page.getByRole('table', { name: 'Attempts' }).waitFor();
    const cells = await page
      .getByRole('table', { name: 'Attempts' })
      .getByRole('row')
      .nth(1)
      .getByRole('cell')
      .allInnerTexts();
    must(
      cells[0] === '1' &&
        cells[2] === setting('UNMAPPED') &&
        cells[3] === setting('FROM') &&
        /\d\d:\d\d:\d\d/.test(cells[4]) &&
        /\d\d:\d\d:\d\d/.test(cells[5]),
      `the attempt shows ${JSON.stringify(cells)}`,
    );
    must(cells[7].includes(setting('CODE')), `the code without a friendly reason is not shown: ${cells[7]}`);
    must(
      /^[0-9a-f]{8}$/.test(cells[9].trim()) &&
        (await contact.locator('[data-attempt]').getAttribute('data-attempt')) === cells[9].trim(),
      `the last 8 characters of the attempt are shown as ${cells[9]}`,
    );
    must((await contact.innerText()).includes('Ada'), 'the variables are not shown');
    must(
      (await page.getByLabel('Show calls by callback').count()) === 0,
      'filters of callbacks are there without callback detection',
    );

    // One contact with all that is known of it, and why it is not dialled now.
    await contact.getByRole('button', { name: setting('UNMAPPED'), exact: true }).click();
    const drawer = page.getByRole('dialog');
    await drawer.locator('[data-explain]').waitFor();
    must(
      (await drawer.innerText()).includes(setting('CODE')) &&
        (await drawer.getByRole('list', { name: 'Stages' }).innerText()).includes('Dialling'),
      `the contact shows ${await drawer.innerText()}`,
    );
    await drawer.getByRole('button', { name: 'SIP messages' }).click();
    await drawer.getByRole('list', { name: 'SIP messages' }).getByText('INVITE').first().waitFor();
    await accessible(page, 'one contact');
    await page.keyboard.press('Escape');
    await drawer.waitFor({ state: 'detached' });

    // From here on the figures are those of the test: it changes what the API answers, and the stream tells that twice
    // a second.
    await context.route(
      (url) => url.pathname === `/api/v1/campaigns/${id}`,
      async (route) => {
        const answer = await route.fetch();
        return route.fulfill({ response: answer, json: change(await answer.json()) });
      },
    );
    await context.addInitScript((campaign) => {
      const real = window.fetch;
      let told = 0;
      const stream = () =>
        new window.ReadableStream({
          start(to) {
            const tell = async () => {
              const data = JSON.stringify(await (await real(campaign)).json());
              to.enqueue(new window.TextEncoder().encode(`id: t-${++told}\nevent: snapshot\ndata: ${data}\n\n`));
            };
            window.setInterval(tell, 500);
          },
        });
      window.fetch = async (what, how) =>
        new URL(what.url ?? what, window.location.href).pathname === `${campaign}/live`
          ? new window.Response(stream(), { headers: { 'Content-Type': 'text/event-stream' } })
          : real(what, how);
    }, `/api/v1/campaigns/${id}`);
    change = patched({ ...running, live: quiet });
    await context.route(
      (url) => url.pathname === `/api/v1/campaigns/${id}/contacts`,
      async (route) => {
        const answer = await route.fetch();
        const list = await answer.json();
        const [c] = list.contacts;
        if (c) {
          const [a] = c.attempt_trail;
          const open = {
            ...a,
            attempt_id: 'ab'.repeat(16),
            short_id: 'abababab',
            number: 2,
            state: 'connected',
            outcome: undefined,
            ended_at: null,
            sip_code: undefined,
            sip_reason: undefined,
            session_id: 'MZ0123456789abcdef',
          };
          Object.assign(c, {
            attempts: 2,
            max_attempts: 5,
            last_result: 'interested',
            callback: { state: 'pending', at: ago(-3600) },
            attempt_trail: [{ ...a, outcome: 'busy', sip_code: undefined, sip_reason: 'Busy' }, open],
          });
        }
        return route.fulfill({ response: answer, json: list });
      },
    );
    await page.reload();
    await at(page, 'ringing').waitFor();

    // A contact with a callback, a call that goes on, and one that failed for a reason that has a friendly name.
    const first = table.locator('[data-contact]').first();
    await first.locator('[data-tone="purple"]', { hasText: 'Callback' }).waitFor();
    must(
      (await table.locator('[data-tone="purple"]', { hasText: 'Callback' }).count()) === 1,
      'contacts without a callback have its badge',
    );
    must(
      (await first.innerText()).includes('interested') &&
        (await first.locator('[data-figure="attempts"]').innerText()) === '2/5',
      `the contact shows ${await first.innerText()}`,
    );
    await first.getByRole('button', { name: 'Show details' }).click();
    await page.getByRole('table', { name: 'Attempts' }).waitFor();
    const attemptRow = async (n) =>
      page.getByRole('table', { name: 'Attempts' }).getByRole('row').nth(n).getByRole('cell').allInnerTexts();
    must((await attemptRow(1))[7] === 'Busy', `a friendly reason is shown as ${(await attemptRow(1))[7]}`);
    must(
      (await attemptRow(2))[5] === 'still open' &&
        (await attemptRow(2))[8].includes('89abcdef') &&
        (await attemptRow(2))[9].trim() === 'abababab',
      `a call that goes on shows ${JSON.stringify(await attemptRow(2))}`,
    );
    must(
      (await page.getByRole('button', { name: 'Copy session ID' }).count()) === 1,
      'the session ID has no copy control',
    );
    await first.getByRole('button', { name: 'Hide details' }).click();

    // Idle is --; a dial of 30 s ago is not overdue, one of more than 30 s is orange.
    await expect(page, 'idle', patched({ ...running, live: quiet }), {
      dials_per_s: '--',
      connected_per_h: '--',
      avg_ring_s: '--',
      last_dial: '--',
      ringing: '0',
      in_progress: '0',
      eta: null,
    });
    // The times are of the moment of each answer: however long the page takes, they do not grow older than it shows.
    const dialled =
      (s, more = {}) =>
      (c) =>
        patched({ ...running, live: { ...quiet, ...more, last_dial_at: ago(s) } })(c);
    await expect(
      page,
      'at work',
      dialled(8, {
        ringing: 7,
        in_progress: 12,
        dials_per_s: 1.25,
        connected_per_h: 1234,
        avg_ring_s: 9.5,
        eta_s: 3900,
      }),
      {
        ringing: '7',
        in_progress: '12',
        dials_per_s: /^1\.[23]$/,
        connected_per_h: '1,234',
        avg_ring_s: '9.5 s',
        eta: '~1h5m',
        last_dial: /^\d+s ago$/,
      },
    );
    await eventually('a dial of some seconds ago is not orange', async () => (await lastDial(page)).tone === null);
    await expect(page, 'a dial long ago', dialled(45), { last_dial: /^(4[4-9]|5\d)s ago$/ });
    await eventually('a dial of 45 s ago is orange', async () => (await lastDial(page)).tone === 'orange');
    const orange = await at(page, 'last_dial').evaluate((e) => window.getComputedStyle(e).color);
    must(orange === 'rgb(150, 64, 10)', `orange is ${orange}`);
    let turn; // of the first answer that tells of it, and of all that follow
    change = (c) => patched({ ...running, live: { ...quiet, last_dial_at: (turn ??= ago(18)) } })(c);
    await eventually('a dial of some 20 s ago is not orange', async () => {
      const { s, tone } = await lastDial(page);
      return s >= 17 && s <= 30 && tone === null;
    });
    await eventually('it turns orange by itself', async () => (await lastDial(page)).tone === 'orange');
    must(Date.now() - Date.parse(turn) > 30_000, 'it turned orange too early');

    // The three indicators, each in its colour.
    for (const [indicator, label, tone] of [
      ['live', 'Live Activity', 'green'],
      ['idle', 'Idle, waiting for retries', 'amber'],
      ['outside_window', 'Paused, outside time window', 'orange'],
    ]) {
      change = patched({ ...running, live: { ...quiet, indicator } });
      await page.locator(`[data-tone="${tone}"]`, { hasText: label }).first().waitFor();
    }

    // Counters that are there only above zero.
    const zero = { machine_detected: 0, window_closed: 0, manually_stopped: 0 };
    await expect(page, 'counters at zero are hidden', patched({ ...running, live: quiet, counters: zero }), {
      total: setting('CONTACTS'),
      pending: /\d/,
      connected: /\d/,
      completed: /\d/,
      unanswered: /\d/,
      retries_left: /\d/,
      abandoned: /\d/,
      machine_detected: null,
      window_closed: null,
      manually_stopped: null,
    });
    for (const name of Object.keys(zero)) {
      await expect(page, `${name} above zero`, patched({ ...running, live: quiet, counters: { ...zero, [name]: 3 } }), {
        ...Object.fromEntries(Object.keys(zero).map((z) => [z, null])),
        [name]: '3',
      });
    }
    await expect(
      page,
      'rates',
      patched({
        ...running,
        live: quiet,
        counters: { answer_rate: 0.4321, completion_rate: 0.9, abandon_rate: null, aht_s: 41 },
      }),
      { answer_rate: /^43\.2/, completion_rate: /^90\.0/, abandon_rate: '--', aht_s: '41 s' },
    );

    // Abandons because capacity was lost count like all, and stand apart, in each period and when it is over.
    const ledger = (period, capacity_loss) => ({
      period,
      since: ago(600),
      until: null,
      live_answers: 200,
      abandoned: 5,
      capacity_loss,
      machines: 0,
      abandon_rate: 0.025,
      credit: 1,
    });
    const losses = {
      ...running,
      live: { ...quiet, ledgers: [ledger('run', 2), ledger('day', 3), ledger('30_day', 0)] },
    };
    await expect(page, 'capacity loss', patched(losses), {
      capacity_loss_run: '2',
      capacity_loss_day: '3',
      capacity_loss_30_day: null,
    });
    must(
      (await page.locator('[data-meter="abandon_run"]').innerText()).includes(
        '2 of 5 abandoned because capacity was lost',
      ),
      'capacity loss is not told apart from the other abandons',
    );
    must(
      (await page.locator('[data-meter="abandon_run"]').innerText()).includes('2.5'),
      'capacity loss is left out of the rate',
    );
    await expect(
      page,
      'capacity loss of a run that is over',
      patched({
        status: 'completed',
        live: null,
        counters: { abandoned: 4, capacity_loss: 1, live_answers: 100, abandon_rate: 0.04 },
      }),
      { capacity_loss_run: '1' },
    );

    // The five states, each in its colour and with its actions. What is live is there while the campaign runs or is
    // paused.
    const all = [
      'Start',
      'Pause',
      'Resume',
      'Stop',
      'Restart',
      'Cancel Restart',
      'Edit',
      'Add contacts',
      'Attempt Report',
    ];
    const states = [
      ['draft', 'Draft', 'grey', ['Start', 'Edit']],
      ['running', 'Running', 'green', ['Pause', 'Stop', 'Add contacts']],
      ['paused', 'Paused', 'amber', ['Resume', 'Stop', 'Edit']],
      ['completed', 'Completed', 'blue', ['Restart']],
      ['failed', 'Failed', 'red', ['Restart']],
    ];
    for (const [status, label, tone, actions] of states) {
      change = patched({ ...running, status, live: quiet });
      await page.locator(`header [data-tone="${tone}"]`, { hasText: label }).first().waitFor();
      const there = await Promise.all(
        all.map(async (name) =>
          (await page.locator('header').last().getByText(name, { exact: true }).count()) > 0 ? [name] : [],
        ),
      );
      must(
        there.flat().sort().join() === [...actions, 'Attempt Report'].sort().join(),
        `a ${status} campaign has the actions ${there.flat().join()}`,
      );
      must(
        ((await at(page, 'ringing').count()) === 1) === ['running', 'paused'].includes(status),
        `live activity of a ${status} campaign is ${await at(page, 'ringing').count()} times there`,
      );
    }
    must(
      (await page.locator('[data-tone="purple"]', { hasText: 'Always-on' }).count()) === 0,
      'the badge Always-on is there though it is off',
    );

    // Who and when; what never was is blank, and says so to who does not see.
    const by = (name) => ({ name });
    await expect(
      page,
      'who and when',
      patched({
        ...running,
        live: quiet,
        run: 3,
        created_at: ago(9000),
        created_by: by('ann@example.org'),
        started_at: ago(600),
        restarted_at: ago(700),
        restarted_by: by('bob@example.org'),
      }),
      {
        run: '3',
        created: /\d\d:\d\d\s+by ann@example\.org$/,
        current_run: /\d\d:\d\d$/,
        restarted: /\d\d:\d\d\s+by bob@example\.org$/,
        completed_at: 'never',
      },
    );
    await expect(
      page,
      'what never was',
      patched({ ...running, status: 'draft', live: null, started_at: null, restarted_at: null, restarted_by: null }),
      { current_run: 'never', restarted: 'never', completed_at: 'never' },
    );
    for (const name of ['current_run', 'restarted', 'completed_at']) {
      const box = await at(page, name).locator('span').first().boundingBox();
      must(box === null || box.width <= 1, `${name} is not blank: ${box?.width} px`);
    }

    // The notice of a prepared restart: run, who, when.
    change = patched({
      ...running,
      status: 'draft',
      ever_run: true,
      live: null,
      run: 3,
      prepared_restart: true,
      prepared: { run: 3, by: by('bob@example.org'), at: ago(120), only_unreached: false },
    });
    const notice = page.locator('[data-notice="prepared"]');
    await notice.getByText('Run 3 is prepared').waitFor();
    must(
      /Restarted by bob@example\.org, .*\d\d:\d\d.*Dialling has not started/.test(
        (await notice.innerText()).replaceAll('\n', ' '),
      ),
      `the notice says ${await notice.innerText()}`,
    );
    for (const name of ['Start', 'Cancel Restart']) await page.getByRole('button', { name, exact: true }).waitFor();

    // The configuration: rules that are on, lists that are empty, every day of the week.
    change = (c) =>
      patched({
        ...running,
        live: quiet,
        settings: {
          single_day: true,
          retry_on_system: [],
          retry_on_custom: [],
          redial_only_under_s: 20,
          sticky_exclusion: false,
          window: { ...c.settings.window, days: [] },
        },
      })(c);
    const configured = (field) => page.locator(`[data-setting="${field}"] dd`);
    await configured('redial_only_under_s').waitFor();
    for (const [field, value] of Object.entries({
      single_day: 'Single-day',
      retry_on_system: 'None',
      retry_on_custom: 'None',
      redial_only_under_s: '20 s of conversation',
      sticky_exclusion: 'Off',
      'window.days': 'All seven days',
    })) {
      const seen = (await configured(field).innerText()).trim();
      must(seen === value, `${field} is shown as ${seen}, not ${value}`);
    }
    must((await page.locator('[data-setting="stop_redials_after_s"]').count()) === 0, 'a rule that is off is shown');
    must(
      (await page.locator('[data-setting]').locator('input, select, textarea').count()) === 0,
      'the configuration panel can be written in',
    );
    const command = await at(page, 'curl').innerText();
    must(
      command.startsWith('curl -X POST') &&
        command.includes(`${base}/api/v1/campaigns/trigger`) &&
        command.includes("'X-API-Key: <API_KEY>'") &&
        command.includes(`"campaign_id": "${id}"`),
      `the request to be pasted is ${command}`,
    );

    // A finished campaign: its progress line has the totals, and nothing is live. Draining is said.
    const ended = {
      status: 'completed',
      completed_at: ago(60),
      completion_reason: 'window_ended',
      live: null,
      draining: true,
      totals: { total_connected: 812, dialling_s: 3600, dials_per_s: 0.5, connected_per_h: 812, calls_per_min: 30.25 },
    };
    await expect(page, 'a finished campaign', patched(ended), {
      total_connected: '812',
      total_dials_per_s: '0.5',
      total_connected_per_h: '812',
      total_calls_per_min: /^30\.[23]$/,
      ringing: null,
      completed_at: /\d\d:\d\d/,
    });
    await page.getByText('Reason: calling window ended.').waitFor();
    await page.locator('[data-tone="amber"]', { hasText: 'Draining' }).waitFor();
    for (const [reason, words] of Object.entries({
      all_contacts_final: 'all contacts reached a final state',
      max_retries_completed: 'max retries completed',
      manually_stopped: 'manually stopped',
      no_callable_contacts: 'no callable contacts',
    })) {
      change = patched({ ...ended, completion_reason: reason, draining: false });
      await page.getByText(`Reason: ${words}.`).waitFor();
    }
    await expect(
      page,
      'a failed campaign',
      patched({ ...ended, status: 'failed', failure_reason: 'config_url_unreachable: no answer' }),
      { completed_at: 'never' },
    );
    await page.locator('header [data-tone="red"]', { hasText: 'Failed' }).waitFor();

    // Passes, callbacks and their filters, the Config URL: there when there is something to show.
    must(
      (await shown(page, 'callbacks_requested')) === null,
      'the callbacks panel is there without callback detection',
    );
    const passes = [
      {
        pass: 1,
        eligible: 60,
        attempted: 60,
        connected: 30,
        connected_rate: 0.5,
        first_dial_at: ago(600),
        last_dial_at: ago(300),
        running: false,
      },
      {
        pass: 2,
        eligible: 20,
        attempted: 5,
        connected: 1,
        connected_rate: 0.2,
        first_dial_at: ago(200),
        last_dial_at: ago(10),
        running: true,
      },
    ];
    await expect(
      page,
      'callbacks',
      patched({
        ...running,
        live: quiet,
        passes,
        callbacks: { requested: 9, pending: 4, completed: 3, cancelled: 2, mean_delay_s: 65 },
        settings: { callback_detection: true, config_url: 'https://config.example.org/autumn.json' },
      }),
      { callbacks_requested: '9', callbacks_pending: '4', callbacks_completed: '3', callbacks_delay: '1 min 5 s' },
    );
    must(
      (await page.locator('[data-setting="config_url"]').innerText()).includes(
        'https://config.example.org/autumn.json',
      ),
      'the Config URL is not shown',
    );
    const pass = (n) => page.locator(`[data-pass="${n}"]`).innerText();
    must(
      /Pass 1\s+60 \/ 60\s+50\.0.%\s+(.* )?\d\d:\d\d:\d\d – (.* )?\d\d:\d\d:\d\d/.test(await pass(1)) &&
        !(await pass(1)).includes('running'),
      `pass 1 is shown as ${await pass(1)}`,
    );
    must(
      /Pass 2\s+5 \/ 20\s+20\.0.%/.test(await pass(2)) && (await pass(2)).includes('still running'),
      `pass 2 is shown as ${await pass(2)}`,
    );
    await search.fill('');
    await page.getByRole('combobox', { name: 'Show calls by callback' }).click();
    await page.getByRole('option', { name: 'All calls' }).waitFor();
    const options = await page.getByRole('option').allInnerTexts();
    must(
      options.join() === 'All calls,Callbacks requested,Callbacks pending,Callbacks completed,Callbacks cancelled',
      `the filters are ${options.join()}`,
    );
    const asked = page.waitForRequest((r) => r.url().includes('/contacts') && r.url().includes('callback=pending'));
    await page.getByRole('option', { name: 'Callbacks pending' }).click();
    await asked;
    await page.getByText('No contact fits').waitFor();
    await page.setViewportSize({ width: 390, height: 844 });
    await accessible(page, 'the page of a campaign on a small screen');
    await fits(page, 'the page of a campaign on a small screen');
  },
  // Of run 3, which only the answers made here speak of, nobody has counted anything.
  { expected: (text, url) => text.includes('404') && url.endsWith('run=3') },
);
