import { useEffect, useState, useSyncExternalStore } from 'react';

import { serverNow } from '../api/clock';
import { age } from '../words/figures';
import { clockTime, dayOf, inZone, moment } from '../words/times';

interface Props {
  at: string;
  zone: string; // the campaign's, named when it differs from the viewer's
  precise?: boolean; // to the second, without the date when it is today's
  brief?: boolean; // the date alone
}

/** When shows a moment by the viewer's clock; pointing at it tells the campaign's. */
export function When({ at, zone, precise = false, brief = false }: Props) {
  const d = new Date(at);
  return (
    <time dateTime={at} title={inZone(d, zone)} className="figure">
      {brief ? dayOf(d) : precise ? clockTime(d, new Date(serverNow())) : moment(d)}
    </time>
  );
}

const tickers = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

function everySecond(f: () => void): () => void {
  tickers.add(f);
  timer ??= setInterval(() => tickers.forEach((g) => g()), 1000);
  return () => {
    tickers.delete(f);
    if (tickers.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** useSeconds gives the server's time in whole seconds since 1970, and draws anew with each. */
export function useSeconds(): number {
  return useSyncExternalStore(everySecond, () => Math.floor(serverNow() / 1000));
}

/** Age shows how long ago a moment was; `old` says whether that is longer than it should be. */
export function Age({ at }: { at: string }) {
  const now = useSeconds();
  return <>{age(now * 1000 - Date.parse(at))}</>;
}

/** useNow gives the server's time, fresh at most every minute: for what need not tick. */
export function useNow(): Date {
  const [now, setNow] = useState(() => new Date(serverNow()));
  useEffect(() => {
    const t = setInterval(() => setNow(new Date(serverNow())), 30_000);
    return () => clearInterval(t);
  }, []);
  return now;
}
