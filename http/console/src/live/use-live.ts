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

/** useLink tells how the page as a whole is connected; undefined while nothing on it is live. */
export function useLink(): Link | undefined {
  return useSyncExternalStore(watch, worst);
}
