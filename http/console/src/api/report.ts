import { pause } from '../live/pause';
import { noteRefusal } from './client';
import { Problem, asProblem, problemOf, unreachable } from './problem';
import { plural } from '../words/figures';
import { RowCounter } from './rows';

export interface ReportProgress {
  rows: number;
  bytes: number;
  /** The report broke off, and is about to be gone on with. */
  waiting?: boolean;
}

/** So much is held as an array before the browser takes it as a Blob, which it keeps on disk when it grows. */
const partBytes = 8 << 20;

/** How often a report that broke off is asked for once more before it is given up, unless rows come in between. */
const triesCap = 6;
const firstWaitMs = 500;
const longestWaitMs = 15_000;

/** Part is what a report has so far. */
class Part {
  readonly counter = new RowCounter();
  #blob = new Blob([]);
  #held: Uint8Array<ArrayBuffer>[] = [];
  #heldBytes = 0;
  columns = '';
  /** The first request was answered. */
  begun = false;

  push(value: Uint8Array<ArrayBuffer>) {
    this.counter.push(value);
    this.#held.push(value);
    this.#heldBytes += value.length;
    if (this.#heldBytes >= partBytes) this.#pack();
  }

  #pack() {
    this.#blob = new Blob([this.#blob, ...this.#held]);
    this.#held = [];
    this.#heldBytes = 0;
  }

  get bytes(): number {
    return this.#blob.size + this.#heldBytes;
  }

  /** cutOff keeps the whole rows. */
  cutOff() {
    this.#pack();
    this.counter.cutOff();
    this.#blob = this.#blob.slice(0, this.counter.wholeBytes);
  }

  file(): Blob {
    this.#pack();
    return new Blob([this.#blob], { type: 'text/csv;charset=utf-8' });
  }
}

/**
 * fetchReport reads the Attempt Report of a campaign, all its runs, to its end and gives it as a file. The server
 * breaks the connection when it cannot finish, and networks do: the report is gone on with behind its last whole row.
 * One that cannot be is an error, never a shorter file.
 */
export async function fetchReport(
  campaign: string,
  signal: AbortSignal,
  progress: (p: ReportProgress) => void,
): Promise<ReportProgress & { file: Blob }> {
  const part = new Part();
  const { counter } = part;
  const told = () => ({ rows: counter.rows, bytes: part.bytes });
  const over = () => signal.aborted;
  for (let failures = 0; ;) {
    const before = counter.wholeBytes;
    try {
      await read(campaign, part, signal, () => progress(told()));
      return { ...told(), file: part.file() };
    } catch (e) {
      if (over()) throw cancelled(counter);
      const p = asProblem(e);
      void noteRefusal(p);
      // What was never begun is refused; a part that nothing can follow is lost.
      if (!part.begun || p.code === 'console_fault') throw p;
      if (counter.wholeBytes > before) failures = 0;
      if (!passing(p) || ++failures > triesCap)
        throw new Problem(
          0,
          'report_broken',
          `The report broke off after ${plural(counter.rows, 'row')}, before its end. Nothing was saved; try again.`,
        );
      part.cutOff();
      progress({ ...told(), waiting: true });
      await pause(Math.max(p.retryAfterMs ?? 0, Math.min(firstWaitMs * 2 ** (failures - 1), longestWaitMs)), signal);
      if (over()) throw cancelled(counter);
    }
  }
}

const cancelled = (counter: RowCounter) =>
  new Problem(
    0,
    'report_cancelled',
    `The download was cancelled after ${plural(counter.rows, 'row')}. Nothing was saved.`,
  );

/** passing says whether the same request may be answered a little later: no answer, overload, a fault. */
function passing(p: Problem): boolean {
  return p.status === 0 || p.status === 429 || p.status >= 500;
}

/** read asks for what the part lacks, and adds it. */
async function read(campaign: string, part: Part, signal: AbortSignal, came: () => void) {
  const after = part.counter.cursor;
  const query = after === undefined ? '' : `?${String(new URLSearchParams({ after, columns: part.columns }))}`;
  const answer = await fetch(`/api/v1/campaigns/${encodeURIComponent(campaign)}/attempts.csv${query}`, {
    signal,
    cache: 'no-store',
  });
  if (!answer.ok) throw problemOf(answer.status, await answer.text(), answer.headers.get('Retry-After'));
  part.begun = true;
  if (answer.body === null) throw unreachable();
  part.columns = answer.headers.get('X-Report-Columns') ?? '';
  const reader = answer.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    part.push(value);
    came();
  }
  if (!part.counter.whole) throw unreachable();
}

/** save hands a file to the browser's downloads. */
export function save(file: Blob, name: string) {
  const url = URL.createObjectURL(file);
  const a = document.createElement('a');
  a.href = url;
  a.download = name;
  document.body.append(a);
  a.click();
  a.remove();
  // The browser has taken hold of the Blob by then.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
