/** The viewer's language; outside a browser British English. */
export const language = typeof navigator === 'undefined' ? 'en-GB' : navigator.language;
