/** wholeNumber reads a phone number as people write it, with its country; undefined when it is none. */
export function wholeNumber(typed: string): string | undefined {
  const digits = typed.replaceAll(/[\s()./-]/g, '').replace(/^00/, '+');
  return /^\+[1-9][0-9]{6,14}$/.test(digits) ? digits : undefined;
}

/** NumberSearch is what is asked of the API for a text, or why nothing is; neither without a text. */
export interface NumberSearch {
  number?: string; // E.164
  reason?: string;
}

/** numberSearch reads a search: a text that cannot be looked for shows its reason in place of rows. */
export function numberSearch(typed: string): NumberSearch {
  if (typed.trim() === '') return {};
  const number = wholeNumber(typed);
  return number === undefined
    ? { reason: 'Only a whole phone number can be looked for, with its country code: +4915112345678.' }
    : { number };
}
