import { useCallback, useEffect, useSyncExternalStore } from 'react';

import type { FeedView, Link } from './feed';
import { Feed } from './feed';

interface Open {
  feed: Feed;
  users: number;
  closing: ReturnType<typeof setTimeout> | undefined;
}

const open = new Map<string, Open>();
const watchers = new Set<() => void>();
const tellWatchers = () => watchers.forEach((f) => f());

/** A page that is left and entered again, or drawn twice, keeps its stream. */
const lingerMs = 1_000;

function acquire(url: string): Open {
  let o = open.get(url);
  if (o === undefined) {
    o = { feed: new Feed(url), users: 0, closing: undefined };
    open.set(url, o);
  }
  return o;
}

function subscribe(url: string, f: () => void): () => void {
  const o = acquire(url);
  clearTimeout(o.closing);
  o.users++;
  o.feed.heard = noteHeard;
  const end = o.feed.subscribe(() => {
    f();
    tellWatchers();
  });
  tellWatchers();
  return () => {
    end();
    if (--o.users > 0) return;
    o.closing = setTimeout(() => {
      o.feed.close();
      open.delete(url);
      tellWatchers();
    }, lingerMs);
  };
}

const nothing: FeedView = { link: 'connecting', value: undefined };

/** useLive gives what a stream tells, and hands every new state to `take`. */
export function useLive(url: string, take: (value: NonNullable<FeedView['value']>) => void): Link {
  const join = useCallback((f: () => void) => subscribe(url, f), [url]);
  const view = useSyncExternalStore(join, () => open.get(url)?.feed.view ?? nothing);
  const { value } = view;
  useEffect(() => {
    if (value !== undefined && value !== null) take(value);
    // `take` is made anew with every drawing; only another state is a reason to hand it over.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [value]);
  return view.link;
}

function watch(f: () => void): () => void {
  watchers.add(f);
  return () => watchers.delete(f);
}

function worst(): Link | undefined {
  const links = [...open.values()].filter((o) => o.users > 0).map((o) => o.feed.view.link);
  return (['broken', 'refused', 'connecting', 'live'] as const).find((l) => links.includes(l));
}

/**
 * Figures are live while something was heard of the dialler within so long: it breaks its silence within 6 s, a slow
 * one within 9.
 */
const freshMs = 10_000;

let heardAt = 0;
let clock: ReturnType<typeof setInterval> | undefined;

/** noteHeard is called when the dialler was heard: by a stream, or by an answer with what a stream would tell. */
export function noteHeard() {
  const late = staleSince() !== undefined;
  heardAt = Date.now();
  clock ??= setInterval(tellWatchers, 1_000);
  if (late) tellWatchers();
}

let shownStale: Date | undefined;

function staleSince(): Date | undefined {
  const silent = heardAt > 0 && Date.now() - heardAt > freshMs && document.visibilityState === 'visible';
  const following = [...open.values()].some((o) => o.users > 0 && o.feed.view.link !== 'refused');
  if (!silent || !following) return (shownStale = undefined);
  return (shownStale ??= new Date(heardAt));
}

/** useStale gives since when what is on the screen is no longer live; undefined while it is. */
export function useStale(): Date | undefined {
  return useSyncExternalStore(watch, staleSince);
}

/** useLink tells how the page as a whole is connected; undefined while nothing on it is live. */
export function useLink(): Link | undefined {
  return useSyncExternalStore(watch, worst);
}
