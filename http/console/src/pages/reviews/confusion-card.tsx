import { Button, Stack, Table, Text } from '@mantine/core';

import type { Confusion } from '../../api/reviews';
import { useConfusion } from '../../api/reviews';
import { Card } from '../../components/card';
import { Failure } from '../../components/failure';
import { ActionsHead } from '../../components/listing';
import { count, none, plural, share } from '../../words/figures';
import { confusionOf } from '../../words/confusion';
import { country, verdictOf } from '../../words/verdicts';
import css from './reviews.module.css';

interface Props {
  campaign: string | undefined;
  trunk: string | undefined;
  region: string | undefined;
  choose: (trunk: string | null, region: string | null) => void;
}

/** ConfusionCard shows what calls were taken for against what people heard, of all or of one trunk and country. */
export function ConfusionCard({ campaign, trunk, region, choose }: Props) {
  const query = useConfusion(campaign);
  return (
    <Card title="How often it was right">
      {query.isError && (
        <Failure
          title="The confusion matrix cannot be shown"
          problem={query.error}
          retry={() => void query.refetch()}
        />
      )}
      {query.data?.sums.length === 0 && (
        <Text p="md" size="sm" c="dimmed">
          Nothing is labelled yet. With the first label the matrix begins: what people heard against what the dialler
          took it for, per trunk and country.
        </Text>
      )}
      {query.data && query.data.sums.length > 0 && (
        <Stack gap={0}>
          <Sums sums={query.data.sums} chosen={{ trunk, region }} choose={choose} />
          <Matrix
            cells={query.data.cells.filter(
              (c) => (trunk === undefined || c.trunk === trunk) && (region === undefined || c.country === region),
            )}
          />
        </Stack>
      )}
    </Card>
  );
}

function Sums({
  sums,
  chosen,
  choose,
}: {
  sums: Confusion['sums'];
  chosen: { trunk: string | undefined; region: string | undefined };
  choose: Props['choose'];
}) {
  return (
    <Table.ScrollContainer
      type="native"
      pos="relative"
      minWidth={640}
      tabIndex={0}
      role="region"
      aria-label="By trunk and country"
    >
      <Table horizontalSpacing="md" fz="sm" aria-label="By trunk and country">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Trunk</Table.Th>
            <Table.Th>Country</Table.Th>
            <Table.Th ta="right">Labelled</Table.Th>
            <Table.Th ta="right">Right</Table.Th>
            <Table.Th ta="right">People taken off</Table.Th>
            <Table.Th ta="right">Machines to the bot</Table.Th>
            <ActionsHead />
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {sums.map((s) => {
            const shown = chosen.trunk === s.trunk && chosen.region === s.country;
            return (
              <Table.Tr key={`${s.trunk} ${s.country}`} data-sum={`${s.trunk} ${s.country}`}>
                <Table.Td>{s.trunk}</Table.Td>
                <Table.Td>{country(s.country)}</Table.Td>
                <Table.Td ta="right" className="figure">
                  {count(s.labelled)}
                </Table.Td>
                <Table.Td ta="right" className="figure">
                  {share(s.right / s.labelled)}
                </Table.Td>
                <Table.Td ta="right" className="figure">
                  {part(s.humans_taken_off, s.humans)}
                </Table.Td>
                <Table.Td ta="right" className="figure">
                  {part(s.machines_to_bot, s.machines)}
                </Table.Td>
                <Table.Td ta="right">
                  {s.country !== '' && (
                    <Button
                      size="xs"
                      variant="subtle"
                      aria-pressed={shown}
                      onClick={() => (shown ? choose(null, null) : choose(s.trunk, s.country))}
                      aria-label={`${shown ? 'All' : 'Only'}: ${s.trunk}, ${country(s.country)}`}
                    >
                      {shown ? 'Show all' : 'Only these'}
                    </Button>
                  )}
                </Table.Td>
              </Table.Tr>
            );
          })}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

/** part writes how many of how many, with the share. */
function part(n: number, of: number): string {
  return of === 0 ? none : `${count(n)} of ${count(of)} (${share(n / of)})`;
}

function Matrix({ cells }: { cells: Confusion['cells'] }) {
  const m = confusionOf(cells);
  if (m.rows.length === 0) return null;
  return (
    <Table.ScrollContainer
      type="native"
      pos="relative"
      minWidth={240 + 110 * m.verdicts.length}
      tabIndex={0}
      role="region"
      aria-label="Confusion matrix"
    >
      <Table horizontalSpacing="md" fz="sm" className={css.matrix} aria-label="Confusion matrix" captionSide="bottom">
        <Table.Caption>
          {plural(m.total, 'labelled call')}: a row is what people heard, a column what the dialler took it for. What
          lies on the diagonal is right.
        </Table.Caption>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Heard ↓ taken for →</Table.Th>
            {m.verdicts.map((v) => (
              <Table.Th key={v} ta="right">
                {verdictOf(v).label}
              </Table.Th>
            ))}
            <Table.Th ta="right">Right</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {m.rows.map((row) => (
            <Table.Tr key={row.label} data-heard={row.label}>
              <Table.Th scope="row">{verdictOf(row.label).label}</Table.Th>
              {row.counts.map((n, i) => {
                const right = m.verdicts[i] === row.label;
                return (
                  <Table.Td
                    key={m.verdicts[i]}
                    ta="right"
                    className="figure"
                    data-tone={right ? 'green' : undefined}
                    data-right={right || undefined}
                    data-empty={n === 0 || undefined}
                    data-verdict={m.verdicts[i]}
                  >
                    {count(n)}
                  </Table.Td>
                );
              })}
              <Table.Td ta="right" className="figure">
                {share(row.right / row.total)}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}
