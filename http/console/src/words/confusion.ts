import type { Schemas } from '../api/client';
import { verdicts } from './verdicts';

type Verdict = Schemas['Verdict'];

/** One thing that people heard, with how often it was taken for what. */
export interface ConfusionRow {
  label: Verdict;
  counts: number[]; // in the order of the verdicts
  total: number;
  right: number;
}

/** confusionOf adds the cells of trunks and countries up to one matrix, of the labels and verdicts that occur. */
export function confusionOf(cells: readonly { label: Verdict; verdict: Verdict; count: number }[]): {
  verdicts: Verdict[];
  rows: ConfusionRow[];
  total: number;
} {
  const order = verdicts.map((v) => v.verdict);
  const labels = order.filter((v) => cells.some((c) => c.label === v));
  const taken = order.filter((v) => cells.some((c) => c.verdict === v || c.label === v));
  const sum = (label: Verdict, verdict: Verdict) =>
    cells.reduce((n, c) => (c.label === label && c.verdict === verdict ? n + c.count : n), 0);
  const rows = labels.map((label) => {
    const counts = taken.map((verdict) => sum(label, verdict));
    return { label, counts, total: counts.reduce((a, b) => a + b, 0), right: sum(label, label) };
  });
  return { verdicts: taken, rows, total: rows.reduce((n, r) => n + r.total, 0) };
}
