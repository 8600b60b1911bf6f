import createClient from 'openapi-fetch';

import { noteServerTime } from './clock';
import { Problem, asProblem, problemOf, unreachable } from './problem';
import type { components, paths } from './schema';

// The API as functions with types from openapi.yaml. The session cookie goes along by itself; what it does not do is
// prove that the request comes from this page, so everything but GET carries the session's CSRF token.

export type Schemas = components['schemas'];
export type Campaign = Schemas['Campaign'];
export type Contact = Schemas['Contact'];
export type Attempt = Schemas['Attempt'];
export type Session = Schemas['Session'];
export type Role = Session['user']['role'];

let csrf = '';

/** setToken takes the token that GET or POST /session gave. */
export function setToken(token: string) {
  csrf = token;
}

const listeners = new Set<() => void>();

/** onLoggedOut calls back when an answer shows that the session is over. */
export function onLoggedOut(f: () => void): () => void {
  listeners.add(f);
  return () => listeners.delete(f);
}

let asking = false;

/** How long the answer to a log-in may be on its way when the session before has ended, ms. */
const underWayMs = 1_000;

/** over says whether the dialler knows of no session. */
async function over(): Promise<boolean> {
  return (await fetch('/api/v1/session').catch(() => undefined))?.status === 401;
}

/**
 * noteRefusal looks at a refused request: 401 means that the session has ended, unless the request was made in the one
 * before. So the dialler is asked whether there is a session now, and once more a little later: a log-in in another tab
 * ends the session before, and its cookie may still be under way.
 */
export async function noteRefusal(p: Problem) {
  if (p.status !== 401 || csrf === '' || asking) return;
  const before = csrf;
  asking = true;
  let ended = await over();
  if (ended && csrf === before) {
    await new Promise((resolve) => setTimeout(resolve, underWayMs));
    ended = csrf === before && (await over());
  }
  asking = false;
  if (ended && csrf === before) listeners.forEach((f) => f());
}

const reads = new Set(['GET', 'HEAD', 'OPTIONS']);

/** renewToken asks for the token again: a log-in in another tab has changed it. It says whether it is another one. */
export async function renewToken(): Promise<boolean> {
  const before = csrf;
  const answer = await fetch('/api/v1/session');
  if (!answer.ok) return false;
  csrf = ((await answer.json()) as Session).csrf_token;
  return csrf !== before;
}

export function token(): string {
  return csrf;
}

async function send(request: Request): Promise<Response> {
  const write = !reads.has(request.method);
  const again = write ? request.clone() : undefined;
  if (write) request.headers.set('X-CSRF-Token', csrf);
  const answer = await fetch(request);
  noteServerTime(answer.headers.get('Date'));
  if (again !== undefined && answer.status === 403) {
    const p = problemOf(403, await answer.clone().text());
    if (p.code === 'csrf_token_invalid' && (await renewToken())) {
      again.headers.set('X-CSRF-Token', csrf);
      return fetch(again);
    }
  }
  return answer;
}

export const api = createClient<paths>({
  baseUrl: typeof location === 'undefined' ? '' : location.origin,
  fetch: send,
});

api.use({
  async onResponse({ response, schemaPath }) {
    if (response.ok) return undefined;
    const p = problemOf(response.status, await response.text(), response.headers.get('Retry-After'));
    if (schemaPath !== '/api/v1/session') void noteRefusal(p);
    throw p;
  },
  onError({ error }) {
    return error instanceof Error && error.name === 'AbortError' ? error : unreachable();
  },
});

/** data gives the body of a request that succeeded; every other end is thrown as a Problem. */
export async function data<T>(answer: Promise<{ data?: T }>): Promise<T> {
  try {
    return (await answer).data as T;
  } catch (e) {
    if (e instanceof Error && e.name === 'AbortError') throw e;
    throw asProblem(e);
  }
}
