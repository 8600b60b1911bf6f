import { expect, test } from 'vitest';

import { numberSearch } from './number-search';

test('a number is looked for as people write it', () => {
  for (const typed of ['+4915112345678', ' +49 151 12345678 ', '0049 151/1234-5678', '+49 (151) 12.34.56.78'])
    expect(numberSearch(typed)).toEqual({ number: '+4915112345678' });
});

test('nothing typed is no search', () => {
  for (const typed of ['', '  ']) expect(numberSearch(typed)).toEqual({});
});

test('what cannot be looked for has a reason and no number', () => {
  for (const typed of [
    '9999',
    'Zoe',
    'Z-777',
    '0151 12345678',
    '0099999',
    '+49',
    '+49151123456789012',
    '+',
    '-',
    '+4915112345678x',
  ])
    expect(numberSearch(typed), typed).toEqual({
      reason: expect.stringMatching(/^Only a whole phone number .*\+4915112345678\.$/) as string,
    });
});
