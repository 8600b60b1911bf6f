import { noteRefusal } from './client';
import { Problem, asProblem, problemOf } from './problem';
import { plural } from '../words/figures';
import { RowCounter } from './rows';

export interface ReportProgress {
  rows: number;
  bytes: number;
}

/** So much is held as an array before the browser takes it as a Blob, which it keeps on disk when it grows. */
const partBytes = 8 << 20;

/**
 * fetchReport reads the Attempt Report of a campaign, all its runs, to its end and gives it as a file. The server breaks the connection
 * when it cannot finish; that is an error here, never a shorter file.
 */
export async function fetchReport(campaign: string, signal: AbortSignal, progress: (p: ReportProgress) => void): Promise<ReportProgress & { file: Blob }> {
  const counter = new RowCounter();
  let answered = false;
  const broken = () => new Problem(0, 'report_broken', `The report broke off after ${plural(counter.rows, 'row')}, before its end. Nothing was saved; try again.`);
  try {
    const answer = await fetch(`/api/v1/campaigns/${encodeURIComponent(campaign)}/attempts.csv`, { signal, cache: 'no-store' });
    if (!answer.ok) throw problemOf(answer.status, await answer.text(), answer.headers.get('Retry-After'));
    answered = true;
    if (answer.body === null) throw new Problem(0, 'report_empty', 'The report has no content.');
    const parts: Blob[] = [];
    let held: Uint8Array<ArrayBuffer>[] = [];
    let heldBytes = 0;
    let bytes = 0;
    const reader = answer.body.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      counter.push(value);
      bytes += value.length;
      held.push(value);
      heldBytes += value.length;
      if (heldBytes >= partBytes) {
        parts.push(new Blob(held));
        held = [];
        heldBytes = 0;
      }
      progress({ rows: counter.rows, bytes });
    }
    if (!counter.whole) throw broken();
    const file = new Blob([...parts, ...held], { type: 'text/csv;charset=utf-8' });
    return { file, rows: counter.rows, bytes };
  } catch (e) {
    if (signal.aborted) throw new Problem(0, 'report_cancelled', `The download was cancelled after ${plural(counter.rows, 'row')}. Nothing was saved.`);
    if (e instanceof Problem) {
      noteRefusal(e);
      throw e;
    }
    throw e instanceof TypeError && answered ? broken() : asProblem(e);
  }
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
