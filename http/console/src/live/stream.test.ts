import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import type { Problem } from '../api/problem';
import type { ServerEvent } from './events';
import { runStream } from './stream';

/** A server whose connections the test holds open, ends, or never opens. */
class Server {
  asked: { lastEventId: string | null; at: number }[] = [];
  #lines: ReadableStreamDefaultController<Uint8Array>[] = [];
  refuse: Response | undefined;

  fetch = (_: string, init: RequestInit): Promise<Response> => {
    this.asked.push({ lastEventId: new Headers(init.headers).get('Last-Event-ID'), at: Date.now() });
    if (this.refuse) return Promise.resolve(this.refuse.clone());
    const body = new ReadableStream<Uint8Array>({
      start: (line) => {
        this.#lines.push(line);
        init.signal?.addEventListener('abort', () => line.error(new DOMException('aborted', 'AbortError')));
      },
    });
    return Promise.resolve(new Response(body, { status: 200 }));
  };

  say(text: string) {
    this.#lines.at(-1)?.enqueue(new TextEncoder().encode(text));
  }

  end() {
    this.#lines.at(-1)?.close();
  }
}

/** What a reader of the stream sees. */
function reader(server: Server) {
  vi.stubGlobal('fetch', server.fetch);
  const seen = {
    events: [] as ServerEvent[],
    lost: [] as { problem: Problem; final: boolean }[],
    opened: 0,
    ended: false,
  };
  const end = new AbortController();
  void runStream(
    '/live',
    {
      lastEventId: () => seen.events.at(-1)?.id,
      opened: () => seen.opened++,
      event: (e) => seen.events.push(e),
      lost: (problem, final) => seen.lost.push({ problem, final }),
    },
    end.signal,
  ).then(() => (seen.ended = true));
  return { seen, end };
}

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test('a stream that ends is opened again where it was', async () => {
  const server = new Server();
  const { seen, end } = reader(server);
  await pass(0);
  server.say('id: 7\nevent: snapshot\ndata: {}\n\n');
  await pass(0);
  server.end();
  await pass(0);
  expect(seen.lost.map((l) => l.final)).toEqual([false]);
  await pass(5_000);
  expect(server.asked.map((a) => a.lastEventId)).toEqual([null, '7']);
  expect(seen.opened).toBe(2);
  end.abort();
  await pass(0);
  expect(seen.ended).toBe(true);
});

test('a stream that is silent for too long is cut', async () => {
  const server = new Server();
  const { seen, end } = reader(server);
  for (let s = 0; s < 60; s += 10) {
    await pass(10_000);
    server.say(': heartbeat\n\n');
  }
  expect(seen.lost).toEqual([]);
  await pass(21_000);
  expect(seen.lost.map((l) => l.problem.code)).toEqual(['stream_silent']);
  await pass(5_000);
  expect(seen.opened).toBe(2);
  end.abort();
});

test.each([401, 403, 404])('a refusal with %i is final', async (status) => {
  const server = new Server();
  server.refuse = new Response('', { status });
  const { seen } = reader(server);
  await pass(120_000);
  expect(seen.lost.map((l) => l.final)).toEqual([true]);
  expect(server.asked).toHaveLength(1);
  expect(seen.ended).toBe(true);
});

test('an overloaded server is asked ever more seldom, and not before it said', async () => {
  const server = new Server();
  server.refuse = new Response('', { status: 503, headers: { 'Retry-After': '8' } });
  const { end } = reader(server);
  await pass(300_000);
  end.abort();
  const waits = server.asked.slice(1).map((a, i) => a.at - (server.asked[i]?.at ?? 0));
  expect(Math.min(...waits)).toBeGreaterThanOrEqual(8_000);
  expect(Math.max(...waits)).toBeLessThanOrEqual(16_000);
  expect(server.asked.length).toBeLessThan(50);
});
