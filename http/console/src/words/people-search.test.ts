import { expect, test } from 'vitest';

import { peopleSearch } from './people-search';

test('names, numbers and variables are looked for, in part', () => {
  for (const typed of ['9999', 'zoe', 'Z-777', 'Bo', 'zoe 9', '0151 / 123-45', '+49 (0) 151', '1 2 3', '日本'])
    expect(peopleSearch(typed), typed).toEqual({ q: typed });
  expect(peopleSearch('  zoe   9999 ')).toEqual({ q: 'zoe 9999' });
});

test('nothing typed is no search', () => {
  for (const typed of ['', '  ']) expect(peopleSearch(typed)).toEqual({});
});

test('what cannot be looked for has a reason and no text', () => {
  for (const typed of ['z', 'z 1', '+', '日'])
    expect(peopleSearch(typed), typed).toEqual({ reason: expect.stringMatching(/^Type three/) as string });
  for (const typed of ['one two three four five six seven', 'x'.repeat(101)])
    expect(peopleSearch(typed), typed).toEqual({ reason: expect.stringMatching(/^A search has at most/) as string });
});
