import { Alert, Button, Group, Loader, Select, Stack, Table, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';

import type { Asked } from '../../api/imports';
import { suggestedCountry } from '../../api/imports';
import { Problem } from '../../api/problem';
import { keys } from '../../api/queries';
import { AlertIcon } from '../../components/icons';
import type { Beginning, Delimiter, Encoding } from '../../words/csv';
import {
  beginningOf,
  delimiters,
  encodingOf,
  encodings,
  inUTF8,
  lookBytes,
  looksLikeNumber,
  nameMistakes,
  numberColumn,
  personColumn,
  reasonColumn,
  renamed,
} from '../../words/csv';
import { countries } from '../../words/countries';
import { plural, size } from '../../words/figures';

interface Look {
  /** The file, in UTF-8. */
  file: File;
  encoding: Encoding;
  text: string;
  bom: boolean;
  begins: Beginning;
}

/** What somebody said of a file instead of what was found in it. */
interface Said {
  encoding?: Encoding;
  delimiter?: Delimiter;
}

async function look(given: File, said: Said): Promise<Look> {
  const first = new Uint8Array(await given.slice(0, lookBytes).arrayBuffer());
  const encoding = said.encoding ?? encodingOf(first, given.size <= lookBytes);
  const file = await inUTF8(given, encoding);
  const bytes = file === given ? first : new Uint8Array(await file.slice(0, lookBytes).arrayBuffer());
  const whole = file.size <= lookBytes;
  const text = new TextDecoder('utf-8').decode(bytes, { stream: !whole });
  const begins = beginningOf(text, whole, said.delimiter);
  if (begins.header.length === 0 || begins.header.every((h) => h === ''))
    throw new Problem(0, 'file_empty', 'The file has no first line with the names of its columns.');
  return { file, encoding, text, bom: bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf, begins };
}

/** Send takes a file whose columns have their names. */
type Send = (file: File, asked: Asked) => void;

/** MapColumns shows how a file is read and what becomes of its columns, and lets both be changed. */
export function MapColumns({
  campaign,
  file,
  back,
  send,
}: {
  campaign: string;
  file: File;
  back: (p?: Problem) => void;
  send: Send;
}) {
  const [said, setSaid] = useState<Said>({});
  const [seen, setSeen] = useState<Look>();
  const suggested = useQuery<string, Problem>({
    queryKey: [...keys.imports(campaign), 'country'],
    queryFn: ({ signal }) => suggestedCountry(campaign, signal),
  });
  // null: none, although one may be suggested.
  const [chosen, setChosen] = useState<string | null>();
  useEffect(() => {
    let over = false;
    look(file, said)
      .then((l) => {
        if (!over) setSeen(l);
      })
      .catch((e: unknown) => {
        if (!over) back(e instanceof Problem ? e : new Problem(0, 'file_unreadable', 'The file cannot be read.'));
      });
    return () => {
      over = true;
    };
    // `back` is made anew with every drawing; only another file, or way to read it, is a reason to look again.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [file, said]);
  if (seen === undefined || suggested.isPending) return <Loader aria-label="Reading the file" />;
  return (
    <Columns
      // What was read otherwise has other columns.
      key={`${seen.encoding} ${seen.begins.delimiter}`}
      look={seen}
      said={said}
      say={setSaid}
      country={chosen === undefined ? suggested.data || null : chosen}
      choose={setChosen}
      back={back}
      send={send}
    />
  );
}

function Columns({
  look: { file, encoding, text, bom, begins: b },
  said,
  say,
  country,
  choose,
  back,
  send,
}: {
  look: Look;
  said: Said;
  say: (s: Said) => void;
  country: string | null;
  choose: (c: string | null) => void;
  back: () => void;
  send: Send;
}) {
  const [number, setNumber] = useState(() => numberColumn(b));
  const [choices] = useState(countries);
  const [names, setNames] = useState(b.header);
  const wrong = nameMistakes(names, number);
  const odd =
    number === undefined ? 0 : b.rows.filter((r) => !looksLikeNumber(r[number] ?? '', country !== null)).length;
  const go = () =>
    send(
      renamed(
        file,
        text,
        b,
        names.map((n, i) => (i === number ? 'phone_number' : n.trim())),
        bom,
      ),
      {
        ...(country === null ? {} : { country }),
        ...(said.encoding === undefined ? {} : { encoding: 'utf-8' }), // that is what it is written in by now
        ...(said.delimiter === undefined ? {} : { delimiter: said.delimiter }),
      },
    );
  return (
    <Stack>
      <Text size="sm">
        <b>{file.name}</b> ({size(file.size)}). Map its columns:
      </Text>
      <Group grow align="flex-start">
        <Select
          label="Text encoding"
          description={said.encoding === undefined ? 'Found in the file' : 'Chosen by you'}
          allowDeselect={false}
          data={encodings}
          value={encoding}
          onChange={(v) => say({ ...said, encoding: v as Encoding })}
        />
        <Select
          label="Separator"
          description={said.delimiter === undefined ? 'Found in the file' : 'Chosen by you'}
          allowDeselect={false}
          data={delimiters}
          value={b.delimiter}
          onChange={(v) => say({ ...said, delimiter: v as Delimiter })}
        />
      </Group>
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
        onChange={choose}
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
          cannot be read are skipped; you can see them afterwards.
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
                  {i === number || reasonColumn(b.header, i) !== undefined ? (
                    <Text size="sm" fw={650} py={6}>
                      {reasonColumn(b.header, i) ?? 'Phone number'}
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
          Check the file
        </Button>
      </Group>
    </Stack>
  );
}
