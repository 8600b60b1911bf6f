import { noteRefusal, renewToken, token } from './client';
import { Problem, problemOf, unreachable } from './problem';

/** What became of an uploaded file. */
export interface ImportReport {
  import_id: string;
  campaign_id: string;
  state: 'staging' | 'activating' | 'active' | 'failed';
  filename: string;
  rows: number;
  added: number;
  invalid: number;
  duplicate: number;
  excluded: number;
  created_at: string;
  finished_at: string | null;
  problem?: { code: string; detail: string };
}

export interface Rejected {
  rows: { line: number; phone_number: string; reason: string; message: string }[];
  total: number;
}

const base = (campaign: string) => `/api/v1/campaigns/${encodeURIComponent(campaign)}/imports`;

/**
 * upload sends a CSV file. It is an XMLHttpRequest because fetch does not tell how much of a body has been sent. `sent`
 * gets the share of the file that has left, 0…1; at 1 the server is at work.
 */
export async function upload(campaign: string, file: File, signal: AbortSignal, sent: (share: number) => void): Promise<ImportReport> {
  try {
    return await send(campaign, file, signal, sent);
  } catch (e) {
    if (e instanceof Problem && e.code === 'csrf_token_invalid' && (await renewToken())) return send(campaign, file, signal, sent);
    throw e;
  }
}

function send(campaign: string, file: File, signal: AbortSignal, sent: (share: number) => void): Promise<ImportReport> {
  return new Promise((resolve, reject) => {
    const x = new XMLHttpRequest();
    x.open('POST', `${base(campaign)}?filename=${encodeURIComponent(file.name)}`);
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
      noteRefusal(p);
      reject(p);
    };
    x.onerror = () => reject(unreachable());
    x.onabort = () => reject(new Problem(0, 'upload_cancelled', 'The upload was cancelled.'));
    signal.addEventListener('abort', () => x.abort());
    x.send(file);
  });
}
