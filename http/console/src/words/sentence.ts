import { moment } from './times';

/** A time as the server writes it into its messages: RFC 3339. */
const stamp = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)/g;

/** sentence makes a sentence of a message of the server, its times by the viewer's clock. */
export function sentence(s: string): string {
  const t = (s.charAt(0).toUpperCase() + s.slice(1)).replace(stamp, (at) => moment(new Date(at)));
  return /[.!?]$/.test(t) ? t : `${t}.`;
}
