import { useEffect, useRef } from 'react';

import type { Attention } from '../words/attention';
import { summary } from '../words/attention';

/** Alerts is how this browser tells of campaigns that are stopped, beside the banner. */
export interface Alerts {
  sound: boolean;
  notification: boolean;
}

const kept = 'dialler-alerts';
const told = 'dialler-alerts-told';

export function alertsOf(): Alerts {
  const off = { sound: false, notification: false };
  try {
    return { ...off, ...(JSON.parse(localStorage.getItem(kept) ?? '{}') as Partial<Alerts>) };
  } catch {
    return off;
  }
}

export function setAlerts(to: Alerts) {
  localStorage.setItem(kept, JSON.stringify(to));
}

/** canNotify says whether the browser has notifications here; they need https or localhost. */
export const canNotify = 'Notification' in globalThis && globalThis.isSecureContext;

/** A browser that will play sound begins to within so long; one in which nobody has pressed anything yet does not. */
const startsWithinMs = 1_000;

/** chime plays two short tones, and says whether the browser let it. */
export async function chime(): Promise<boolean> {
  const audio = new AudioContext();
  await Promise.race([audio.resume(), new Promise((resolve) => setTimeout(resolve, startsWithinMs))]);
  if (audio.state !== 'running') {
    void audio.close();
    return false;
  }
  for (const [at, pitch] of [
    [0, 660],
    [0.22, 520],
  ] as const) {
    const tone = audio.createOscillator();
    const volume = audio.createGain();
    tone.frequency.value = pitch;
    volume.gain.setValueAtTime(0.15, audio.currentTime + at);
    volume.gain.exponentialRampToValueAtTime(0.001, audio.currentTime + at + 0.2);
    tone.connect(volume).connect(audio.destination);
    tone.start(audio.currentTime + at);
    tone.stop(audio.currentTime + at + 0.2);
    tone.onended = () => at > 0 && void audio.close();
  }
  return true;
}

/** useAlerts tells of each trouble once, in one tab of the browser. */
export function useAlerts(list: readonly Attention[]) {
  const before = useRef<ReadonlySet<string>>(new Set());
  useEffect(() => {
    const now = new Set(list.map((a) => a.key));
    const fresh = list.filter((a) => !before.current.has(a.key));
    before.current = now;
    for (const a of fresh) void tell(a);
  }, [list]);
}

async function tell(a: Attention) {
  const how = alertsOf();
  if (!how.sound && !how.notification) return;
  const once = async () => {
    const id = `${a.key} ${a.since}`;
    const list = (localStorage.getItem(told) ?? '').split('\n').filter((s) => s !== '');
    if (list.includes(id)) return;
    let heard = how.sound && (await chime());
    if (how.notification && canNotify && Notification.permission === 'granted') {
      new Notification(a.title, { body: summary(a), tag: a.key });
      heard = true;
    }
    if (!heard) return; // it is left to another tab
    localStorage.setItem(told, [...list.slice(1 - remembered), id].join('\n'));
    await new Promise((resolve) => setTimeout(resolve, seenWithinMs));
  };
  const locks = (navigator as Partial<Navigator>).locks;
  await (locks ? locks.request(told, once) : once());
}

/** The processes of a browser read what another one has stored a moment later: only then the next tab looks. */
const seenWithinMs = 1_000;

/** How many troubles are remembered as told. */
const remembered = 50;
