import { noteServerTime } from '../api/clock';
import { Problem, asProblem, problemOf } from '../api/problem';
import type { ServerEvent } from './events';
import { EventParser } from './events';
import { pause } from './pause';

/** silenceMs is when a stream counts as dead: the server breaks its silence within 10 s. */
const silenceMs = 20_000;
const firstWaitMs = 1_000;
const longestWaitMs = 8_000;
const longestWishMs = 60_000; // of what a server asks for

/** StreamUser is who reads a stream. */
export interface StreamUser {
  /** The id of the last state that is held: the server goes on from there. */
  lastEventId(): string | undefined;
  opened(): void;
  event(e: ServerEvent): void;
  /** The stream broke or was refused; it is tried again unless final is true. */
  lost(p: Problem, final: boolean): void;
}

/** A refusal that the same request will meet again. */
function isFinal(p: Problem): boolean {
  return p.status === 401 || p.status === 403 || p.status === 404;
}

/**
 * runStream keeps a server-sent event stream open until the signal aborts or the server refuses for good. It is read
 * with fetch and not with EventSource, which hides why a stream was refused and cannot tell silence from a dead line.
 */
export async function runStream(url: string, user: StreamUser, signal: AbortSignal): Promise<void> {
  let failures = 0;
  const over = () => signal.aborted;
  while (!over()) {
    const parser = new EventParser();
    let problem = new Problem(0, 'stream_ended', 'The live stream has ended; it is being opened again.');
    try {
      await read(url, user, parser, signal, () => (failures = 0));
    } catch (e) {
      problem = asProblem(e);
    }
    if (over()) return;
    const final = isFinal(problem);
    user.lost(problem, final);
    if (final) return;
    const wished = Math.min(problem.retryAfterMs ?? parser.retryMs ?? 0, longestWishMs);
    const backOff = Math.min(firstWaitMs * 2 ** failures, longestWaitMs);
    failures++;
    // Many consoles lose their streams at the same moment when the server restarts: they come back spread out.
    await pause(Math.max(wished, backOff / 2) + (backOff / 2) * Math.random(), signal);
  }
}

/** read reads one connection to its end. */
async function read(
  url: string,
  user: StreamUser,
  parser: EventParser,
  signal: AbortSignal,
  opened: () => void,
): Promise<void> {
  const line = new AbortController();
  const cut = () => line.abort();
  signal.addEventListener('abort', cut);
  let watchdog = setTimeout(cut, silenceMs);
  const heard = () => {
    clearTimeout(watchdog);
    watchdog = setTimeout(cut, silenceMs);
  };
  try {
    const last = user.lastEventId();
    const answer = await fetch(url, {
      headers: { Accept: 'text/event-stream', ...(last === undefined ? {} : { 'Last-Event-ID': last }) },
      cache: 'no-store',
      signal: line.signal,
    });
    noteServerTime(answer.headers.get('Date'));
    if (!answer.ok) throw problemOf(answer.status, await answer.text(), answer.headers.get('Retry-After'));
    if (answer.body === null) throw new Problem(0, 'stream_empty', 'The live stream has no content.');
    opened();
    user.opened();
    const decoder = new TextDecoder();
    const reader = answer.body.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      heard();
      for (const e of parser.push(decoder.decode(value, { stream: true }))) user.event(e);
    }
  } catch (e) {
    if (line.signal.aborted && !signal.aborted)
      throw new Problem(0, 'stream_silent', 'The live stream fell silent; it is being opened again.');
    throw e;
  } finally {
    clearTimeout(watchdog);
    signal.removeEventListener('abort', cut);
    line.abort();
  }
}
