import {
  Alert,
  Button,
  Checkbox,
  FileInput,
  MultiSelect,
  Select,
  SimpleGrid,
  Stack,
  TagsInput,
  Text,
  TextInput,
  Textarea,
} from '@mantine/core';
import { notifications } from '@mantine/notifications';
import type { SyntheticEvent } from 'react';
import { useState } from 'react';

import type { Calendar } from '../../api/calendars';
import { useChoices, usePutCalendar } from '../../api/calendars';
import type { Schemas } from '../../api/client';
import { mistakes } from '../../api/mistakes';
import { may, useUser } from '../../api/session';
import { Dialog } from '../../components/dialog';
import { Failure } from '../../components/failure';
import { FormButtons } from '../../components/form-buttons';
import { AlertIcon } from '../../components/icons';
import { week, zones } from '../../words/times';

type Hours = Partial<Record<string, string[]>>;

/** Draft is a calendar as people write it. */
interface Draft {
  name: string;
  zone: string | null;
  always: boolean;
  hours: Record<string, string>;
  sets: string[];
  url: string;
  exceptions: string;
  countries: string[];
}

const textsOf = (hours: Hours | null | undefined) =>
  Object.fromEntries(week.map((day) => [day, (hours?.[day] ?? []).join(', ')]));

const office: Hours = Object.fromEntries(week.slice(0, 5).map((day) => [day, ['09:00-18:00']]));

function draftOf(c: Calendar | undefined): Draft {
  return {
    name: c?.name ?? '',
    zone: c?.zone ?? null,
    always: c !== undefined && c.hours === null,
    hours: textsOf(c === undefined ? office : c.hours),
    sets: c?.holiday_sets ?? [],
    url: c?.holidays_url ?? '',
    exceptions: (c?.exceptions ?? []).map((e) => `${e.date} ${e.hours?.join(', ') || 'closed'}`).join('\n'),
    countries: c?.countries ?? [],
  };
}

const parts = (text: string) =>
  text
    .split(',')
    .map((part) => part.trim().replace(/\s*[-–]\s*/, '-'))
    .filter((part) => part !== '');

/** bodyOf is what the API is sent for a draft. */
function bodyOf(d: Draft): Schemas['CalendarRequest'] {
  return {
    name: d.name.trim(),
    zone: d.zone,
    hours: d.always ? null : Object.fromEntries(week.map((day) => [day, parts(d.hours[day] ?? '')])),
    holiday_sets: d.sets,
    holidays_url: d.url.trim() === '' ? null : d.url.trim(),
    exceptions: d.exceptions
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '')
      .map((line) => {
        const [date = '', ...rest] = line.split(/\s+/);
        const text = rest.join(' ');
        return { date, hours: text === '' || text === 'closed' ? [] : parts(text) };
      }),
    countries: d.countries,
  };
}

/** CalendarForm makes a calendar, or changes one. */
export function CalendarForm({ of: c, close }: { of?: Calendar; close: () => void }) {
  const put = usePutCalendar();
  const choices = useChoices().data;
  const admin = may(useUser().role, 'admin');
  const [id, setId] = useState('');
  const [d, setDraft] = useState(() => draftOf(c));
  const [file, setFile] = useState<File | null>(null);
  const [version, setVersion] = useState(c?.version);
  const set = (change: Partial<Draft>) => setDraft({ ...d, ...change });
  const shown = ['id', 'calendar_id', 'name', 'zone', 'hours', 'holiday_sets', 'holidays_url', 'holidays_file'];
  const { of, rest } = mistakes(put.error, ...shown, 'exceptions', 'countries');
  const now =
    c !== undefined && put.error?.code === 'version_conflict' ? (put.error.current as Calendar | undefined) : undefined;
  const submit = async (e: SyntheticEvent) => {
    e.preventDefault();
    const body = bodyOf(d);
    if (file !== null) body.holidays_file = await file.text();
    if (version !== undefined) body.version = version;
    put.mutate(
      { id: c?.calendar_id ?? id.trim(), body },
      {
        onSuccess: (saved) => {
          notifications.show({ color: 'green', message: `Saved: ${saved.name}` });
          close();
        },
      },
    );
  };
  const presets = admin ? (choices?.presets ?? []) : [];
  return (
    <Dialog
      close={close}
      size="xl"
      closeOnClickOutside={false}
      title={c === undefined ? 'New calendar' : `Change ${c.name}`}
    >
      <form onSubmit={(e) => void submit(e)}>
        <Stack>
          {now === undefined && rest && <Failure title="The calendar was not saved" problem={rest} />}
          {now !== undefined && (
            <Alert color="yellow" icon={<AlertIcon />} title="It was changed meanwhile">
              <Text size="sm" mb="xs">
                Somebody else saved {now.name} as version {now.version}.
              </Text>
              <Button
                size="xs"
                variant="default"
                onClick={() => {
                  setDraft(draftOf(now));
                  setVersion(now.version);
                  put.reset();
                }}
              >
                Take what it says now
              </Button>
            </Alert>
          )}
          {c === undefined && presets.length > 0 && (
            <Select
              label="Begin with"
              description="Hours that a law or a code of conduct gives for calls to a country"
              placeholder="Office hours"
              data={presets.map((p) => ({ value: p.preset, label: p.name }))}
              onChange={(v) => {
                const p = presets.find((x) => x.preset === v);
                if (p === undefined) return;
                set({ name: p.name, hours: textsOf(p.hours), sets: p.holiday_sets, countries: p.countries });
              }}
            />
          )}
          <SimpleGrid cols={{ base: 1, sm: 2 }}>
            {c === undefined && (
              <TextInput
                label="Identifier"
                description="Letters, digits, - and _; it cannot be changed"
                required
                withAsterisk={false}
                maxLength={64}
                value={id}
                onChange={(e) => setId(e.currentTarget.value)}
                error={of('id', 'calendar_id')}
                data-autofocus
              />
            )}
            <TextInput
              label="Name"
              description="As contacts’ pages call it"
              required
              withAsterisk={false}
              maxLength={100}
              value={d.name}
              onChange={(e) => set({ name: e.currentTarget.value })}
              error={of('name')}
            />
            <Select
              label="Clock"
              description="By which the hours go"
              placeholder="The campaign’s, or each contact’s"
              data={zones()}
              value={d.zone}
              onChange={(zone) => set({ zone })}
              error={of('zone')}
              searchable
              clearable
              clearButtonProps={{ 'aria-label': 'No clock of its own' }}
              limit={100}
            />
          </SimpleGrid>
          <Checkbox
            label="Open at any time, apart from holidays and exceptions"
            checked={d.always}
            onChange={(e) => set({ always: e.currentTarget.checked })}
          />
          {!d.always && (
            <SimpleGrid cols={{ base: 1, xs: 2 }} role="group" aria-label="Hours">
              {week.map((day) => (
                <TextInput
                  key={day}
                  label={day}
                  placeholder="closed"
                  value={d.hours[day] ?? ''}
                  onChange={(e) => set({ hours: { ...d.hours, [day]: e.currentTarget.value } })}
                  error={of(`hours.${day}`)}
                />
              ))}
            </SimpleGrid>
          )}
          {of('hours') !== undefined && week.every((day) => of(`hours.${day}`) === undefined) && (
            <Text size="sm" c="var(--mantine-color-error)" role="alert">
              {of('hours')}
            </Text>
          )}
          <MultiSelect
            label="Holidays of"
            description="Countries and regions"
            data={(choices?.holiday_sets ?? []).map((s) => ({ value: s.code, label: `${s.code} ${s.country}` }))}
            value={d.sets}
            onChange={(sets) => set({ sets })}
            error={of('holiday_sets')}
            maxValues={5}
            searchable
            hidePickedOptions
          />
          <SimpleGrid cols={{ base: 1, sm: 2 }}>
            <TextInput
              label="File of holidays, by its address"
              description="iCalendar (.ics), fetched daily"
              placeholder="https://"
              value={d.url}
              onChange={(e) => set({ url: e.currentTarget.value })}
              error={of('holidays_url')}
            />
            <FileInput
              label="or from here"
              description={
                c?.holidays_file && c.holidays_url === null
                  ? 'The one that is there stays without another'
                  : 'iCalendar (.ics)'
              }
              placeholder="Choose a file"
              accept=".ics,text/calendar"
              value={file}
              onChange={setFile}
              error={of('holidays_file')}
              clearable
            />
          </SimpleGrid>
          <Textarea
            label="Exceptions"
            description="One date a line, with its hours or closed"
            placeholder={'2030-12-24 09:00-12:00\n2030-12-31 closed'}
            autosize
            minRows={2}
            maxRows={8}
            value={d.exceptions}
            onChange={(e) => set({ exceptions: e.currentTarget.value })}
            error={of('exceptions')}
          />
          {admin && (
            <TagsInput
              label="Countries"
              description="All calls to numbers of these countries go by it, in every campaign: DE, FR"
              value={d.countries}
              onChange={(countries) => set({ countries })}
              error={of('countries')}
            />
          )}
          <FormButtons close={close} busy={put.isPending} />
        </Stack>
      </form>
    </Dialog>
  );
}
