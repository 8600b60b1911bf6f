/** PeopleSearch is what is asked of the API for a text, or why nothing is; neither without a text. */
export interface PeopleSearch {
  q?: string;
  reason?: string;
}

/** The limits of the API, in characters and words. */
const most = { characters: 100, words: 6 };

/** peopleSearch reads a search for people: a text that cannot be looked for shows its reason in place of rows. */
export function peopleSearch(typed: string): PeopleSearch {
  const q = typed.trim().replaceAll(/\s+/g, ' ');
  if (q === '') return {};
  const words = new Set(q.split(' '));
  if (Array.from(q).length > most.characters || words.size > most.words)
    return { reason: 'A search has at most 6 words and 100 characters.' };
  const long = [...words].some((w) => Array.from(w).length >= 2);
  const digits = /^[\d\s+()/.-]+$/.test(q) ? q.replace('(0)', '').replaceAll(/\D/g, '').replace(/^0+/, '') : '';
  return long || digits.length >= 3
    ? { q }
    : { reason: 'Type three characters of a name, number or other variable, or a whole word of two.' };
}
