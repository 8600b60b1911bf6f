import type { Draft } from '../../words/mistakes';
import { blank } from '../settings/draft';

// What is typed survives a reload: it is kept in the browser, by user, until it is saved or thrown away. Browsers may
// refuse to keep anything; then it is only not kept.

/** keyOf names a draft: of a campaign with the version that is edited, or of a new one. */
export function keyOf(user: string, campaign?: { campaign_id: string; version: number }): string {
  return `dialler.draft.${user}.${campaign === undefined ? 'new' : `${campaign.campaign_id}.${campaign.version}`}`;
}

export function keep(key: string, d: Draft) {
  try {
    localStorage.setItem(key, JSON.stringify(d));
  } catch {
    // not kept
  }
}

export function drop(key: string) {
  try {
    localStorage.removeItem(key);
  } catch {
    // nothing was kept
  }
}

/** kept gives the draft that was kept under a key. What does not look like one is none. */
export function kept(key: string): Draft | undefined {
  try {
    const d = JSON.parse(localStorage.getItem(key) ?? 'null') as Partial<Draft> | null;
    if (typeof d?.window !== 'object') return undefined;
    // A number that was not whole is null in JSON.
    const known = Object.entries(d as Record<string, unknown>).filter(([, v]) => v !== null);
    return { ...blank, ...Object.fromEntries(known), window: { ...blank.window, ...d.window } };
  } catch {
    return undefined;
  }
}
