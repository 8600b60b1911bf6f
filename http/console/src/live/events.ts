/** One server-sent event; a comment (a heartbeat) has the type "". */
export interface ServerEvent {
  type: string;
  id: string | undefined; // undefined: this event has none
  data: string;
}

/**
 * EventParser reads a text/event-stream as the HTML standard says (§9.2.6): lines end in CR, LF or both, an empty one
 * ends an event, and a part that the stream's end cuts off is dropped.
 */
export class EventParser {
  #rest = '';
  #type = '';
  #data: string[] = [];
  #id: string | undefined;
  /** What the server wishes as the time before a reconnect, in ms. */
  retryMs: number | undefined;

  push(chunk: string): ServerEvent[] {
    const out: ServerEvent[] = [];
    const text = this.#rest + chunk;
    const lineEnd = /[\r\n]/g;
    let from = 0;
    for (;;) {
      lineEnd.lastIndex = from;
      const end = lineEnd.exec(text)?.index;
      // A CR at the very end may be half of a CRLF: wait for what follows.
      if (end === undefined || (text[end] === '\r' && end === text.length - 1)) break;
      this.#line(text.slice(from, end), out);
      from = end + (text[end] === '\r' && text[end + 1] === '\n' ? 2 : 1);
    }
    this.#rest = text.slice(from);
    return out;
  }

  #line(line: string, out: ServerEvent[]) {
    if (line === '') {
      if (this.#data.length > 0) out.push({ type: this.#type || 'message', id: this.#id, data: this.#data.join('\n') });
      this.#type = '';
      this.#data = [];
      this.#id = undefined;
      return;
    }
    const colon = line.indexOf(':');
    if (colon === 0) {
      out.push({ type: '', id: undefined, data: '' });
      return;
    }
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    switch (field) {
      case 'event':
        this.#type = value;
        break;
      case 'data':
        this.#data.push(value);
        break;
      case 'id':
        if (!value.includes('\0')) this.#id = value;
        break;
      case 'retry':
        if (/^\d+$/.test(value)) this.retryMs = Number(value);
        break;
      default: // the standard: ignored
    }
  }
}
