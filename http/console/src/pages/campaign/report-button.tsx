import { Button, Group, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useEffect, useRef, useState } from 'react';

import type { Campaign } from '../../api/client';
import { asProblem } from '../../api/problem';
import type { ReportProgress } from '../../api/report';
import { fetchReport, save } from '../../api/report';
import { DownloadIcon } from '../../components/icons';
import { plural, size } from '../../words/figures';

/** ReportButton downloads the Attempt Report: one row per dial. It is disabled while a download runs. */
export function ReportButton({ campaign: c }: { campaign: Campaign }) {
  const [progress, setProgress] = useState<ReportProgress>();
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);

  const download = async () => {
    const control = new AbortController();
    running.current = control;
    setProgress({ rows: 0, bytes: 0 });
    let shown = 0;
    try {
      const { file, rows, bytes } = await fetchReport(c.campaign_id, control.signal, (p) => {
        if (performance.now() - shown < 100) return;
        shown = performance.now();
        setProgress(p);
      });
      save(file, `attempts-${c.campaign_id}.csv`);
      notifications.show({ color: 'green', title: 'Attempt Report downloaded', message: `${plural(rows, 'row')}, ${size(bytes)}`, autoClose: 10_000 });
    } catch (e) {
      const p = asProblem(e);
      if (p.code !== 'report_cancelled') notifications.show({ color: 'red', title: 'The Attempt Report was not downloaded', message: p.message, autoClose: false });
    } finally {
      running.current = undefined;
      setProgress(undefined);
    }
  };

  return (
    <Group gap={8} wrap="nowrap">
      {progress && (
        <Text size="sm" c="dimmed" className="figure" role="status" data-figure="report_progress">
          {plural(progress.rows, 'row')} · {size(progress.bytes)}
        </Text>
      )}
      <Button variant="default" leftSection={<DownloadIcon size={16} />} disabled={progress !== undefined} onClick={() => void download()}>
        Attempt Report
      </Button>
    </Group>
  );
}
