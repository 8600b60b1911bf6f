import { Button, FileButton, Group, Loader, Pagination, Progress, SimpleGrid, Stack, Table, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { DragEvent } from 'react';
import { useEffect, useRef, useState } from 'react';

import type { ImportReport, Rejected } from '../../api/imports';
import { rejectedRows, upload } from '../../api/imports';
import { Problem, asProblem } from '../../api/problem';
import { keys } from '../../api/queries';
import { Dialog } from '../../components/dialog';
import { Failure } from '../../components/failure';
import { FileIcon } from '../../components/icons';
import { count, plural, share, size } from '../../words/figures';
import { words } from '../../words/states';
import css from './add-contacts.module.css';
import { MapColumns } from './map-columns';
import type { Still } from './still';

type Stage =
  | { name: 'choose'; problem?: Problem }
  | { name: 'map'; file: File }
  | { name: 'sending'; file: File; sent: number }
  | { name: 'working'; report: ImportReport }
  | { name: 'done'; report: ImportReport };

/** AddContacts uploads a CSV file and shows what became of its rows. */
export default function AddContacts({ campaign: c, close }: { campaign: Still; close: () => void }) {
  const [busy, setBusy] = useState(false);
  return (
    <Dialog close={busy ? () => undefined : close} withCloseButton={!busy} size="xl" title="Add contacts">
      <ContactsFile campaign={c} busy={setBusy} close={close} />
    </Dialog>
  );
}

/** ContactsFile takes a file, shows what its columns become, sends it, and reports on its rows. */
export function ContactsFile({
  campaign: c,
  busy,
  close,
}: {
  campaign: Still;
  busy?: (busy: boolean) => void;
  close?: () => void;
}) {
  const client = useQueryClient();
  const [stage, setStage] = useState<Stage>({ name: 'choose' });
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);

  const send = async (file: File, country: string | undefined) => {
    const control = new AbortController();
    running.current = control;
    busy?.(true);
    setStage({ name: 'sending', file, sent: 0 });
    try {
      const report = await upload(
        c.campaign_id,
        file,
        country,
        control.signal,
        (sent) => setStage({ name: 'sending', file, sent }),
        (working) => setStage({ name: 'working', report: working }),
      );
      setStage({ name: 'done', report });
      void client.invalidateQueries({ queryKey: keys.campaign(c.campaign_id) });
      void client.invalidateQueries({ queryKey: keys.contacts(c.campaign_id) });
      void client.invalidateQueries({ queryKey: keys.preflight(c.campaign_id) });
    } catch (e) {
      const p = asProblem(e);
      setStage(p.code === 'upload_cancelled' ? { name: 'choose' } : { name: 'choose', problem: p });
    }
    busy?.(false);
  };
  return (
    <>
      {stage.name === 'choose' && <Choose problem={stage.problem} take={(file) => setStage({ name: 'map', file })} />}
      {stage.name === 'map' && (
        <MapColumns
          file={stage.file}
          back={(problem) => setStage({ name: 'choose', ...(problem === undefined ? {} : { problem }) })}
          send={(file, country) => void send(file, country)}
        />
      )}
      {stage.name === 'sending' && (
        <Stack>
          <Text size="sm">
            Uploading <b>{stage.file.name}</b> ({size(stage.file.size)})
          </Text>
          <Progress.Root size="lg">
            <Progress.Section value={stage.sent * 100} animated={stage.sent >= 1} aria-label="Upload" />
          </Progress.Root>
          <Group justify="space-between">
            <Text size="sm" c="dimmed" className="figure">
              {stage.sent < 1 ? share(stage.sent) : 'Sent; the rows are being checked'}
            </Text>
            <Button variant="default" onClick={() => running.current?.abort()}>
              Cancel
            </Button>
          </Group>
        </Stack>
      )}
      {stage.name === 'working' && (
        <Group gap="sm" role="status">
          <Loader size="sm" />
          <Text size="sm">
            <b>{stage.report.filename}</b>: {plural(stage.report.rows, 'row')} are becoming contacts
          </Text>
        </Group>
      )}
      {stage.name === 'done' && (
        <Report report={stage.report} again={() => setStage({ name: 'choose' })} close={close} />
      )}
    </>
  );
}

function Choose({ problem, take }: { problem: Problem | undefined; take: (file: File) => void }) {
  const [over, setOver] = useState(false);
  const drop = (e: DragEvent) => {
    e.preventDefault();
    setOver(false);
    const file = e.dataTransfer.files[0];
    if (file) take(file);
  };
  return (
    <Stack>
      {problem && <Failure title="The file was not added" problem={problem} />}
      {/* Dropping a file is a second way beside the button, which everybody can use. */}
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions */}
      <div
        role="group"
        aria-label="CSV file"
        className={css.drop}
        data-over={over || undefined}
        onDragOver={(e) => {
          e.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={drop}
      >
        <FileIcon size={32} />
        <Text fw={600}>Drop a CSV file here</Text>
        <FileButton onChange={(f) => f && take(f)} accept=".csv,text/csv">
          {(props) => (
            <Button {...props} variant="default" data-autofocus>
              Choose a file
            </Button>
          )}
        </FileButton>
      </div>
      <Text size="sm" c="dimmed">
        The file needs a column with phone numbers, best named <code>phone_number</code>. It may have{' '}
        <code>not_before</code> and <code>expires_at</code> (2026-12-01T09:00:00+01:00), between which a person may be
        called, and <code>priority</code> (0 to 9). Every other column becomes a variable that reaches the bot.
      </Text>
    </Stack>
  );
}

const figures = [
  { name: 'rows', label: 'Rows' },
  { name: 'added', label: 'Added' },
  { name: 'invalid', label: 'Invalid' },
  { name: 'duplicate', label: 'Duplicate' },
  { name: 'excluded', label: 'Excluded' },
] as const;

function Report({
  report,
  again,
  close,
}: {
  report: ImportReport;
  again: () => void;
  close: (() => void) | undefined;
}) {
  const rejected = report.invalid + report.duplicate + report.excluded;
  return (
    <Stack>
      {report.state === 'failed' ? (
        <Failure
          title="The contacts were not added"
          problem={
            new Problem(0, report.problem?.code ?? 'import_failed', report.problem?.detail ?? 'The import failed.')
          }
        />
      ) : (
        <Text size="sm" role="status">
          <b>{plural(report.added, 'contact')} added</b> from {report.filename}.
          {rejected > 0 && ` ${plural(rejected, 'row')} left out.`}
        </Text>
      )}
      <SimpleGrid component="dl" cols={5} spacing="xs" m={0}>
        {figures.map(({ name, label }) => (
          <div key={name} className={css.figure}>
            <dt>{label}</dt>
            <dd className="figure" data-figure={`import_${name}`}>
              {count(report[name])}
            </dd>
          </div>
        ))}
      </SimpleGrid>
      {rejected > 0 && <RejectedRows report={report} />}
      <Group justify="flex-end" gap="xs">
        <Button variant="default" onClick={again}>
          Add another file
        </Button>
        {close && (
          <Button onClick={close} data-autofocus>
            Done
          </Button>
        )}
      </Group>
    </Stack>
  );
}

const rejectedPerPage = 50;

function RejectedRows({ report }: { report: ImportReport }) {
  const [page, setPage] = useState(1);
  const query = useQuery<Rejected, Problem>({
    queryKey: [...keys.imports(report.campaign_id), report.import_id, page],
    queryFn: ({ signal }) => rejectedRows(report, page, rejectedPerPage, signal),
    placeholderData: (old) => old,
  });
  if (query.isError) return <Failure problem={query.error} retry={() => void query.refetch()} />;
  if (!query.data) return null;
  return (
    <Stack gap="xs">
      <Table.ScrollContainer
        minWidth={420}
        maxHeight={280}
        type="native"
        tabIndex={0}
        role="region"
        aria-label="Rows that were left out"
      >
        <Table stickyHeader fz="sm">
          <Table.Thead>
            <Table.Tr>
              <Table.Th ta="right">Line</Table.Th>
              <Table.Th>Phone number</Table.Th>
              <Table.Th>Reason</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {query.data.rows.map((r) => (
              <Table.Tr key={`${r.line} ${r.phone_number}`} data-reason={r.reason}>
                <Table.Td ta="right" className="figure">
                  {count(r.line)}
                </Table.Td>
                <Table.Td ff="monospace">{r.phone_number}</Table.Td>
                <Table.Td>
                  {words(r.reason)}
                  {r.message && (
                    <Text size="xs" c="dimmed">
                      {r.message}
                    </Text>
                  )}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      {query.data.total > rejectedPerPage && (
        <Pagination
          size="sm"
          total={Math.ceil(query.data.total / rejectedPerPage)}
          value={page}
          onChange={setPage}
          getControlProps={(control) => ({ 'aria-label': `${words(control)} page` })}
        />
      )}
    </Stack>
  );
}
