// The beginning of a CSV file (RFC 4180; comma, semicolon, tab or pipe, as its first line has it), enough to show what
// will become of its columns. The dialler reads the file itself; here only its first line is written anew.
import { wholeNumber } from './number-search';

/** So much of a file is looked at. */
export const lookBytes = 256 * 1024;

/** What may stand between two cells. */
export type Delimiter = 'comma' | 'semicolon' | 'tab' | 'pipe';

const marks: Record<Delimiter, string> = { comma: ',', semicolon: ';', tab: '\t', pipe: '|' };

/** The delimiters, as a choice of a select. */
export const delimiters: { value: Delimiter; label: string }[] = [
  { value: 'comma', label: 'Comma ( , )' },
  { value: 'semicolon', label: 'Semicolon ( ; )' },
  { value: 'tab', label: 'Tab' },
  { value: 'pipe', label: 'Pipe ( | )' },
];

export interface Beginning {
  delimiter: Delimiter;
  header: string[];
  /** Where the first line ends, in characters. */
  headerEnd: number;
  rows: string[][];
}

/** recordsOf splits a text into records; the last one is left out when it may go on behind the end. */
function recordsOf(
  text: string,
  delimiter: string,
  most: number,
  whole: boolean,
): { records: string[][]; firstEnd: number } {
  const records: string[][] = [];
  let fields: string[] = [];
  let field = '';
  let quoted = false;
  let firstEnd = text.length;
  let i = 0;
  const end = (at: number) => {
    fields.push(field);
    if (records.length === 0) firstEnd = at;
    if (fields.length > 1 || fields[0]?.trim() !== '' || records.length === 0) records.push(fields);
    fields = [];
    field = '';
  };
  for (; i < text.length && records.length < most; i++) {
    const ch = text[i] ?? '';
    if (quoted) {
      if (ch !== '"') field += ch;
      else if (text[i + 1] === '"') {
        field += '"';
        i++;
      } else quoted = false;
    } else if (ch === '"') quoted = true;
    else if (ch === delimiter) {
      fields.push(field);
      field = '';
    } else if (ch === '\n') end(text[i - 1] === '\r' ? i - 1 : i);
    else if (ch !== '\r') field += ch;
  }
  if (records.length < most && (field !== '' || fields.length > 0) && whole && !quoted) end(text.length);
  return { records, firstEnd };
}

/** delimiterOf is the delimiter that a first line has most often outside quotation marks. */
function delimiterOf(line: string): Delimiter {
  const bare = line.replaceAll(/"[^"]*"?/g, '');
  const count = (d: Delimiter) => bare.split(marks[d]).length;
  return delimiters.reduce<Delimiter>((best, { value }) => (count(value) > count(best) ? value : best), 'comma');
}

/**
 * beginningOf reads the first rows of a file; `whole` says that the text is all of it, `said` what stands between two
 * cells where that is not to be found.
 */
export function beginningOf(text: string, whole: boolean, said?: Delimiter, rows = 5): Beginning {
  const line = /^\s*([^\r\n]*)/.exec(text)?.[1] ?? '';
  const delimiter = said ?? delimiterOf(line);
  const { records, firstEnd } = recordsOf(text, marks[delimiter], rows + 1, whole);
  const [header = [], ...rest] = records;
  return { delimiter, header: header.map((h) => h.trim()), headerEnd: firstEnd, rows: rest };
}

/** looksLikeNumber says whether the dialler could read a text as a number: with its country, or as a national one. */
export function looksLikeNumber(s: string, national = false): boolean {
  return wholeNumber(s) !== undefined || (national && /^[0-9\s()./-]{3,24}$/.test(s.trim()));
}

/** Encoding is how the text of a file is written. */
export type Encoding = (typeof encodings)[number]['value'];

/** The encodings, as a choice of a select; the browser and the dialler know them by these names. */
export const encodings = [
  { value: 'utf-8', label: 'UTF-8' },
  { value: 'utf-16le', label: 'UTF-16 (little-endian)' },
  { value: 'utf-16be', label: 'UTF-16 (big-endian)' },
  { value: 'windows-1252', label: 'Western European (Windows-1252, Latin-1)' },
  { value: 'iso-8859-15', label: 'Western European (ISO 8859-15)' },
  { value: 'windows-1250', label: 'Central European (Windows-1250)' },
  { value: 'iso-8859-2', label: 'Central European (ISO 8859-2)' },
  { value: 'windows-1251', label: 'Cyrillic (Windows-1251)' },
  { value: 'windows-1253', label: 'Greek (Windows-1253)' },
  { value: 'windows-1254', label: 'Turkish (Windows-1254)' },
  { value: 'macintosh', label: 'Western European (Mac)' },
] as const;

/** encodingOf judges by the beginning of a file, as the dialler does; `whole` says that it is all of it. */
export function encodingOf(bytes: Uint8Array, whole: boolean): Encoding {
  const [a, b, c, d] = bytes;
  if (a === 0xff && b === 0xfe) return 'utf-16le';
  if (a === 0xfe && b === 0xff) return 'utf-16be';
  if (a && b === 0 && c && d === 0) return 'utf-16le';
  if (a === 0 && b && c === 0 && d) return 'utf-16be';
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: !whole });
    return 'utf-8';
  } catch {
    // Text that is UTF-8 up to a fault is UTF-8 with a fault, whose row alone is refused.
    const [before = ''] = new TextDecoder('utf-8').decode(bytes).split('\ufffd', 1);
    return /[^\0-\x7f]/.test(before) ? 'utf-8' : 'windows-1252';
  }
}

/** inUTF8 is the same file in UTF-8. */
export async function inUTF8(file: File, from: Encoding): Promise<File> {
  if (from === 'utf-8') return file;
  const text = file.stream().pipeThrough(new TextDecoderStream(from));
  const bytes = await new Response(text.pipeThrough(new TextEncoderStream())).blob();
  return new File([bytes], file.name, { type: 'text/csv' });
}

const usual = /^(phone_?number|phone|mobile|mobil|msisdn|tel|telefon|telephone|rufnummer|number|cell)$/i;

/** numberColumn guesses which column has the phone numbers; undefined when none looks like it. */
export function numberColumn(b: Beginning): number | undefined {
  const exact = b.header.indexOf('phone_number');
  if (exact >= 0) return exact;
  const named = b.header.findIndex((h) => usual.test(h.replaceAll(/[\s-]/g, '_')));
  if (named >= 0) return named;
  const seen = b.header.findIndex((_, i) => b.rows.length > 0 && b.rows.every((r) => looksLikeNumber(r[i] ?? '')));
  return seen >= 0 ? seen : undefined;
}

/** headerLine writes the first line with other names. */
export function headerLine(names: readonly string[], delimiter: Delimiter): string {
  const mark = marks[delimiter];
  return names.map((n) => (/["\r\n]/.test(n) || n.includes(mark) ? `"${n.replaceAll('"', '""')}"` : n)).join(mark);
}

/** nameMistakes gives what is wrong with the names of variables, by column; the number's column has none. */
export function nameMistakes(names: readonly string[], number: number | undefined): Record<number, string> {
  const wrong: Record<number, string> = {};
  const bytes = new TextEncoder();
  names.forEach((n, i) => {
    if (i === number) return;
    const name = n.trim();
    if (name === '') wrong[i] = 'A variable needs a name.';
    else if (name === 'phone_number') wrong[i] = 'That is the name of the number’s column.';
    else if (bytes.encode(name).length > 64) wrong[i] = 'At most 64 bytes.';
    else if (names.some((m, j) => j < i && j !== number && m.trim() === name))
      wrong[i] = 'Another column has this name.';
  });
  return wrong;
}

/**
 * reasonColumn says what one of the two columns is that a file of rejected rows has in front; undefined for any other.
 * The dialler leaves them out.
 */
export function reasonColumn(header: readonly string[], i: number): string | undefined {
  if (header.length < 3 || header[0] !== 'rejected_line' || header[1] !== 'rejected_because') return undefined;
  return ['Line of the first file', 'Why it was left out'][i];
}

const personColumnName = /^phone_number_([2-5])(_label)?$/i;

/** personColumn says what a column of this name is to the person of a row; undefined for a variable. */
export function personColumn(name: string): string | undefined {
  const found = personColumnName.exec(name.trim());
  if (found === null) return undefined;
  return found[2] === undefined ? `Number ${found[1]} of the person` : `What number ${found[1]} is`;
}

/** renamed gives the file with another first line; what follows is not read. */
export function renamed(file: File, text: string, b: Beginning, names: readonly string[], bom: boolean): File {
  const line = headerLine(names, b.delimiter);
  if (line === text.slice(0, b.headerEnd)) return file;
  const skipped = new TextEncoder().encode(text.slice(0, b.headerEnd)).length + (bom ? 3 : 0);
  return new File([line, file.slice(skipped)], file.name, { type: 'text/csv' });
}
