import { Button, Table, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';

import type { Calendar } from '../../api/calendars';
import { useCalendars, useCalendarWindows, useDeleteCalendar } from '../../api/calendars';
import { may, useUser } from '../../api/session';
import { Confirm } from '../../components/confirm';
import { PlusIcon } from '../../components/icons';
import { ActionsHead, Empty, ListingPage, Rows } from '../../components/listing';
import { OpeningsStrip } from '../../components/openings-strip';
import { RowMenu } from '../../components/row-menu';
import { moment, viewerZone } from '../../words/times';
import { CalendarForm } from './calendar-form';

type Asked = { what: 'change' | 'delete'; of: Calendar };

export default function CalendarsPage() {
  const query = useCalendars();
  const admin = may(useUser().role, 'admin');
  const [creating, { open, close }] = useDisclosure(false);
  const [asked, setAsked] = useState<Asked>();
  const done = () => setAsked(undefined);
  return (
    <ListingPage
      title="Calendars"
      intro="Opening hours and holidays. A campaign calls when its window and all calendars that it names are open."
      action={
        <Button leftSection={<PlusIcon />} onClick={open}>
          New calendar
        </Button>
      }
      query={query}
    >
      {(list) => (
        <>
          {list.length === 0 ? (
            <Empty title="No calendars yet" action={<Button onClick={open}>Make the first one</Button>}>
              Campaigns call by their window alone.
            </Empty>
          ) : (
            <Rows
              label="Calendars"
              heads={
                <>
                  <Table.Th>Calendar</Table.Th>
                  <Table.Th>Holidays</Table.Th>
                  <Table.Th>Next 14 days</Table.Th>
                  <ActionsHead />
                </>
              }
            >
              {list.map((c) => (
                <Table.Tr key={c.calendar_id} data-calendar={c.calendar_id}>
                  <Table.Td>
                    <Text size="sm" fw={600}>
                      {c.name}
                    </Text>
                    <Text size="xs" c="dimmed" ff="monospace">
                      {c.calendar_id}
                    </Text>
                    {c.countries.length > 0 && <Text size="xs">All calls to {c.countries.join(', ')}</Text>}
                  </Table.Td>
                  <Table.Td>
                    <Holidays of={c} />
                  </Table.Td>
                  <Table.Td miw={260}>
                    <Strip of={c} />
                  </Table.Td>
                  <Table.Td ta="right">
                    {(admin || c.countries.length === 0) && (
                      <RowMenu
                        of={c.name}
                        items={[
                          { label: 'Change…', act: () => setAsked({ what: 'change', of: c }) },
                          { label: 'Delete…', act: () => setAsked({ what: 'delete', of: c }), grave: true },
                        ]}
                      />
                    )}
                  </Table.Td>
                </Table.Tr>
              ))}
            </Rows>
          )}
          {creating && <CalendarForm close={close} />}
          {asked?.what === 'change' && <CalendarForm of={asked.of} close={done} />}
          {asked?.what === 'delete' && <Delete of={asked.of} close={done} />}
        </>
      )}
    </ListingPage>
  );
}

function Holidays({ of: c }: { of: Calendar }) {
  const file = c.holidays_file;
  return (
    <>
      {c.holiday_sets.length > 0 && <Text size="sm">{c.holiday_sets.join(', ')}</Text>}
      {file && (
        <Text size="sm">
          {c.holidays_url === null ? 'A file' : 'A file by its address'}: {file.days} days, of{' '}
          {moment(new Date(file.read_at))}
        </Text>
      )}
      {file?.problem && (
        <Text size="sm" c="var(--mantine-color-error)">
          Not up to date: {file.problem}
        </Text>
      )}
      {c.exceptions.length > 0 && (
        <Text size="sm" c="dimmed">
          {c.exceptions.length} {c.exceptions.length === 1 ? 'exception' : 'exceptions'}
        </Text>
      )}
    </>
  );
}

function Strip({ of: c }: { of: Calendar }) {
  const windows = useCalendarWindows(c.calendar_id, c.zone ?? viewerZone).data;
  return windows === undefined ? null : <OpeningsStrip of={windows} label={`Openings of ${c.name}`} />;
}

function Delete({ of: c, close }: { of: Calendar; close: () => void }) {
  const remove = useDeleteCalendar();
  return (
    <Confirm
      title={`Delete ${c.name}?`}
      lines={['No campaign can be given it any more.']}
      confirm="Delete"
      grave
      busy={remove.isPending}
      problem={remove.error}
      close={close}
      carryOut={() =>
        remove.mutate(c.calendar_id, {
          onSuccess: () => {
            notifications.show({ color: 'green', message: `Deleted: ${c.name}` });
            close();
          },
        })
      }
    />
  );
}
