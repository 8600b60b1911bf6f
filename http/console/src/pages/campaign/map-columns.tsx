import { Alert, Button, Group, Loader, Select, Stack, Table, Text, TextInput } from '@mantine/core';
import { useEffect, useState } from 'react';

import { Problem } from '../../api/problem';
import { AlertIcon } from '../../components/icons';
import type { Beginning } from '../../words/csv';
import {
  beginningOf,
  encodingOf,
  inUTF8,
  lookBytes,
  looksLikeNumber,
  nameMistakes,
  numberColumn,
  personColumn,
  renamed,
} from '../../words/csv';
import { countries } from '../../words/countries';
import { plural, size } from '../../words/figures';

interface Look {
  /** The file, in UTF-8. */
  file: File;
  text: string;
  bom: boolean;
  begins: Beginning;
}

async function look(given: File): Promise<Look> {
  const first = new Uint8Array(await given.slice(0, lookBytes).arrayBuffer());
  const file = await inUTF8(given, encodingOf(first, given.size <= lookBytes));
  const bytes = file === given ? first : new Uint8Array(await file.slice(0, lookBytes).arrayBuffer());
  const whole = file.size <= lookBytes;
  const text = new TextDecoder('utf-8').decode(bytes, { stream: !whole });
  const begins = beginningOf(text, whole);
  if (begins.header.length === 0 || begins.header.every((h) => h === ''))
    throw new Problem(0, 'file_empty', 'The file has no first line with the names of its columns.');
  return { file, text, bom: bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf, begins };
}

/** The country that was chosen last, for the next file. */
const lastCountry = 'import-country';

/** MapColumns shows what becomes of the columns of a file, and lets them be named. */
export function MapColumns({
  file,
  back,
  send,
}: {
  file: File;
  back: (p?: Problem) => void;
  send: (file: File, country: string | undefined) => void;
}) {
  const [seen, setSeen] = useState<Look>();
  useEffect(() => {
    let over = false;
    look(file)
      .then((l) => {
        if (!over) setSeen(l);
      })
      .catch((e: unknown) => {
        if (!over) back(e instanceof Problem ? e : new Problem(0, 'file_unreadable', 'The file cannot be read.'));
      });
    return () => {
      over = true;
    };
    // `back` is made anew with every drawing; only another file is a reason to look again.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [file]);
  if (seen === undefined) return <Loader aria-label="Reading the file" />;
  return <Columns look={seen} back={back} send={send} />;
}

function Columns({
  look: { file, text, bom, begins: b },
  back,
  send,
}: {
  look: Look;
  back: () => void;
  send: (file: File, country: string | undefined) => void;
}) {
  const [number, setNumber] = useState(() => numberColumn(b));
  const [country, setCountry] = useState(() => localStorage.getItem(lastCountry));
  const [choices] = useState(countries);
  const [names, setNames] = useState(b.header);
  const wrong = nameMistakes(names, number);
  const odd =
    number === undefined ? 0 : b.rows.filter((r) => !looksLikeNumber(r[number] ?? '', country !== null)).length;
  const go = () => {
    if (country === null) localStorage.removeItem(lastCountry);
    else localStorage.setItem(lastCountry, country);
    send(
      renamed(
        file,
        text,
        b,
        names.map((n, i) => (i === number ? 'phone_number' : n.trim())),
        bom,
      ),
      country ?? undefined,
    );
  };
  return (
    <Stack>
      <Text size="sm">
        <b>{file.name}</b> ({size(file.size)}). What becomes of its columns:
      </Text>
      <Select
        label="Column with the phone numbers"
        placeholder="Choose a column"
        allowDeselect={false}
        data={b.header.map((h, i) => ({ value: String(i), label: h === '' ? `Column ${i + 1}` : h }))}
        value={number === undefined ? null : String(number)}
        onChange={(v) => v !== null && setNumber(Number(v))}
        error={number === undefined ? 'Choose the column that has the phone numbers.' : undefined}
      />
      <Select
        label="Country of numbers without a country code"
        placeholder="None: rows with such numbers are left out"
        searchable
        clearable
        clearButtonProps={{ 'aria-label': 'No country' }}
        data={choices}
        value={country}
        onChange={setCountry}
      />
      <Text size="sm" c="dimmed">
        A column named phone_number_2, up to phone_number_5, has further numbers of the person, and phone_number_2_label
        says what such a number is. Any other is a variable.
      </Text>
      {odd > 0 && (
        <Alert
          color="yellow"
          icon={<AlertIcon />}
          title={
            country === null
              ? 'Not every number is in international format'
              : 'Not every cell looks like a phone number'
          }
        >
          {odd} of the first {plural(b.rows.length, 'row')}
          {country === null && ': a number needs its country, as in +49 151 12345678, or choose it above'}. Rows that
          cannot be read are left out and listed afterwards.
        </Alert>
      )}
      <Table.ScrollContainer
        type="native"
        minWidth={Math.min(900, 220 * b.header.length)}
        maxHeight={380}
        tabIndex={0}
        role="region"
        aria-label="The first rows of the file"
      >
        <Table fz="sm" aria-label="Preview" verticalSpacing={6}>
          <Table.Thead>
            <Table.Tr>
              {b.header.map((h, i) => (
                <Table.Th key={`${i} ${h}`} style={{ verticalAlign: 'top' }}>
                  {i === number ? (
                    <Text size="sm" fw={650} py={6}>
                      Phone number
                    </Text>
                  ) : (
                    <TextInput
                      size="xs"
                      aria-label={`Variable of column ${h === '' ? i + 1 : h}`}
                      description={personColumn(names[i] ?? '')}
                      value={names[i] ?? ''}
                      error={wrong[i]}
                      onChange={(e) => {
                        const name = e.currentTarget.value;
                        setNames((old) => old.map((o, j) => (j === i ? name : o)));
                      }}
                    />
                  )}
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {b.rows.map((r, i) => (
              <Table.Tr key={i}>
                {b.header.map((h, j) => (
                  <Table.Td
                    key={`${j} ${h}`}
                    className="figure"
                    c={
                      j === number && !looksLikeNumber(r[j] ?? '', country !== null)
                        ? 'var(--mantine-color-error)'
                        : undefined
                    }
                  >
                    {r[j] ?? ''}
                  </Table.Td>
                ))}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      {b.rows.length === 0 && (
        <Text size="sm" c="dimmed">
          No rows were found behind the first line.
        </Text>
      )}
      <Group justify="flex-end" gap="xs">
        <Button variant="default" onClick={() => back()}>
          Another file
        </Button>
        <Button disabled={number === undefined || Object.keys(wrong).length > 0} onClick={go} data-autofocus>
          Add these contacts
        </Button>
      </Group>
    </Stack>
  );
}
