import type { Schemas } from '../api/client';
import type { Tone } from './states';

interface Named {
  label: string;
  tone: Tone;
  /** What it means for calls. */
  more: string;
}

type TrunkHealth = Schemas['TrunkStatus']['health'];

export const trunkHealth: Record<TrunkHealth, Named> = {
  up: { label: 'Up', tone: 'green', more: 'The carrier answers; calls go over it.' },
  unproven: {
    label: 'Unproven',
    tone: 'amber',
    more: 'Nothing has been heard from the carrier yet. One call at a time goes over it until something is.',
  },
  down: {
    label: 'Down',
    tone: 'red',
    more: 'The carrier no longer answers, or refused the registration. No call goes over it until it answers.',
  },
  broken: { label: 'Broken', tone: 'red', more: 'Too many calls in a row failed. A trial call goes after a while.' },
  held: {
    label: 'Held',
    tone: 'orange',
    more: 'The carrier refuses our credentials or caller IDs. Mend that and save the trunk: saving ends the hold.',
  },
  trying: { label: 'Trying', tone: 'amber', more: 'One trial call may go; if it works the trunk is up.' },
  off: { label: 'Off', tone: 'grey', more: 'Not active: no call goes over it.' },
};

export const botHealth: Record<Schemas['BotHealth'], Named> = {
  unknown: { label: 'Not tried yet', tone: 'grey', more: 'No call has gone to it since the start.' },
  up: { label: 'Up', tone: 'green', more: 'The last call or question was taken.' },
  doubtful: { label: 'Doubtful', tone: 'amber', more: 'A call was not taken; it is being asked.' },
  down: {
    label: 'Down',
    tone: 'red',
    more: 'It does not answer, or takes no call. Nothing is dialled with it until it does.',
  },
  trying: {
    label: 'Trying',
    tone: 'amber',
    more: 'It answers again; one call at a time shows whether it takes calls.',
  },
  off: { label: 'Off', tone: 'grey', more: 'Not active: campaigns with it hold their dials.' },
};

export const numberState: Record<Schemas['NumberStatus']['state'], Named> = {
  active: { label: 'Active', tone: 'green', more: 'May be dialled from.' },
  resting: { label: 'Resting', tone: 'amber', more: 'Rests after a call, as its settings say.' },
  quarantined: {
    label: 'Quarantined',
    tone: 'red',
    more: 'Carriers refused it as caller ID. No call is placed from it until it is lifted.',
  },
  retired: { label: 'Retired', tone: 'grey', more: 'Not dialled from any more.' },
};

/** Why so few calls of a number are answered that it should be looked at. */
export const answerAlarm: Record<Schemas['NumberStatus']['answer_alarm'], string> = {
  none: '',
  below_floor: 'Fewer answers than its floor: it may be labelled as spam.',
  falling: 'Less than half the answers that it had before: it may be labelled as spam.',
};

/** address writes where a trunk is: SRV records say the port when it has none. */
export function address(t: Pick<Schemas['Trunk'], 'host' | 'port' | 'transport'>): string {
  return `${t.host}${t.port === 0 ? '' : `:${t.port}`} ${t.transport}`;
}
