import { memo, useId, useState } from 'react';

import type { Attempt, Contact } from '../../api/client';
import { serverNow } from '../../api/clock';
import { DirectionMark } from '../../components/direction-word';
import { DownIcon, RightIcon } from '../../components/icons';
import { ToneBadge, ToneWord } from '../../components/tone-badge';
import { When } from '../../components/when';
import { trailOf } from '../../words/calls';
import { none } from '../../words/figures';
import { attemptLabel, contactStatus, named, outcome, reasonOf, words } from '../../words/states';
import { AttemptTable } from './attempt-table';
import css from './contact-row.module.css';

/** So many attempts are in the row itself; all are in its details. */
const trailShown = 3;
const variablesShown = 2;

/**
 * ContactRow is one contact with its trail; opened, it shows all that is known of each attempt. Fifty are drawn at a
 * time: plain elements.
 */
export const ContactRow = memo(function ContactRow({
  contact: c,
  zone,
  show,
}: {
  contact: Contact;
  zone: string;
  show: (contact: string) => void;
}) {
  const [open, setOpen] = useState(false);
  const id = useId();
  const status = named(contactStatus, c.status);
  const variables = Object.entries(c.variables);
  const trail = trailOf(c);
  const earlier = trail.length - trailShown;
  return (
    <>
      <tr data-contact={c.phone_number} data-open={open || undefined} className={css.row}>
        <td>
          <span className={css.phone}>
            <button
              type="button"
              className={`mantine-focus-auto ${css.opener}`}
              aria-expanded={open}
              aria-controls={id}
              aria-label={`${open ? 'Hide' : 'Show'} details of ${c.phone_number}`}
              onClick={() => setOpen(!open)}
            >
              {open ? <DownIcon size={15} /> : <RightIcon size={15} />}
            </button>
            <button
              type="button"
              className={`figure mantine-focus-auto ${css.link}`}
              title="All about this contact"
              onClick={() => show(c.contact_id)}
            >
              {c.phone_number}
            </button>
          </span>
        </td>
        <td>
          <span className={css.badges}>
            <ToneBadge tone={status.tone} label={status.label} />
            {c.live_state && c.live_state !== c.status && <ToneBadge tone="blue" label={words(c.live_state)} alive />}
            {c.callback && <ToneBadge tone="purple" label="Callback" title={words(c.callback.state)} />}
          </span>
          {c.reason && <div className={css.small}>{reasonOf(c.reason)}</div>}
        </td>
        <td className={`figure ${css.right}`} data-figure="attempts">
          {c.attempts}/{c.max_attempts}
        </td>
        <td>
          {c.attempt_trail.length === 0 ? (
            <span className={css.none}>Not dialled yet</span>
          ) : (
            <ol className={css.trail}>
              {earlier > 0 && <li className={css.earlier}>{earlier} earlier</li>}
              {trail.slice(-trailShown).map((a) => (
                <TrailItem key={a.attempt_id} attempt={a} zone={zone} />
              ))}
            </ol>
          )}
        </td>
        <td>
          {c.last_result === '' ? <span className={css.none}>{none}</span> : lastResult(c.last_result)}
          {c.next_eligible_at && Date.parse(c.next_eligible_at) > serverNow() && (
            <div className={css.small}>
              next <When at={c.next_eligible_at} zone={zone} precise />
            </div>
          )}
        </td>
        <td>
          {variables.slice(0, variablesShown).map(([key, value]) => (
            <div key={key} className={css.variable} title={value}>
              <span>{key}</span> {value}
            </div>
          ))}
          {variables.length > variablesShown && (
            <div className={css.small}>{variables.length - variablesShown} more</div>
          )}
        </td>
      </tr>
      <tr className={css.details} id={id} hidden={!open}>
        {open && (
          <td colSpan={6}>
            <div className={css.inside}>
              <AttemptTable attempts={trail} zone={zone} />
              {variables.length > 0 && (
                <dl className={css.variables}>
                  {variables.map(([key, value]) => (
                    <div key={key}>
                      <dt>{key}</dt>
                      <dd>{value}</dd>
                    </div>
                  ))}
                </dl>
              )}
            </div>
          </td>
        )}
      </tr>
    </>
  );
});

/** lastResult is an outcome in our words or a disposition in the bot's own. */
function lastResult(result: string): string {
  return Object.hasOwn(outcome, result) ? named(outcome, result).label : result;
}

function TrailItem({ attempt: a, zone }: { attempt: Attempt; zone: string }) {
  const label = attemptLabel(a);
  return (
    <li className={css.item} data-attempt={a.short_id} data-outcome={a.outcome}>
      <span className={css.number}>
        {a.direction === 'inbound' ? <DirectionMark of="inbound" /> : (a.number ?? '–')}
      </span>
      <ToneWord tone={label.tone} label={label.label} title={a.sip_reason} />
      <span className={css.at}>{a.started_at && <When at={a.started_at} zone={zone} precise />}</span>
    </li>
  );
}
