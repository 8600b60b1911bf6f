import { Button, Group, SegmentedControl, Skeleton, Stack, Text } from '@mantine/core';
import { useState } from 'react';

import type { Schemas } from '../../api/client';
import { asProblem } from '../../api/problem';
import { useActivity } from '../../api/queries';
import { Side } from '../../components/dialog';
import { Failure } from '../../components/failure';
import { LeftIcon, RightIcon } from '../../components/icons';
import { ToneWord } from '../../components/tone-badge';
import { When } from '../../components/when';
import { actionOf, detailOf } from '../../words/activity';
import { count, plural } from '../../words/figures';
import { nameOf, valueOf } from '../../words/settings';
import css from './activity-drawer.module.css';
import type { Still } from './still';

const pageSize = 20;

/** ActivityDrawer lists who did what, the most recent first (spec: Activity log entry). */
export function ActivityDrawer({ campaign: c, close }: { campaign: Still; close: () => void }) {
  return (
    <Side close={close} size="lg" title="Activity log">
      <Log campaign={c} />
    </Side>
  );
}

function Log({ campaign: c }: { campaign: Still }) {
  const [all, setAll] = useState(false);
  const [page, setPage] = useState(1);
  const query = useActivity(c.campaign_id, page, all, `${c.run} ${c.status} ${c.version}`);
  const pages = Math.max(1, Math.ceil((query.data?.total ?? 0) / pageSize));
  return (
    <Stack gap="sm">
      <SegmentedControl
        aria-label="Which actions"
        value={all ? 'all' : 'main'}
        onChange={(v) => {
          setAll(v === 'all');
          setPage(1);
        }}
        data={[
          { value: 'main', label: 'Start, pause, resume, stop' },
          { value: 'all', label: 'Everything' },
        ]}
      />
      {query.isPending && <Skeleton height={160} role="status" aria-label="Loading" />}
      {query.isError && (
        <Failure
          title="The activity log cannot be shown"
          problem={asProblem(query.error)}
          retry={() => void query.refetch()}
        />
      )}
      {query.data?.activity.length === 0 && (
        <Text size="sm" c="dimmed">
          Nothing yet. Every start, pause, resume and stop stands here, with who did it and when.
        </Text>
      )}
      {query.data && query.data.activity.length > 0 && (
        <ol className={css.log} aria-label="Activity">
          {query.data.activity.map((a, i) => (
            <Entry key={`${a.at} ${i}`} entry={a} zone={c.settings.window.zone} />
          ))}
        </ol>
      )}
      {pages > 1 && (
        <Group justify="space-between">
          <Text size="sm" c="dimmed">
            {plural(query.data?.total ?? 0, 'entry', 'entries')} · page {count(page)} of {count(pages)}
          </Text>
          <Group gap="xs">
            <Button
              size="xs"
              variant="default"
              leftSection={<LeftIcon size={14} />}
              disabled={page <= 1}
              onClick={() => setPage(page - 1)}
            >
              Newer
            </Button>
            <Button
              size="xs"
              variant="default"
              rightSection={<RightIcon size={14} />}
              disabled={page >= pages}
              onClick={() => setPage(page + 1)}
            >
              Older
            </Button>
          </Group>
        </Group>
      )}
    </Stack>
  );
}

function Entry({ entry: a, zone }: { entry: Schemas['Activity']; zone: string }) {
  const action = actionOf(a);
  const detail = detailOf(a);
  return (
    <li className={css.entry} data-action={a.action}>
      <Group justify="space-between" gap="sm" wrap="nowrap" align="baseline">
        <Text component="div" size="sm" fw={600}>
          <ToneWord tone={action.tone} label={action.label} />
        </Text>
        <Text component="div" size="xs" c="dimmed" style={{ whiteSpace: 'nowrap' }}>
          <When at={a.at} zone={zone} precise />
        </Text>
      </Group>
      <Text size="sm" c="dimmed">
        {a.who.name}
        {detail !== '' && ` · ${detail}`}
        {a.due_at !== undefined && (
          <>
            {' '}
            · for <When at={a.due_at} zone={zone} precise />
          </>
        )}
      </Text>
      {a.changes && a.changes.length > 0 && (
        <ul className={css.changes}>
          {a.changes.map((ch) => (
            <li key={ch.field}>
              {nameOf(ch.field)}: {valueOf(ch.field, ch.from)} → <b>{valueOf(ch.field, ch.to)}</b>
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}
