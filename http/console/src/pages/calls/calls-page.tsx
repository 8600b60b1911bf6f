import { Anchor, Button, Group, Select, Table } from '@mantine/core';
import { Link, useSearchParams } from 'wouter';

import { useCalls } from '../../api/calls';
import type { Call } from '../../api/telephony';
import { DirectionWord } from '../../components/direction-word';
import { Empty, ListingPage, Rows } from '../../components/listing';
import { ToneWord } from '../../components/tone-badge';
import { When } from '../../components/when';
import type { Direction } from '../../words/calls';
import { direction, endsOf } from '../../words/calls';
import { none, seconds } from '../../words/figures';
import { attemptLabel } from '../../words/states';
import { viewerZone } from '../../words/times';

const directions = Object.keys(direction) as Direction[];

/** CallsPage lists the calls of campaigns, those outside campaigns and those that came in. */
export default function CallsPage() {
  const [search, setSearch] = useSearchParams();
  const chosen = directions.find((d) => d === search.get('direction'));
  const query = useCalls(chosen);
  return (
    <ListingPage
      title="Calls"
      intro="All calls, newest first: those of campaigns, those outside campaigns, and those of people who call us."
      above={
        <Group mb="md">
          <Select
            label="Direction"
            data={[
              { value: '', label: 'Both directions' },
              ...directions.map((d) => ({ value: d, label: direction[d].label })),
            ]}
            value={chosen ?? ''}
            onChange={(v) => setSearch(v ? { direction: v } : {})}
            allowDeselect={false}
            w={{ base: '100%', xs: 220 }}
          />
        </Group>
      }
      query={query}
    >
      {(calls) =>
        calls.length === 0 && !query.hasNextPage ? (
          <Empty title={chosen === 'inbound' ? 'Nobody has called us' : 'No calls yet'}>
            {chosen === 'outbound'
              ? 'The calls of campaigns are listed here, and those outside campaigns.'
              : 'Callers are listed here when the number that they call, or the campaign, answers: see “Who calls it”.'}
          </Empty>
        ) : (
          <Rows
            label="Calls"
            minWidth={860}
            heads={
              <>
                <Table.Th>Direction</Table.Th>
                <Table.Th>From</Table.Th>
                <Table.Th>To</Table.Th>
                <Table.Th>Start</Table.Th>
                <Table.Th>Outcome</Table.Th>
                <Table.Th>Talk</Table.Th>
                <Table.Th>Call</Table.Th>
              </>
            }
            foot={
              query.hasNextPage && (
                <Group justify="center" p="md">
                  <Button
                    variant="default"
                    loading={query.isFetchingNextPage}
                    onClick={() => void query.fetchNextPage()}
                  >
                    Show more
                  </Button>
                </Group>
              )
            }
          >
            {calls.map((c) => (
              <Row key={c.call_id} call={c} />
            ))}
          </Rows>
        )
      }
    </ListingPage>
  );
}

function Row({ call: c }: { call: Call }) {
  const ends = endsOf(c);
  const label = attemptLabel(c);
  return (
    <Table.Tr data-call={c.call_id}>
      <Table.Td>
        <DirectionWord of={c.direction} />
      </Table.Td>
      <Table.Td className="figure">{ends.from || none}</Table.Td>
      <Table.Td className="figure">{ends.to || none}</Table.Td>
      <Table.Td>{c.started_at ? <When at={c.started_at} zone={viewerZone} precise /> : none}</Table.Td>
      <Table.Td>
        <ToneWord tone={label.tone} label={label.label} />
      </Table.Td>
      <Table.Td className="figure">{seconds(c.talk_s)}</Table.Td>
      <Table.Td>
        <Anchor component={Link} href={`/calls/${c.call_id}`} size="sm" underline="always">
          …{c.short_id}
        </Anchor>
      </Table.Td>
    </Table.Tr>
  );
}
