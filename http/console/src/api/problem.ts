import type { components } from './schema';

type Body = components['schemas']['Problem'];

/** What the API says when it refuses (RFC 9457), or what stands in for it when it could not be asked. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly status: number; // 0: no answer
  readonly code: string; // stable, snake_case
  readonly errors: NonNullable<Body['errors']>; // one entry a mistake or blocker
  readonly requestId: string;
  readonly retryAfterMs: number | undefined;
  readonly current: unknown; // what holds now, of a version conflict

  constructor(
    status: number,
    code: string,
    detail: string,
    more: Partial<Pick<Problem, 'errors' | 'requestId' | 'retryAfterMs' | 'current'>> = {},
  ) {
    super(detail);
    this.status = status;
    this.code = code;
    this.errors = more.errors ?? [];
    this.requestId = more.requestId ?? '';
    this.retryAfterMs = more.retryAfterMs;
    this.current = more.current;
  }
}

/** unreachable stands for a request that got no answer. */
export function unreachable(): Problem {
  return new Problem(0, 'unreachable', 'The dialler does not answer. Check the network; the console goes on trying.');
}

/** problemOf reads the body of an answer that is no success; it need not come from the dialler, proxies answer too. */
export function problemOf(status: number, body: string, retryAfter: string | null = null): Problem {
  const seconds = Number(retryAfter);
  const retryAfterMs = retryAfter !== null && Number.isFinite(seconds) ? seconds * 1000 : undefined;
  try {
    const p = JSON.parse(body) as Partial<Body> | null;
    if (p !== null && typeof p === 'object' && typeof p.code === 'string' && typeof p.detail === 'string') {
      return new Problem(status, p.code, p.detail, {
        errors: p.errors ?? [],
        requestId: p.request_id ?? '',
        retryAfterMs,
        current: p.current,
      });
    }
  } catch {
    // not JSON: below
  }
  return new Problem(status, `http_${status}`, `The request was answered with status ${status}.`, { retryAfterMs });
}

/** asProblem makes a Problem of whatever was thrown. */
export function asProblem(e: unknown): Problem {
  if (e instanceof Problem) return e;
  if (e instanceof TypeError) return unreachable(); // what fetch throws when there is no answer
  return new Problem(0, 'console_fault', e instanceof Error ? e.message : String(e));
}
