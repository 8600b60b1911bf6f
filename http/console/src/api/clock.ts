// Ages are counted on the server's clock: an operator's computer may be minutes off.

let offsetMs = 0;

/** noteServerTime takes the Date header of an answer, which has whole seconds. */
export function noteServerTime(date: string | null, received = Date.now()) {
  const at = date === null ? NaN : Date.parse(date);
  if (Number.isNaN(at)) return;
  const off = at + 500 - received;
  // Up to two seconds is the header's rounding and the network, not a wrong clock.
  offsetMs = Math.abs(off) < 2000 ? 0 : off;
}

/** serverNow is the time of day at the server, in ms since 1970. */
export function serverNow(): number {
  return Date.now() + offsetMs;
}
