import { Button, Table, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';

import { may, useUser } from '../../api/session';
import type { NumberRequest, NumberStatus } from '../../api/telephony';
import { useNumberHealth, usePutNumber } from '../../api/telephony';
import { Confirm } from '../../components/confirm';
import { PlusIcon } from '../../components/icons';
import { ActionsHead, Empty, ListingPage, Rows } from '../../components/listing';
import { RowMenu } from '../../components/row-menu';
import { ToneBadge } from '../../components/tone-badge';
import { When } from '../../components/when';
import { count, plural, share } from '../../words/figures';
import { answerAlarm, numberState } from '../../words/telephony';
import { viewerZone } from '../../words/times';
import { NumberForm } from './number-form';

type State = NonNullable<NumberRequest['state']>;

export default function NumbersPage() {
  const query = useNumberHealth();
  const admin = may(useUser().role, 'admin');
  const [creating, { open, close }] = useDisclosure(false);
  const [changed, setChanged] = useState<NumberStatus>();
  const [turned, setTurned] = useState<{ number: NumberStatus; to: State }>();
  return (
    <ListingPage
      title="Numbers"
      intro={
        'The caller IDs that calls come from. A campaign dials from those in its pool; ' +
        'caps hold across all campaigns that share a number.'
      }
      action={
        admin && (
          <Button leftSection={<PlusIcon />} onClick={open}>
            Add a number
          </Button>
        )
      }
      query={query}
    >
      {(list) => (
        <>
          {list.length === 0 ? (
            <Empty title="No numbers yet" action={admin && <Button onClick={open}>Add the first one</Button>}>
              People see this number when they are called. Take one that your carrier has given to you; others are
              refused as caller ID.
            </Empty>
          ) : (
            <Rows
              label="Numbers"
              minWidth={860}
              heads={
                <>
                  <Table.Th>Number</Table.Th>
                  <Table.Th>State</Table.Th>
                  <Table.Th ta="right">Now</Table.Th>
                  <Table.Th ta="right">Last hour</Table.Th>
                  <Table.Th ta="right">Last day</Table.Th>
                  <Table.Th ta="right">Answered</Table.Th>
                  <Table.Th>Last call</Table.Th>
                  {admin && <ActionsHead />}
                </>
              }
            >
              {list.map((n) => (
                <Row
                  key={n.number}
                  of={n}
                  admin={admin}
                  change={() => setChanged(n)}
                  turn={(to) => setTurned({ number: n, to })}
                />
              ))}
            </Rows>
          )}
          {creating && <NumberForm close={close} />}
          {changed && <NumberForm of={changed} close={() => setChanged(undefined)} />}
          {turned && <Turn of={turned.number} to={turned.to} close={() => setTurned(undefined)} />}
        </>
      )}
    </ListingPage>
  );
}

/** capped writes a figure beside its cap. */
const capped = (n: number, cap: number) => (cap === 0 ? count(n) : `${count(n)} / ${count(cap)}`);

function Row({
  of: n,
  admin,
  change,
  turn,
}: {
  of: NumberStatus;
  admin: boolean;
  change: () => void;
  turn: (to: State) => void;
}) {
  const s = numberState[n.state];
  const alarm = answerAlarm[n.answer_alarm];
  const usable = n.state !== 'quarantined' && n.state !== 'retired';
  return (
    <Table.Tr data-number={n.number}>
      <Table.Td fw={600} className="figure">
        {n.number}
      </Table.Td>
      <Table.Td>
        <ToneBadge tone={s.tone} label={s.label} title={s.more} />
        {(n.strikes > 0 || alarm !== '') && (
          <Text size="xs" c="dimmed" mt={4}>
            {[n.strikes > 0 && `${plural(n.strikes, 'refusal')} of this caller ID among the last 20 calls.`, alarm]
              .filter(Boolean)
              .join(' ')}
          </Text>
        )}
      </Table.Td>
      <Table.Td ta="right" className="figure">
        {capped(n.in_use, n.concurrent_cap)}
      </Table.Td>
      <Table.Td ta="right" className="figure">
        {capped(n.hour_dials, n.hour_cap)}
      </Table.Td>
      <Table.Td ta="right" className="figure">
        {capped(n.day_dials, n.day_cap)}
      </Table.Td>
      <Table.Td ta="right" className="figure" title={`${n.answered} of the last ${n.ended} calls`}>
        {share(n.answer_rate)}
      </Table.Td>
      <Table.Td>
        {n.used_at === null ? (
          <Text size="sm" c="dimmed">
            never
          </Text>
        ) : (
          <When at={n.used_at} zone={viewerZone} precise />
        )}
      </Table.Td>
      {admin && (
        <Table.Td ta="right">
          <RowMenu
            of={n.number}
            items={[
              { label: 'Change…', act: change },
              n.state === 'quarantined' && { label: 'Lift the quarantine…', act: () => turn('active') },
              n.state === 'retired' && { label: 'Use again…', act: () => turn('active') },
              usable && { label: 'Quarantine…', act: () => turn('quarantined') },
              usable && { label: 'Retire…', act: () => turn('retired') },
            ]}
          />
        </Table.Td>
      )}
    </Table.Tr>
  );
}

const turns: Record<State, { title: string; lines: string[]; confirm: string; done: string }> = {
  active: {
    title: 'Dial from',
    lines: [
      'Calls are placed from it again, within its caps.',
      'Has the carrier been asked why it was refused? If nothing changed there, it will be quarantined again.',
    ],
    confirm: 'Use it again',
    done: 'In use again',
  },
  quarantined: {
    title: 'Quarantine',
    lines: [
      'No more calls are placed from it; calls that live go on.',
      'Campaigns whose pool has no other number hold their dials, and say why.',
    ],
    confirm: 'Quarantine',
    done: 'Quarantined',
  },
  retired: {
    title: 'Retire',
    lines: [
      'No more calls are placed from it; calls that live go on.',
      'It stays in reports, and can be used again.',
      'Campaigns whose pool has no other number hold their dials, and say why.',
    ],
    confirm: 'Retire',
    done: 'Retired',
  },
};

function Turn({ of: n, to, close }: { of: NumberStatus; to: State; close: () => void }) {
  const put = usePutNumber();
  const { concurrent_cap, hour_cap, day_cap, rest_s, answer_floor_pct } = n;
  const { callback_policy, callback_bot_id, callback_message_id } = n;
  return (
    <Confirm
      title={`${turns[to].title} ${n.number}?`}
      lines={turns[to].lines}
      confirm={turns[to].confirm}
      grave={to !== 'active'}
      busy={put.isPending}
      problem={put.error}
      close={close}
      carryOut={() =>
        put.mutate(
          {
            number: n.number,
            body: {
              concurrent_cap,
              hour_cap,
              day_cap,
              rest_s,
              answer_floor_pct,
              ...(callback_policy && { callback_policy }),
              ...(callback_bot_id && { callback_bot_id }),
              ...(callback_message_id && { callback_message_id }),
              state: to,
            },
          },
          {
            onSuccess: () => {
              notifications.show({ color: 'green', message: `${turns[to].done}: ${n.number}` });
              close();
            },
          },
        )
      }
    />
  );
}
