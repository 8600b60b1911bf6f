import { Button, Group, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useEffect, useId, useRef, useState } from 'react';

import type { Campaign } from '../../api/client';
import { asProblem } from '../../api/problem';
import type { ReportProgress } from '../../api/report';
import { fetchReport, save } from '../../api/report';
import { DownloadIcon } from '../../components/icons';
import { plural, size } from '../../words/figures';

/** How often the progress is written anew. */
const writeMs = 100;

/**
 * ReportButton downloads the Attempt Report: one row per dial. It is disabled while a download runs, which can be
 * cancelled.
 */
export function ReportButton({ campaign: c }: { campaign: Pick<Campaign, 'campaign_id'> }) {
  const [progress, setProgress] = useState<ReportProgress>();
  const running = useRef<AbortController>(undefined);
  const button = useRef<HTMLButtonElement>(null);
  const cancel = useRef<HTMLButtonElement>(null);
  const counted = useId();
  useEffect(() => () => running.current?.abort(), []);
  // A button that is disabled, or gone, does not keep the focus: who uses the keyboard finds it at the other.
  const active = progress !== undefined;
  useEffect(() => {
    if (!active) return undefined;
    const start = button.current;
    if (document.activeElement === document.body || document.activeElement === start) cancel.current?.focus();
    return () => {
      if (document.activeElement === document.body) start?.focus();
    };
  }, [active]);

  const download = async () => {
    const control = new AbortController();
    running.current = control;
    setProgress({ rows: 0, bytes: 0 });
    let shown = 0;
    try {
      const { file, rows, bytes } = await fetchReport(c.campaign_id, control.signal, (p) => {
        if (p.waiting !== true && performance.now() - shown < writeMs) return;
        shown = performance.now();
        setProgress(p);
      });
      save(file, `attempts-${c.campaign_id}.csv`);
      notifications.show({
        color: 'green',
        title: 'Attempt Report downloaded',
        message: `${plural(rows, 'row')}, ${size(bytes)}`,
        autoClose: 10_000,
      });
    } catch (e) {
      const p = asProblem(e);
      if (p.code === 'report_cancelled')
        notifications.show({ color: 'yellow', title: 'Attempt Report cancelled', message: p.message });
      else
        notifications.show({
          color: 'red',
          title: 'The Attempt Report was not downloaded',
          message: p.message,
          autoClose: false,
        });
    } finally {
      running.current = undefined;
      setProgress(undefined);
    }
  };

  return (
    <Group gap={8} wrap="nowrap">
      {progress && (
        <>
          <Text size="sm" c="dimmed" className="figure" id={counted} data-figure="report_progress">
            {plural(progress.rows, 'row')} · {size(progress.bytes)}
            {progress.waiting === true && ' · broke off, going on…'}
          </Text>
          <Button
            ref={cancel}
            variant="subtle"
            size="compact-sm"
            aria-describedby={counted}
            onClick={() => running.current?.abort()}
          >
            Cancel download
          </Button>
        </>
      )}
      <Button
        ref={button}
        variant="default"
        leftSection={<DownloadIcon size={16} />}
        disabled={active}
        onClick={() => void download()}
      >
        Attempt Report
      </Button>
    </Group>
  );
}
