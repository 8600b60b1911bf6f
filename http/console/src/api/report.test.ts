import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { fetchReport } from './report';

const header = 'run,pass,attempt_number,attempt_id,note\r\n';
const row = (n: number) => `1,1,1,${String(n).padStart(32, '0')},"line one\r\nline ${n}, of it"\r\n`;
const whole = header + [1, 2, 3, 4].map(row).join('');

/** Answers that follow one another: their text, and whether the connection breaks behind it. */
function server(...answers: ({ text: string; breaks?: boolean } | Response)[]) {
  const asked: string[] = [];
  vi.stubGlobal('fetch', (url: string) => {
    asked.push(url.split('?')[1] ?? '');
    const next = answers[Math.min(asked.length, answers.length) - 1];
    if (next instanceof Response) return Promise.resolve(next.clone());
    const body = new ReadableStream<Uint8Array>({
      start(line) {
        if (next?.text) line.enqueue(new TextEncoder().encode(next.text));
        if (next?.breaks) setTimeout(() => line.error(new TypeError('network error')), 10);
        else line.close();
      },
    });
    return Promise.resolve(new Response(body, { headers: { 'X-Report-Columns': 'c0' } }));
  });
  return asked;
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

async function fetched(signal = new AbortController().signal) {
  const told: boolean[] = [];
  let over = false as boolean;
  const end = fetchReport('c', signal, (p) => told.push(p.waiting === true)).then(
    (r) => r,
    (e: unknown) => e as Error & { code: string },
  );
  void end.finally(() => (over = true));
  while (!over) await vi.advanceTimersByTimeAsync(1000);
  return { end: await end, told };
}

test('a report that broke off goes on behind its last whole row, wherever it was cut', async () => {
  for (let cut = 1; cut < whole.length; cut += 3) {
    const rows = [1, 2, 3, 4].filter((n) => whole.indexOf(row(n)) + row(n).length <= cut);
    const asked = server(
      { text: whole.slice(0, cut), breaks: true },
      { text: rows.length === 0 ? whole : [1, 2, 3, 4].slice(rows.length).map(row).join('') },
    );
    const { end, told } = await fetched();
    if (!('file' in end)) throw end;
    expect(await end.file.text()).toBe(whole);
    expect([end.rows, end.bytes]).toEqual([4, whole.length]);
    expect(asked[1]).toBe(rows.length === 0 ? '' : `after=${String(rows.length).padStart(32, '0')}&columns=c0`);
    expect(told).toContain(true);
  }
});

test('a report that nothing can follow is an error, never a shorter file', async () => {
  const gone = new Response('{"code":"cursor_not_found","detail":"no such dial"}', { status: 404 });
  const refused = server({ text: header + row(1), breaks: true }, gone);
  expect((await fetched()).end).toMatchObject({
    code: 'report_broken',
    message: expect.stringContaining('after 1 row,') as string,
  });
  expect(refused).toHaveLength(2);
  const silent = server({ text: header + row(1), breaks: true }, { text: '', breaks: true });
  expect((await fetched()).end).toMatchObject({ code: 'report_broken' });
  expect(silent).toHaveLength(7);
});

test('a report that is refused at once is not asked for again', async () => {
  const asked = server(new Response('{"code":"unavailable","detail":"later"}', { status: 503 }));
  expect((await fetched()).end).toMatchObject({ code: 'unavailable' });
  expect(asked).toHaveLength(1);
});
