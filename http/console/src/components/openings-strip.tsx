import { Stack, Text, Tooltip, VisuallyHidden } from '@mantine/core';

import type { Windows } from '../api/calendars';
import { stripDays } from '../api/calendars';
import { said, stripOf } from '../words/openings';
import { dateIn, moment } from '../words/times';
import css from './openings-strip.module.css';

const dayMinutes = 24 * 60;

/** OpeningsStrip shows the next 14 days: midnight is at the top of each, the open hours are filled. */
export function OpeningsStrip({ of: w, label, bare = false }: { of: Windows; label: string; bare?: boolean }) {
  const days = stripOf(w, dateIn(w.zone), stripDays);
  return (
    <Stack gap={4}>
      <ol className={css['strip']} aria-label={label}>
        {days.map((d) => {
          const about = [said(d), ...d.notes].join('; ');
          const at = new Date(`${d.date}T12:00:00Z`);
          return (
            <li key={d.date} className={css['day']} data-day={d.date} data-says={about}>
              <Tooltip label={`${d.date}: ${about}`} multiline>
                <div className={css['hours']} data-special={d.notes.length > 0 || undefined} aria-hidden>
                  {d.parts.map((p) => (
                    <div
                      key={p.from}
                      className={css['open']}
                      style={{
                        top: `${(100 * p.from) / dayMinutes}%`,
                        height: `${(100 * (p.to - p.from)) / dayMinutes}%`,
                      }}
                    />
                  ))}
                </div>
              </Tooltip>
              <span aria-hidden>{at.getUTCDate()}</span>
              <VisuallyHidden>{`${d.date}: ${about}`}</VisuallyHidden>
            </li>
          );
        })}
      </ol>
      {!bare && (
        <Text size="xs" c="dimmed">
          {w.opens_at === null
            ? 'Not open in the next 400 days.'
            : w.closed_by !== null
              ? `Closed: ${w.closed_by}. It opens ${moment(new Date(w.opens_at), w.zone)}.`
              : new Date(w.opens_at) > new Date()
                ? `Closed. It opens ${moment(new Date(w.opens_at), w.zone)}.`
                : 'Open now.'}{' '}
          By the clock of {w.zone}; midnight is at the top.
        </Text>
      )}
    </Stack>
  );
}
