import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { Problem } from '../api/problem';
import type { ServerEvent } from './events';
import type { Surroundings } from './feed';
import { Feed } from './feed';
import type { StreamUser } from './stream';

/** A browser with its tabs: channels that deliver to all others, one lock a name, streams that the test drives. */
class Browser {
  streams: { user: StreamUser; signal: AbortSignal }[] = [];
  #channels = new Set<FakeChannel>();
  #waiting: (() => void)[] = [];
  #locked = false;
  #looks: ((looked: boolean) => void)[] = [];

  look(looked: boolean) {
    this.#looks.forEach((f) => f(looked));
  }

  tab(url = '/live', locks = true): Feed {
    const around: Surroundings = {
      channel: () => new FakeChannel(this.#channels) as unknown as BroadcastChannel,
      locks: locks ? { request: this.#request as unknown as LockManager['request'] } : undefined,
      watched: (f, signal) => {
        this.#looks.push(f);
        signal.addEventListener('abort', () => (this.#looks = this.#looks.filter((g) => g !== f)));
        f(true);
      },
      run: (_, user, signal) => {
        this.streams.push({ user, signal });
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
      },
    };
    return new Feed(url, around);
  }

  #request = async (_: string, { signal }: { signal: AbortSignal }, hold: () => Promise<void>) => {
    if (this.#locked) {
      await new Promise<void>((resolve, reject) => {
        this.#waiting.push(resolve);
        signal.addEventListener('abort', () => {
          this.#waiting = this.#waiting.filter((w) => w !== resolve);
          reject(new DOMException('aborted', 'AbortError'));
        });
      });
    }
    this.#locked = true;
    await hold();
    this.#locked = false;
    this.#waiting.shift()?.();
  };

  /** The stream that is read now: there must be one. */
  get stream(): StreamUser {
    const open = this.streams.filter((s) => !s.signal.aborted);
    expect(open).toHaveLength(1);
    return (open[0] as (typeof open)[0]).user;
  }
}

class FakeChannel {
  onmessage: ((m: { data: unknown }) => void) | null = null;
  #all: Set<FakeChannel>;

  constructor(all: Set<FakeChannel>) {
    this.#all = all;
    all.add(this);
  }

  postMessage(data: unknown) {
    for (const other of this.#all)
      if (other !== this)
        queueMicrotask(() => this.#all.has(other) && other.onmessage?.({ data: structuredClone(data) }));
  }

  close() {
    this.#all.delete(this);
  }
}

const event = (type: string, id: string, data: unknown): ServerEvent => ({ type, id, data: JSON.stringify(data) });
const heartbeat: ServerEvent = { type: '', id: undefined, data: '' };
const delivered = () => vi.advanceTimersByTimeAsync(0);

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('all tabs follow the one stream', async () => {
  const b = new Browser();
  const first = b.tab();
  await delivered();
  b.stream.opened();
  b.stream.event(event('snapshot', '1', { n: 1, gone: true }));
  const second = b.tab(); // comes later and asks for the state
  await delivered();
  expect(second.view).toEqual({ link: 'live', value: { n: 1, gone: true } });
  b.stream.event(event('delta', '2', { n: 2, gone: null }));
  await delivered();
  expect(first.view).toEqual({ link: 'live', value: { n: 2 } });
  expect(second.view).toEqual(first.view);
});

test('when the leading tab is closed another goes on from the same state', async () => {
  const b = new Browser();
  const first = b.tab();
  const second = b.tab();
  await delivered();
  b.stream.opened();
  b.stream.event(event('snapshot', '7', { n: 7 }));
  await delivered();
  first.close();
  await delivered();
  expect(b.stream.lastEventId()).toBe('7');
  b.stream.event(event('delta', '8', { n: 8 }));
  expect(second.view.value).toEqual({ n: 8 });
});

test('a tab that missed a delta asks for the state', async () => {
  const b = new Browser();
  b.tab();
  const second = b.tab();
  await delivered();
  const leader = b.stream;
  leader.opened();
  leader.event(event('snapshot', '1', { n: 1 }));
  leader.event(event('delta', '2', { n: 2 }));
  await delivered();
  // As if the tab had slept through a step.
  const late = b.tab();
  leader.event(event('delta', '3', { n: 3 }));
  await delivered();
  expect(second.view.value).toEqual({ n: 3 });
  expect(late.view.value).toEqual({ n: 3 });
});

test('a leader that falls silent counts as broken, and is heard again', async () => {
  const b = new Browser();
  b.tab();
  const second = b.tab();
  await delivered();
  b.stream.opened();
  b.stream.event(event('snapshot', '1', { n: 1 }));
  await delivered();
  for (let s = 0; s < 60; s += 10) {
    b.stream.event(heartbeat);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(second.view.link).toBe('live');
  }
  await vi.advanceTimersByTimeAsync(21_000);
  expect(second.view.link).toBe('broken');
  b.stream.event(heartbeat);
  await delivered();
  expect(second.view.link).toBe('live');
});

test('a stream that breaks keeps what it told', async () => {
  const b = new Browser();
  const tab = b.tab();
  await delivered();
  b.stream.opened();
  b.stream.event(event('snapshot', '1', { n: 1 }));
  b.stream.lost(new Problem(0, 'stream_ended', ''), false);
  expect(tab.view).toEqual({ link: 'broken', value: { n: 1 } });
  b.stream.opened();
  b.stream.event(event('delta', '2', {}));
  expect(tab.view).toEqual({ link: 'live', value: { n: 1 } });
});

test('gone is for good, and a campaign that is not there is gone', async () => {
  const b = new Browser();
  const tab = b.tab();
  await delivered();
  b.stream.opened();
  b.stream.event(event('snapshot', '1', { n: 1 }));
  b.stream.event(event('gone', '', {}));
  b.stream.lost(new Problem(0, 'stream_ended', ''), false);
  expect(tab.view.link).toBe('gone');
  const other = new Browser();
  const missing = other.tab();
  await delivered();
  other.stream.lost(new Problem(404, 'campaign_not_found', ''), true);
  expect(missing.view.link).toBe('gone');
});

test('an event that cannot be read is answered with a new snapshot', async () => {
  const b = new Browser();
  const tab = b.tab();
  await delivered();
  b.stream.opened();
  b.stream.event(event('snapshot', '1', { n: 1 }));
  expect(() => b.stream.event({ type: 'delta', id: '2', data: '{"n":' })).toThrow();
  expect(b.stream.lastEventId()).toBeUndefined();
  b.stream.event(event('snapshot', '3', { n: 3 }));
  expect(tab.view.value).toEqual({ n: 3 });
});

test('without locks every tab reads for itself, while it is looked at', async () => {
  const b = new Browser();
  const tab = b.tab('/live', false);
  b.stream.opened();
  b.stream.event(event('snapshot', '1', { n: 1 }));
  b.look(false);
  expect(b.streams.every((s) => s.signal.aborted)).toBe(true);
  b.look(true);
  b.look(true);
  expect(b.stream.lastEventId()).toBe('1');
  b.stream.event(event('delta', '2', { n: 2 }));
  expect(tab.view.value).toEqual({ n: 2 });
  b.tab('/live', false);
  expect(b.streams.filter((s) => !s.signal.aborted)).toHaveLength(2);
  tab.close();
  await delivered();
  expect(b.streams.filter((s) => !s.signal.aborted)).toHaveLength(1);
});
