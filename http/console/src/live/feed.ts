import { noteRefusal } from '../api/client';
import type { Problem } from '../api/problem';
import type { Change, Held } from './held';
import { changeOf, missed, step } from './held';
import type { Json } from './merge';
import type { StreamUser } from './stream';
import { runStream } from './stream';

// One stream for all tabs of a browser. Over HTTP/1.1 a browser opens six connections to a server in all, and a stream
// keeps one of them: ten tabs would starve each other. The tabs agree on a leader by a Web Lock; it reads the stream
// and passes what it hears on over a BroadcastChannel. When the leader's tab is closed the lock goes to the next tab,
// which holds the same state and goes on with its Last-Event-ID.
//
// Web Locks exist only where the page came by https or from localhost; elsewhere every tab reads a stream of its own,
// but only while it is looked at.

/** How a feed is connected. Anything but live and gone: ask the API every few seconds instead. */
export type Link = 'connecting' | 'live' | 'broken' | 'refused' | 'gone';

export interface FeedView {
  link: Link;
  value: Json | undefined;
}

type Message =
  | { kind: 'hello' } // a new tab asks for the state
  | { kind: 'state'; held: Held | undefined; link: Link } // the leader answers
  | { kind: 'change'; change: Change }
  | { kind: 'link'; link: Link }; // also the leader's sign of life

/** What of the browser a feed needs; tests bring their own. */
export interface Surroundings {
  channel: ((name: string) => BroadcastChannel) | undefined;
  locks: Pick<LockManager, 'request'> | undefined;
  run: (url: string, user: StreamUser, signal: AbortSignal) => Promise<void>;
  /** Calls back when the tab is looked at or not, at once and with every change, until the signal aborts. */
  watched: (f: (looked: boolean) => void, signal: AbortSignal) => void;
}

const browser: Surroundings = {
  channel: 'BroadcastChannel' in globalThis ? (name) => new BroadcastChannel(name) : undefined,
  // Absent where the page came by plain http from another machine, whatever the types say.
  locks: typeof navigator === 'undefined' ? undefined : (navigator as Partial<Navigator>).locks,
  run: runStream,
  watched: (f, signal) => {
    const tell = () => f(document.visibilityState === 'visible');
    document.addEventListener('visibilitychange', tell, { signal });
    tell();
  },
};

/** A leader that says nothing for so long is gone or asleep: the dialler breaks its silence within 10 s. */
const leaderSilenceMs = 20_000;

export class Feed {
  readonly url: string;
  /** Called whenever the stream is heard, here or by the tab that reads it. */
  heard: () => void = () => undefined;
  #around: Surroundings;
  #view: FeedView = { link: 'connecting', value: undefined };
  #held: Held | undefined;
  #leading = false;
  #listeners = new Set<() => void>();
  #end = new AbortController();
  #channel: BroadcastChannel | undefined;
  #silence: ReturnType<typeof setTimeout> | undefined;

  constructor(url: string, around: Surroundings = browser) {
    this.url = url;
    this.#around = around;
    const { channel, locks } = around;
    if (channel === undefined || locks === undefined) {
      let reading: AbortController | undefined;
      around.watched((looked) => {
        if (!looked) reading?.abort();
        else if (reading === undefined || reading.signal.aborted) {
          reading = new AbortController();
          this.#read(AbortSignal.any([reading.signal, this.#end.signal]));
        }
      }, this.#end.signal);
      return;
    }
    const name = `dialler-live ${url}`;
    this.#channel = channel(name);
    this.#channel.onmessage = (m: MessageEvent<Message>) => this.#told(m.data);
    this.#say({ kind: 'hello' });
    this.#heard();
    locks
      .request(name, { signal: this.#end.signal }, () => {
        this.#lead();
        return new Promise<void>((resolve) => this.#end.signal.addEventListener('abort', () => resolve()));
      })
      .catch(() => {
        if (!this.#end.signal.aborted) this.#lead(); // locks are refused here: read for ourselves
      });
  }

  get view(): FeedView {
    return this.#view;
  }

  subscribe(f: () => void): () => void {
    this.#listeners.add(f);
    return () => this.#listeners.delete(f);
  }

  close() {
    this.#end.abort();
    clearTimeout(this.#silence);
    this.#channel?.close();
    this.#channel = undefined;
    this.#listeners.clear();
  }

  #lead() {
    if (this.#end.signal.aborted || this.#leading) return;
    this.#leading = true;
    clearTimeout(this.#silence);
    this.#read(this.#end.signal);
  }

  #read(signal: AbortSignal) {
    void this.#around.run(
      this.url,
      {
        lastEventId: () => this.#held?.id,
        opened: () => {
          this.heard();
          this.#setLink('live');
        },
        event: (e) => {
          this.heard();
          let change: Change | undefined;
          try {
            change = changeOf(e, this.#held);
            if (change !== undefined) this.#apply(change);
          } catch (err) {
            this.#held = undefined; // what is held cannot be trusted any more: have a snapshot
            throw err;
          }
          this.#say(change === undefined ? { kind: 'link', link: this.#view.link } : { kind: 'change', change });
        },
        lost: (p: Problem, final: boolean) => {
          void noteRefusal(p);
          this.#setLink(p.status === 404 ? 'gone' : final ? 'refused' : 'broken');
        },
      },
      signal,
    );
  }

  #told(m: Message) {
    if (this.#leading) {
      if (m.kind === 'hello') this.#say({ kind: 'state', held: this.#held, link: this.#view.link });
      return;
    }
    switch (m.kind) {
      case 'hello':
        return;
      case 'state':
        if (m.held !== undefined) this.#hold(m.held);
        this.#show(m.link);
        break;
      case 'link':
        if (m.link === 'live') this.heard();
        this.#show(m.link);
        break;
      case 'change':
        this.heard();
        this.#apply(m.change);
        break;
    }
    this.#heard();
  }

  #apply(c: Change) {
    if (c.kind === 'gone') {
      this.#show('gone');
      return;
    }
    const next = step(this.#held, c);
    if (next === missed) {
      this.#say({ kind: 'hello' });
      return;
    }
    this.#hold(next);
    this.#show('live');
  }

  #hold(held: Held) {
    this.#held = held;
  }

  #setLink(link: Link) {
    this.#show(link);
    this.#say({ kind: 'link', link });
  }

  #show(link: Link) {
    if (this.#view.link === 'gone') link = 'gone'; // the stream's end that follows is no news
    const value = this.#held?.value;
    if (this.#view.link === link && this.#view.value === value) return;
    this.#view = { link, value };
    this.#listeners.forEach((f) => f());
  }

  #say(m: Message) {
    this.#channel?.postMessage(m);
  }

  #heard() {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => this.#show('broken'), leaderSilenceMs);
  }
}
