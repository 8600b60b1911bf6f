import { Text } from '@mantine/core';

import type { Campaign } from '../../api/client';
import { Meter } from '../../components/meter';
import { resources } from '../../words/constraints';
import type { Resource } from '../../words/constraints';
import { count, percent, rate, share } from '../../words/figures';
import css from './capacity.module.css';

/** CapacityBar shows how much of what the campaign dials with is taken; what binds is marked. */
export function CapacityBar({ of: list }: { of: Resource[] }) {
  return (
    <div className={css.bars} role="group" aria-label="Capacity">
      {list.map((r) => {
        const { label, about } = resources[r.resource];
        const out = r.note ?? '';
        return (
          <Meter
            key={r.resource}
            name={r.resource}
            label={label}
            about={about}
            value={r.used}
            most={r.of}
            text={`${figureOf(r, r.used)} of ${figureOf(r, r.of)}`}
            tone={r.binding ? 'amber' : 'blue'}
            flag={r.binding ? 'limiting' : undefined}
          >
            {out !== '' && (
              <Text size="xs" c="dimmed" mt={4} className="figure">
                {r.resource.startsWith('trunk') ? `Out of use: ${out}` : out}
              </Text>
            )}
          </Meter>
        );
      })}
    </div>
  );
}

function figureOf(r: Resource, n: number): string {
  return r.resource === 'trunk_cps' ? rate(n) : count(n);
}

const periods: Record<string, string> = { run: 'This run', day: 'Today', '30_day': '30 days' };

/** AbandonGauge shows the abandon rate of each period in which the cap is kept, and what room there is. */
export function AbandonGauge({ campaign: c }: { campaign: Campaign }) {
  const cap = c.settings.abandon_cap_pct / 100;
  const ledgers = c.live?.ledgers ?? [];
  const rows =
    ledgers.length > 0
      ? ledgers.map((l) => ({
          name: l.period,
          value: l.abandon_rate,
          abandoned: l.abandoned,
          credit: l.credit,
          live: l.live_answers,
          lost: l.capacity_loss,
        }))
      : [
          {
            name: 'run',
            value: c.counters.abandon_rate,
            abandoned: c.counters.abandoned,
            credit: undefined,
            live: undefined,
            lost: c.counters.capacity_loss,
          },
        ];
  const least = Math.min(...rows.map((r) => r.credit ?? Infinity));
  const binding = ledgers.find((l) => l.binding)?.period;
  const most = Math.max(cap * 2, ...rows.map((r) => r.value ?? 0), 0.001);
  return (
    <div className={css.gauge} role="group" aria-label="Abandon rate against its cap">
      {rows.map((r) => (
        <Meter
          key={r.name}
          name={`abandon_${r.name}`}
          label={periods[r.name] ?? r.name}
          about={
            `${count(r.abandoned)} abandoned${r.live === undefined ? '' : ` of ${count(r.live)} live answers`}. ` +
            `The line is the cap of ${percent(cap)}.`
          }
          value={Math.round((r.value ?? 0) * 1e5) / 1e3}
          most={most * 100}
          mark={cap * 100}
          flag={r.name === binding ? 'limiting' : undefined}
          text={`${share(r.value)} of ${percent(cap)}`}
          tone={
            (r.value ?? 0) > cap
              ? 'red'
              : r.credit !== undefined && r.credit === least && r.credit === 0 && r.live > 0
                ? 'amber'
                : 'green'
          }
        >
          {r.lost !== undefined && r.lost > 0 && (
            <Text
              size="xs"
              c="dimmed"
              mt={4}
              className="figure"
              title={
                'A bot, a node or a process was lost: what no pacing foresees. ' +
                'It counts in the rate like every abandon.'
              }
            >
              <span data-figure={`capacity_loss_${r.name}`}>{count(r.lost)}</span> of {count(r.abandoned)} abandoned
              because capacity was lost
            </Text>
          )}
        </Meter>
      ))}
      <Credit campaign={c} />
    </div>
  );
}

type Ledger = NonNullable<NonNullable<Campaign['live']>['ledgers']>[number];

/** Credit says how many abandons the cap still allows, and how many of them lines hold that ring. */
function Credit({ campaign: c }: { campaign: Campaign }) {
  if (c.settings.pacing_mode === 'progressive' || c.settings.abandon_cap_pct === 0) {
    return (
      <Text size="xs" c="dimmed">
        No line is dialled without a free worker, so no credit is needed.
      </Text>
    );
  }
  if (!c.live) return null;
  const credit = Math.floor(c.live.abandon_credit ?? 0);
  const lines = c.live.abandon_credit_held ?? 0;
  const held = Math.min(lines, credit);
  const least = (c.live.ledgers ?? []).reduce<Ledger | undefined>(
    (a, b) =>
      a === undefined || b.credit < a.credit || (b.credit === a.credit && (b.credit_after ?? 0) > (a.credit_after ?? 0))
        ? b
        : a,
    undefined,
  );
  return (
    <Text
      size="xs"
      c="dimmed"
      className="figure"
      title={
        'A credit is one more call that may be abandoned within the cap. ' +
        'Each line beyond the free workers holds one.'
      }
    >
      Credits:{' '}
      <Text span inherit c="var(--mantine-color-text)" fw={600}>
        <span data-figure="credit_free">{count(credit - held)}</span> free
      </Text>
      ,{' '}
      <Text span inherit c="var(--mantine-color-text)" fw={600}>
        <span data-figure="credit_held">{count(held)}</span> held
      </Text>{' '}
      by lines without a free worker
      {credit === 0 &&
        least?.credit_after !== undefined &&
        ` – ${count(least.credit_after)} live answers without an abandon earn one`}
      .
    </Text>
  );
}
