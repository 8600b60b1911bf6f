/** The place of attempt_id among the columns of the Attempt Report, whose first ones are never quoted. */
const idField = 3;

/**
 * RowCounter counts the records of an Attempt Report (CSV, RFC 4180) while it arrives in pieces, without keeping it:
 * line breaks within quotes are no end of a record, a last line without a break is one. Of a report that broke off it
 * knows how many bytes are whole records, and which was the last.
 */
export class RowCounter {
  #quoted = false;
  #ended = 0;
  #open = false; // the last record has begun and not ended
  #bytes = 0;
  #wholeBytes = 0;
  #field = 0; // of the record that has begun
  #id = '';
  #lastId = '';

  push(bytes: Uint8Array) {
    for (const b of bytes) {
      this.#bytes++;
      if (b === 0x22) {
        this.#quoted = !this.#quoted; // a doubled quote closes and opens again
        this.#open = true;
      } else if (b === 0x0a && !this.#quoted) {
        this.#ended++;
        this.#wholeBytes = this.#bytes;
        this.#lastId = this.#id;
        this.#begin();
      } else if (b !== 0x0d) {
        this.#open = true;
        if (b === 0x2c && !this.#quoted) this.#field++;
        else if (this.#field === idField) this.#id += String.fromCharCode(b);
      }
    }
  }

  #begin() {
    this.#open = false;
    this.#quoted = false;
    this.#field = 0;
    this.#id = '';
  }

  /** Whether the last record has ended. */
  get whole(): boolean {
    return !this.#open && !this.#quoted;
  }

  /** Bytes up to the end of the last record that has ended. */
  get wholeBytes(): number {
    return this.#wholeBytes;
  }

  /** The attempt_id of the last row that has ended; undefined before there is one. */
  get cursor(): string | undefined {
    return this.#ended > 1 ? this.#lastId : undefined;
  }

  /** cutOff forgets a record that has not ended; without any row the header line too: the report begins anew. */
  cutOff() {
    if (this.cursor === undefined) this.#ended = this.#wholeBytes = 0;
    this.#bytes = this.#wholeBytes;
    this.#begin();
  }

  /** Records after the header line. */
  get rows(): number {
    return Math.max(0, this.#ended + (this.#open ? 1 : 0) - 1);
  }
}
