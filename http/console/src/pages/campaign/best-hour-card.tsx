import { Box, NativeSelect, Skeleton, Stack, Table, Text, VisuallyHidden } from '@mantine/core';
import type { CSSProperties } from 'react';
import { useState } from 'react';

import type { Schemas } from '../../api/client';
import { useBestHour } from '../../api/queries';
import { Card } from '../../components/card';
import { Failure } from '../../components/failure';
import { answeredOf, differenceOf, placeName, weekOf, weekdays } from '../../words/best-hour';
import { plural, share } from '../../words/figures';
import css from './best-hour-card.module.css';

/** BestHourCard shows what dialling at the best hour gains, and at which hours people answer. */
export function BestHourCard({ id }: { id: string }) {
  const { data: b, error, refetch } = useBestHour(id);
  const [chosen, choose] = useState<string>();
  const shown = b?.countries.find((c) => c.region === chosen) ?? b?.countries[0];
  return (
    <Card
      title="Best hour"
      aside={
        b !== undefined &&
        b.countries.length > 1 && (
          <NativeSelect
            size="xs"
            aria-label="Country"
            value={shown?.region}
            onChange={(e) => choose(e.currentTarget.value)}
            data={b.countries.map((c) => ({ value: c.region, label: placeName(c.region) }))}
          />
        )
      }
    >
      {error && b === undefined && (
        <Box p="md">
          <Failure title="The best hour cannot be shown" problem={error} retry={() => void refetch()} />
        </Box>
      )}
      {!error && b === undefined && <Skeleton height={240} m="md" />}
      {b !== undefined && (
        <Stack gap="sm" p="md">
          <Text size="sm" fw={600} className="figure" data-difference>
            {differenceOf(b)}
          </Text>
          <Text size="sm" c="dimmed" className="figure">
            A person answered {answeredOf(b.with)} at the best hour, and {answeredOf(b.control)} of the tenth that is
            dialled without it. Dials are counted within twenty minutes.
          </Text>
          {shown === undefined ? (
            <Text size="sm" c="dimmed">
              Nothing is known yet of the hours at which people answer. Dials of the last 90 days are learned from.
            </Text>
          ) : (
            <Hours of={shown} />
          )}
        </Stack>
      )}
    </Card>
  );
}

/** Hours is a week of a country: the darker, the more likely somebody answers. */
function Hours({ of }: { of: Schemas['BestHour']['countries'][number] }) {
  const week = weekOf(of);
  const most = Math.max(0.01, ...week.flat().map((h) => h.chance));
  const name = placeName(of.region);
  return (
    <>
      <Text size="xs" c="dimmed" className="figure">
        {name}: a person answered {answeredOf(of)}. The darker an hour, the more likely an answer, by the clock of the
        number; an hour with few dials is taken to be like the others, and one without any is pale.
      </Text>
      <Table.ScrollContainer
        type="native"
        minWidth={420}
        tabIndex={0}
        role="region"
        aria-label="Hours at which people answer, scrollable"
      >
        <table className={css.week} aria-label={`Hours at which people answer: ${name}`}>
          <thead>
            <tr>
              <td />
              {week[0]?.map(({ hour }) => (
                <th key={hour} scope="col">
                  {hour}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {week.map((day, i) => (
              <tr key={weekdays[i]}>
                <th scope="row">{weekdays[i]?.slice(0, 3)}</th>
                {day.map(({ hour, dials, chance }) => {
                  const says = `${share(chance)}, ${plural(dials, 'dial')}`;
                  return (
                    <td
                      key={hour}
                      title={`${weekdays[i]} ${hour}:00: ${says}`}
                      data-dialled={dials > 0 || undefined}
                      style={{ '--chance': chance / most } as CSSProperties}
                    >
                      <VisuallyHidden>{says}</VisuallyHidden>
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </Table.ScrollContainer>
    </>
  );
}
