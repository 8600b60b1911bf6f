import type { Schemas } from './client';
import { noteRefusal, renewToken, token } from './client';
import { Problem, asProblem, problemOf, unreachable } from './problem';

/** What became of an uploaded file. */
export type ImportReport = Schemas['Import'];

export interface Rejected {
  rows: Schemas['RejectedRow'][];
  total: number;
}

/** What is said of a file beside its content. */
export interface Asked {
  /** The country of numbers without a country code. */
  country?: string;
  encoding?: string;
  delimiter?: string;
  /** The rows are judged, and none is added. */
  check?: boolean;
}

/** How often an import that is at work is looked at. */
const lookMs = 700;

const base = (campaign: string) => `/api/v1/campaigns/${encodeURIComponent(campaign)}/imports`;

/** rejectedRows gives one page of the rows that did not become contacts. */
export async function rejectedRows(
  report: ImportReport,
  page: number,
  pageSize: number,
  signal: AbortSignal,
): Promise<Rejected> {
  return ask<Rejected>(
    `${base(report.campaign_id)}/${encodeURIComponent(report.import_id)}/rejected?page=${page}&page_size=${pageSize}`,
    signal,
  );
}

/** rejectedFile is where the same rows are found as a file, in the layout of the imported one. */
export function rejectedFile(report: ImportReport): string {
  return `${base(report.campaign_id)}/${encodeURIComponent(report.import_id)}/rejected.csv?layout=file`;
}

/** suggestedCountry is what the country of the next file most likely is; "" if none is evident. */
export async function suggestedCountry(campaign: string, signal: AbortSignal): Promise<string> {
  const list = await ask<{ suggested_country?: string }>(`${base(campaign)}?page_size=1`, signal);
  return list.suggested_country ?? '';
}

async function ask<T>(url: string, signal: AbortSignal): Promise<T> {
  let answer: Response;
  try {
    answer = await fetch(url, { signal });
  } catch (e) {
    throw signal.aborted ? cancelled() : asProblem(e);
  }
  if (answer.ok) return (await answer.json()) as T;
  const p = problemOf(answer.status, await answer.text(), answer.headers.get('Retry-After'));
  void noteRefusal(p);
  throw p;
}

const cancelled = () => new Problem(0, 'upload_cancelled', 'The upload was cancelled.');

/**
 * upload sends a CSV file and waits until its rows are contacts, or were checked.
 * `sent` gets the share of the file that has left, 0…1;
 * `working` the import afterwards, while the dialler is at work with it. Once the file has left, the signal only ends
 * the waiting.
 */
export async function upload(
  campaign: string,
  file: File,
  asked: Asked,
  signal: AbortSignal,
  sent: (share: number) => void,
  working: (r: ImportReport) => void,
): Promise<ImportReport> {
  let report: ImportReport;
  try {
    report = await send(campaign, file, asked, signal, sent);
  } catch (e) {
    if (!(e instanceof Problem) || e.code !== 'csrf_token_invalid' || !(await renewToken())) throw e;
    report = await send(campaign, file, asked, signal, sent);
  }
  while (report.state === 'staging' || report.state === 'activating') {
    working(report);
    await new Promise((resolve) => setTimeout(resolve, lookMs));
    try {
      report = await ask<ImportReport>(`${base(campaign)}/${encodeURIComponent(report.import_id)}`, signal);
    } catch (e) {
      // The file is with the dialler: what became of it is asked until it is known.
      if (!passing(e)) throw e;
    }
  }
  return report;
}

/** passing says whether the same request may succeed later: nobody answered, or the dialler was busy. */
function passing(e: unknown): boolean {
  return e instanceof Problem && (e.code === 'unreachable' || e.status === 429 || e.status >= 500);
}

/** mayBeSentAgain says whether the same file may be taken later, as it is. */
export function mayBeSentAgain(p: Problem): boolean {
  return passing(p) || p.status === 409;
}

/** send is an XMLHttpRequest because fetch does not tell how much of a body has been sent. */
function send(
  campaign: string,
  file: File,
  asked: Asked,
  signal: AbortSignal,
  sent: (share: number) => void,
): Promise<ImportReport> {
  return new Promise((resolve, reject) => {
    const x = new XMLHttpRequest();
    const query = new URLSearchParams({ wait: 'false', filename: file.name });
    if (asked.country !== undefined) query.set('default_country', asked.country);
    if (asked.encoding !== undefined) query.set('encoding', asked.encoding);
    if (asked.delimiter !== undefined) query.set('delimiter', asked.delimiter);
    if (asked.check === true) query.set('dry_run', 'true');
    x.open('POST', `${base(campaign)}?${query.toString()}`);
    x.setRequestHeader('Content-Type', 'text/csv');
    x.setRequestHeader('X-CSRF-Token', token());
    x.upload.onprogress = (e) => {
      if (e.lengthComputable && e.total > 0) sent(e.loaded / e.total);
    };
    x.onload = () => {
      if (x.status >= 200 && x.status < 300) {
        resolve(JSON.parse(x.responseText) as ImportReport);
        return;
      }
      const p = problemOf(x.status, x.responseText, x.getResponseHeader('Retry-After'));
      void noteRefusal(p);
      reject(p);
    };
    x.onerror = () => reject(unreachable());
    x.onabort = () => reject(cancelled());
    signal.addEventListener('abort', () => x.abort());
    x.send(file);
  });
}
