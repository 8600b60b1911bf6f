import type { ReactNode, RefObject } from 'react';
import { startTransition, useEffect, useRef, useState } from 'react';

// What stands below is drawn when the page can be used already: first what comes into view, then the rest, piece by
// piece, so that a click never waits for a list that nobody looks at.

/** A page rests so long before what is in view is drawn, and what is not. */
const calmMs = 500;
const restMs = 1_500;
/** A browser that is never idle draws after so much longer. */
const patienceMs = 500;

interface Waiting {
  draw: () => void;
  near: boolean;
  /** Not before, by performance.now(). */
  from: number;
}

const waiting: Waiting[] = [];
let planned: (() => void) | undefined;

/** idle calls back when the browser has nothing else to do; it returns how to call that off. */
function idle(f: () => void, within: number): () => void {
  if (!('requestIdleCallback' in globalThis)) {
    const t = setTimeout(f, 50); // Safari
    return () => clearTimeout(t);
  }
  const id = requestIdleCallback(f, { timeout: within });
  return () => cancelIdleCallback(id);
}

function plan() {
  planned?.();
  planned = undefined;
  const near = waiting.find((w) => w.near);
  const next = near ?? waiting[0];
  if (next === undefined) return;
  const draw = () => {
    planned = undefined;
    waiting.splice(waiting.indexOf(next), 1);
    next.draw();
    plan();
  };
  const t = setTimeout(
    () => (planned = idle(draw, patienceMs)),
    near === undefined ? restMs : Math.max(0, next.from - performance.now()),
  );
  planned = () => clearTimeout(t);
}

/** whenIdle calls back in its turn, when the browser has nothing else to do; it returns how to call that off. */
export function whenIdle(draw: () => void): () => void {
  const w = { draw, near: true, from: 0 };
  waiting.push(w);
  plan();
  return () => drop(w);
}

function drop(w: Waiting) {
  const i = waiting.indexOf(w);
  if (i < 0) return;
  waiting.splice(i, 1);
  plan();
}

/** Later keeps a place for what is drawn when the page can be used already. */
export function Later({ height, children }: { height: number; children: ReactNode }) {
  const [drawn, setDrawn] = useState(false);
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const node = place.current;
    if (drawn || node === null) return undefined;
    const w: Waiting = {
      draw: () => startTransition(() => setDrawn(true)),
      near: false,
      from: performance.now() + calmMs,
    };
    waiting.push(w);
    plan();
    const seen = new IntersectionObserver((entries) => {
      if (!entries.some((e) => e.isIntersecting) || w.near) return;
      w.near = true;
      plan();
    });
    seen.observe(node);
    return () => {
      seen.disconnect();
      drop(w);
    };
  }, [drawn]);
  return drawn ? children : <div ref={place} style={{ minHeight: height }} data-later />;
}

/** useSeen says whether something can be seen: it is in view, or just beyond its edge, and so is the tab. */
export function useSeen(at: RefObject<HTMLElement | null>): boolean {
  const [inView, setInView] = useState(true);
  const [looked, setLooked] = useState(true);
  useEffect(() => {
    const node = at.current;
    if (node === null) return undefined;
    const seen = new IntersectionObserver((entries) => setInView(entries.at(-1)?.isIntersecting ?? true), {
      rootMargin: '100px',
    });
    seen.observe(node);
    const tell = () => setLooked(document.visibilityState === 'visible');
    document.addEventListener('visibilitychange', tell);
    tell();
    return () => {
      seen.disconnect();
      document.removeEventListener('visibilitychange', tell);
    };
  }, [at]);
  return inView && looked;
}
