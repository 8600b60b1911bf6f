/**
 * RowCounter counts the records of a CSV file (RFC 4180) while it arrives in pieces, without keeping it: line breaks
 * within quotes are no end of a record, a last line without a break is one.
 */
export class RowCounter {
  #quoted = false;
  #ended = 0;
  #open = false; // the last record has begun and not ended

  push(bytes: Uint8Array) {
    for (const b of bytes) {
      if (b === 0x22) {
        this.#quoted = !this.#quoted; // a doubled quote closes and opens again
        this.#open = true;
      } else if (b === 0x0a && !this.#quoted) {
        this.#ended++;
        this.#open = false;
      } else if (b !== 0x0d) {
        this.#open = true;
      }
    }
  }

  /** Whether the last record has ended. */
  get whole(): boolean {
    return !this.#open && !this.#quoted;
  }

  /** Records after the header line. */
  get rows(): number {
    return Math.max(0, this.#ended + (this.#open ? 1 : 0) - 1);
  }
}
