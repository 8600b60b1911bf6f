import { expect, test } from 'vitest';

import {
  beginningOf,
  encodingOf,
  headerLine,
  looksLikeNumber,
  nameMistakes,
  numberColumn,
  personColumn,
  reasonColumn,
  renamed,
} from './csv';

test('columns for further numbers of a person are told from variables', () => {
  expect(
    ['phone_number_2', ' PHONE_NUMBER_5 ', 'phone_number_3_label', 'phone_number_6', 'phone_number', 'name'].map(
      personColumn,
    ),
  ).toEqual(['Number 2 of the person', 'Number 5 of the person', 'What number 3 is', undefined, undefined, undefined]);
});

test('the first rows of a file are read as the dialler reads them', () => {
  const b = beginningOf(
    'Tel;"First ""nick"" name";Note\r\n+4930123456;Ada;"a\nb;c"\r\n\r\n+4930123457;Grace;\r\n+49301',
    false,
  );
  expect(b.delimiter).toBe('semicolon');
  expect(b.header).toEqual(['Tel', 'First "nick" name', 'Note']);
  expect(b.rows).toEqual([
    ['+4930123456', 'Ada', 'a\nb;c'],
    ['+4930123457', 'Grace', ''],
  ]);
  expect(beginningOf('phone_number\n+4930123456', true).rows).toEqual([['+4930123456']]);
  expect(beginningOf('phone_number\n+4930123456', false).rows).toEqual([]);
  expect(beginningOf('a\tb\n1\t2\n', true).header).toEqual(['a', 'b']);
  expect(beginningOf('', true)).toMatchObject({ header: [], rows: [] });
});

test('what stands between two cells is found outside quotation marks, unless it is said', () => {
  expect(beginningOf('"a,b,c";phone\n1;2\n', true).delimiter).toBe('semicolon');
  expect(beginningOf('name|phone\nAda|1\n', true)).toMatchObject({ delimiter: 'pipe', header: ['name', 'phone'] });
  expect(beginningOf('\r\nname\tphone\nAda\t1\n', true).delimiter).toBe('tab');
  expect(beginningOf('phone', true).delimiter).toBe('comma');
  expect(beginningOf('a,b,c;phone\nx;1\n', true, 'semicolon').header).toEqual(['a,b,c', 'phone']);
});

test('the encoding is found as the dialler finds it', () => {
  const of = (...bytes: number[]) => encodingOf(new Uint8Array(bytes), true);
  expect(of(0x61, 0xc3, 0xbc)).toBe('utf-8');
  expect(of(0x61, 0xfc)).toBe('windows-1252');
  expect(of(0xfc, 0x61, 0xc3, 0xbc)).toBe('windows-1252');
  expect(of(0x61, 0xc3, 0xbc, 0x0a, 0xfc, 0x62)).toBe('utf-8'); // with a fault, whose row alone is refused
  expect(of(0xff, 0xfe, 0x61, 0)).toBe('utf-16le');
  expect(of(0xfe, 0xff, 0, 0x61)).toBe('utf-16be');
  expect(of(0x61, 0, 0x62, 0)).toBe('utf-16le');
  expect(of(0, 0x61, 0, 0x62)).toBe('utf-16be');
  expect(of(0x61, 0, 0, 0x62)).toBe('utf-8');
  expect(of()).toBe('utf-8');
});

test('the columns in front of a file of rejected rows are no variables', () => {
  const header = ['rejected_line', 'rejected_because', 'phone_number'];
  expect(header.map((_, i) => reasonColumn(header, i))).toEqual([
    'Line of the first file',
    'Why it was left out',
    undefined,
  ]);
  expect(reasonColumn(['rejected_because', 'rejected_line', 'x'], 0)).toBeUndefined();
});

test('the column of the numbers is found by its name, or by what is in it', () => {
  const f = (text: string) => numberColumn(beginningOf(text, true));
  expect(f('name,phone_number,mobile\nAda,1,2\n')).toBe(1);
  expect(f('name,Mobile\nAda,+4930123456\n')).toBe(1);
  expect(f('name,contact\nAda,0049 30 123456-7\n')).toBe(1);
  expect(f('name,age\nAda,36\n')).toBeUndefined();
  expect([looksLikeNumber('+49 (30) 123.456'), looksLikeNumber('030 123456'), looksLikeNumber('')]).toEqual([
    true,
    false,
    false,
  ]);
});

test('columns get other names, and the rows stay as they are', async () => {
  const text = 'Tel;Größe;x\r\n+4930123456;groß;"1;2"\r\n';
  for (const bom of [false, true]) {
    const file = new File([bom ? '\ufeff' : '', text], 'list.csv');
    const out = renamed(file, text, beginningOf(text, true), ['phone_number', 'size;cm', 'x'], bom);
    expect(await out.text()).toBe('phone_number;"size;cm";x\r\n+4930123456;groß;"1;2"\r\n');
    expect(renamed(file, text, beginningOf(text, true), ['Tel', 'Größe', 'x'], bom)).toBe(file);
  }
  expect(headerLine(['a', 'b"c'], 'comma')).toBe('a,"b""c"');
});

test('names of variables are unique and short', () => {
  expect(nameMistakes(['', 'a', 'a', 'phone_number', 'ü'.repeat(33), 'ok'], undefined)).toEqual({
    0: 'A variable needs a name.',
    2: 'Another column has this name.',
    3: 'That is the name of the number’s column.',
    4: 'At most 64 bytes.',
  });
  expect(nameMistakes(['phone_number', 'a'], 0)).toEqual({});
});
