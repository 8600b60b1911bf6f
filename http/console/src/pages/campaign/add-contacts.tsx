import { Button, FileButton, Group, Loader, Pagination, Progress, SimpleGrid, Stack, Table, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { DragEvent } from 'react';
import { useEffect, useRef, useState } from 'react';

import type { Asked, ImportReport, Rejected } from '../../api/imports';
import { mayBeSentAgain, rejectedFile, rejectedRows, upload } from '../../api/imports';
import { Problem, asProblem } from '../../api/problem';
import { keys } from '../../api/queries';
import { Dialog } from '../../components/dialog';
import { Failure } from '../../components/failure';
import { DownloadIcon, FileIcon } from '../../components/icons';
import { count, plural, share, size } from '../../words/figures';
import { sentence } from '../../words/sentence';
import { words } from '../../words/states';
import css from './add-contacts.module.css';
import { MapColumns } from './map-columns';
import type { Still } from './still';

/** Upload is a file as it is sent. */
interface Upload {
  file: File;
  asked: Asked;
}

type Stage =
  | { name: 'choose'; problem?: Problem }
  | { name: 'map'; problem?: Problem }
  | { name: 'sending'; up: Upload; sent: number }
  | { name: 'working'; up: Upload; report: ImportReport }
  | { name: 'checked'; up: Upload; report: ImportReport; problem?: Problem }
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

/**
 * ContactsFile takes a file, shows what its columns become, has the whole of it checked, and then sends it once more to
 * be added.
 */
export function ContactsFile({
  campaign: c,
  busy,
  waits,
  close,
}: {
  campaign: Still;
  busy?: (busy: boolean) => void;
  /** A file was chosen, and its contacts are not added yet. */
  waits?: (file: boolean) => void;
  close?: () => void;
}) {
  const client = useQueryClient();
  const [stage, setStage] = useState<Stage>({ name: 'choose' });
  // It stays while it is sent, so that its columns are as they were when somebody comes back to them.
  const [given, setGiven] = useState<File>();
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  const waiting = stage.name === 'map' || stage.name === 'checked';
  useEffect(() => {
    waits?.(waiting);
    return () => waits?.(false);
  }, [waits, waiting]);
  useEffect(() => () => busy?.(false), [busy]);

  const again = (problem?: Problem) => {
    setGiven(undefined);
    setStage({ name: 'choose', ...(problem === undefined ? {} : { problem }) });
  };
  /** send sends a file; where it may be sent once more, what was on the page before comes back. */
  const send = async (up: Upload, before: Stage & { name: 'map' | 'checked' }) => {
    const control = new AbortController();
    running.current = control;
    busy?.(true);
    setStage({ name: 'sending', up, sent: 0 });
    try {
      const report = await upload(
        c.campaign_id,
        up.file,
        up.asked,
        control.signal,
        (sent) => setStage({ name: 'sending', up, sent }),
        (working) => setStage({ name: 'working', up, report: working }),
      );
      setStage(report.state === 'checked' ? { name: 'checked', up, report } : { name: 'done', report });
      void client.invalidateQueries({ queryKey: keys.imports(c.campaign_id) });
      if (up.asked.check !== true) {
        void client.invalidateQueries({ queryKey: keys.campaign(c.campaign_id) });
        void client.invalidateQueries({ queryKey: keys.contacts(c.campaign_id) });
        void client.invalidateQueries({ queryKey: keys.preflight(c.campaign_id) });
      }
    } catch (e) {
      const p = asProblem(e);
      if (p.code === 'upload_cancelled') setStage({ name: 'map' });
      else if (mayBeSentAgain(p)) setStage({ ...before, problem: p });
      else again(p);
    }
    busy?.(false);
  };
  return (
    <>
      {stage.name === 'choose' && (
        <Choose
          problem={stage.problem}
          take={(file) => {
            setGiven(file);
            setStage({ name: 'map' });
          }}
        />
      )}
      {given && (
        <div hidden={stage.name !== 'map'}>
          {stage.name === 'map' && stage.problem && (
            <Failure title="The file was not checked" problem={stage.problem} />
          )}
          <MapColumns
            campaign={c.campaign_id}
            file={given}
            back={again}
            send={(file, asked) => void send({ file, asked: { ...asked, check: true } }, { name: 'map' })}
          />
        </div>
      )}
      {stage.name === 'sending' && (
        <Stack>
          <Text size="sm">
            Uploading <b>{stage.up.file.name}</b> ({size(stage.up.file.size)})
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
            <b>{stage.report.filename}</b>: {stage.up.asked.check === true ? 'checking' : 'adding'}{' '}
            {plural(stage.report.rows, 'row')}
          </Text>
        </Group>
      )}
      {stage.name === 'checked' && (
        <Checked
          report={stage.report}
          problem={stage.problem}
          back={() => setStage({ name: 'map' })}
          add={() =>
            void send(
              { file: stage.up.file, asked: { ...stage.up.asked, check: false } },
              { name: 'checked', up: stage.up, report: stage.report },
            )
          }
        />
      )}
      {stage.name === 'done' && <Report report={stage.report} again={() => again()} close={close} />}
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

const leftOut = (report: ImportReport) => report.invalid + report.duplicate - report.readmitted + report.excluded;

/** Rows shows what was counted, and the rows that were left out. */
function Rows({ report, added = 'Added' }: { report: ImportReport; added?: string }) {
  return (
    <>
      <SimpleGrid component="dl" cols={5} spacing="xs" m={0}>
        {figures.map(({ name, label }) => (
          <div key={name} className={css.figure}>
            <dt>{name === 'added' ? added : label}</dt>
            <dd className="figure" data-figure={`import_${name}`}>
              {count(report[name])}
            </dd>
          </div>
        ))}
      </SimpleGrid>
      {leftOut(report) > 0 && <RejectedRows report={report} />}
    </>
  );
}

/** Checked says what would be added, before anything is. */
function Checked({
  report,
  problem,
  back,
  add,
}: {
  report: ImportReport;
  problem: Problem | undefined;
  back: () => void;
  add: () => void;
}) {
  return (
    <Stack data-import="checked">
      {problem && <Failure title="The file was not added yet" problem={problem} />}
      <Text size="sm" role="status">
        <b>{plural(report.added, 'contact')}</b> of {report.filename} can be added. Nothing has been added yet.
        {report.readmitted > 0 && ` ${plural(report.readmitted, 'excluded contact')} would be called again.`}
        {leftOut(report) > 0 && ` ${plural(leftOut(report), 'row')} would be left out.`}
      </Text>
      <Rows report={report} added="Can be added" />
      <Group justify="flex-end" gap="xs">
        <Button variant="default" onClick={back}>
          Back to the columns
        </Button>
        <Button onClick={add} disabled={report.added + report.readmitted === 0} data-autofocus>
          Add {plural(report.added + report.readmitted, 'contact')}
        </Button>
      </Group>
    </Stack>
  );
}

function Report({
  report,
  again,
  close,
}: {
  report: ImportReport;
  again: () => void;
  close: (() => void) | undefined;
}) {
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
          {report.readmitted > 0 && ` ${plural(report.readmitted, 'excluded contact')} can be called again.`}
          {leftOut(report) > 0 && ` ${plural(leftOut(report), 'row')} left out.`}
        </Text>
      )}
      <Rows report={report} />
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
                      {sentence(r.message)}
                    </Text>
                  )}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      {report.state !== 'failed' && (
        <Group gap="sm">
          <Button
            component="a"
            href={rejectedFile(report)}
            download
            variant="default"
            size="xs"
            leftSection={<DownloadIcon size={16} />}
          >
            Download these rows
          </Button>
          <Text size="xs" c="dimmed">
            With all their columns, and what is wrong in front. Correct the file and add it.
          </Text>
        </Group>
      )}
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
