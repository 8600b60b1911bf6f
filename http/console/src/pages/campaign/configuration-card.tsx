import { Group, Text } from '@mantine/core';
import type { ReactNode } from 'react';

import { useCadences } from '../../api/cadences';
import { useCalendars } from '../../api/calendars';
import { Card } from '../../components/card';
import { CopyControl } from '../../components/copy-control';
import { count, seconds } from '../../words/figures';
import { daysOf } from '../../words/times';
import { counts, flat, isEmpty, nameOf, poolOf, rowOf, valueOf } from '../../words/settings';
import css from './configuration-card.module.css';
import type { Still } from './still';
import { still } from './still';

/** Rows that the panel writes in a form of its own, or together, before the others. */
const own = new Set([
  'name',
  'bot_id',
  'concurrency',
  'window.zone',
  'window.start',
  'window.end',
  'window.days',
  'window.contact_zone',
  'single_day',
  'number_pool',
  'always_on',
  'max_attempts',
  'retry_delay_s',
  'cadence_id',
  'calendar_ids',
  'stop_redials_after_s',
  'redial_only_under_s',
  'config_url',
  'recording_retention_days',
]);

/** What is at its default and would only fill the panel. */
function isUnused(field: string, all: Record<string, unknown>): boolean {
  const f = rowOf(field);
  if (f !== undefined && !counts(f, all)) return true;
  return (f?.quiet === true || field === 'window.holidays') && isEmpty(all[field]);
}

/** ConfigurationCard shows the settings; they are changed under Edit (spec: read-only configuration panel). */
export const ConfigurationCard = still(function ConfigurationCard({ campaign: c }: { campaign: Still }) {
  const s = c.settings;
  const values = flat(s);
  const fetched = new Set(Object.keys(c.external_config?.settings ?? {}));
  const later = Object.keys(values).filter((f) => !own.has(f) && !isUnused(f, values));
  const days = daysOf(s.window.days);
  return (
    <Card
      title="Configuration"
      aside={<Text size="xs" c="dimmed" className="figure">{`Version ${count(c.version)}`}</Text>}
    >
      <dl className={css.rows}>
        <Row field="bot_id" name="Bot ID">
          {s.bot_id}
        </Row>
        <Row field="concurrency">{count(s.concurrency)}</Row>
        <Row field="window" name="Time Window">
          {s.window.start === s.window.end
            ? 'All day'
            : `${s.window.start}–${s.window.end}${s.window.end < s.window.start ? ' (next day)' : ''}`}
          , {s.window.contact_zone ? 'clock of each contact' : s.window.zone}
        </Row>
        <Row field="window.days">{days === 'every day' ? 'All seven days' : days}</Row>
        {s.calendar_ids.length > 0 && (
          <Row field="calendar_ids">
            <CalendarNames ids={s.calendar_ids} />
          </Row>
        )}
        <Row field="single_day">{valueOf('single_day', s.single_day)}</Row>
        <Row field="number_pool">
          <Pool pool={s.number_pool} />
        </Row>
        <Row field="always_on">{valueOf('always_on', s.always_on)}</Row>
        <Row field="max_attempts">{count(s.max_attempts)}</Row>
        <Row field="retry_delay_s">{seconds(s.retry_delay_s)}</Row>
        {s.cadence_id !== undefined && (
          <Row field="cadence_id">
            <CadenceName id={s.cadence_id} />
          </Row>
        )}
        {s.stop_redials_after_s > 0 && (
          <Row field="stop_redials_after_s">{seconds(s.stop_redials_after_s)} of conversation</Row>
        )}
        {s.redial_only_under_s > 0 && (
          <Row field="redial_only_under_s">{seconds(s.redial_only_under_s)} of conversation</Row>
        )}
        {later.map((f) => (
          <Row key={f} field={f} fetched={fetched.has(f)}>
            {valueOf(f, values[f])}
            {f === 'recording' &&
              s.recording === 'on' &&
              `, kept ${valueOf('recording_retention_days', s.recording_retention_days)}`}
          </Row>
        ))}
        {s.config_url !== undefined && s.config_url !== '' && (
          <Row field="config_url">
            <span className={css.long}>{s.config_url}</span>
          </Row>
        )}
      </dl>
    </Card>
  );
});

function CalendarNames({ ids }: { ids: string[] }) {
  const calendars = useCalendars().data;
  return ids.map((id) => calendars?.find((c) => c.calendar_id === id)?.name ?? id).join(', ');
}

function CadenceName({ id }: { id: string }) {
  const cadence = useCadences().data?.find((c) => c.cadence_id === id);
  return cadence === undefined ? id : <span title={cadence.rules}>{cadence.name}</span>;
}

function Row({
  field,
  name = nameOf(field),
  fetched = false,
  children,
}: {
  field: string;
  name?: string;
  fetched?: boolean;
  children: ReactNode;
}) {
  return (
    <div className={css.row} data-setting={field}>
      <dt>{name}</dt>
      <dd className="figure">
        {children}
        {fetched && (
          <Text span size="xs" c="dimmed">
            {' '}
            (set by the Config URL)
          </Text>
        )}
      </dd>
    </div>
  );
}

function Pool({ pool }: { pool: string[] }) {
  const { first, more } = poolOf(pool);
  if (pool.length === 0) return <>None</>;
  return (
    <Group gap={6} component="span" display="inline-flex">
      <span>{first.join(', ')}</span>
      {more !== '' && (
        <Text span size="sm" c="dimmed">
          {more}
        </Text>
      )}
      <CopyControl text={pool.join('\n')} what={`all ${count(pool.length)} numbers`} />
    </Group>
  );
}
