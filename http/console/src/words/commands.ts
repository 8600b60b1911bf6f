import type { Campaign, Role } from '../api/client';
import type { Command } from '../api/queries';
import { may } from '../api/session';
import { processed, scope, waiting } from './campaigns';
import { count, plural } from './figures';
import { windowOf } from './times';

/** Asked is what a dialog asks about before it is done. */
export type Asked = Command | 'delete';

/** Action is what an operator can do to a campaign. */
export type Action = Asked | 'edit' | 'clone';

/** State is what of a campaign says what can be done to it. */
type State = Pick<Campaign, 'status' | 'ever_run' | 'prepared_restart' | 'draining'>;

/**
 * actionsOf gives what the campaign's state allows (spec: States and transitions) to a user of the role. The server
 * decides; this only keeps buttons away that it would refuse.
 */
export function actionsOf(c: State, role: Role): Action[] {
  if (!may(role, 'operator')) return [];
  return [
    ...commandsOf(c),
    ...(mayEdit(c) ? (['edit'] as const) : []),
    'clone',
    ...(c.status === 'draft' && !c.ever_run ? (['delete'] as const) : []),
  ];
}

function commandsOf(c: State): Command[] {
  switch (c.status) {
    case 'draft':
      return c.prepared_restart ? ['start', 'cancel-restart'] : ['start'];
    case 'running':
      return ['pause', 'stop'];
    case 'paused':
      return ['resume', 'stop'];
    case 'completed':
    case 'failed':
      return c.draining ? [] : ['restart'];
    default:
      return [];
  }
}

/** mayEdit: settings are editable in a draft and while paused. */
export function mayEdit(c: State): boolean {
  return c.status === 'draft' || c.status === 'paused';
}

/** mayAddContacts: a draft that never ran, and a running campaign. */
export function mayAddContacts(c: State, role: Role): boolean {
  return may(role, 'operator') && (c.status === 'running' || (c.status === 'draft' && !c.ever_run));
}

/** Question is what a dialog says before an action. */
export interface Question {
  title: string;
  consequences: string[];
  confirm: string;
  done: string; // said afterwards
  grave: boolean; // cannot be taken back
}

export const labels: Record<Action, string> = {
  edit: 'Edit',
  clone: 'Clone',
  start: 'Start',
  pause: 'Pause',
  resume: 'Resume',
  stop: 'Stop',
  restart: 'Restart',
  'cancel-restart': 'Cancel Restart',
  delete: 'Delete',
};

/** questionOf says what an action will do to the campaign as it is now. */
export function questionOf(action: Asked, c: Campaign): Question {
  const s = c.settings;
  const ringing = (c.live?.ringing ?? 0) + (c.live?.dialling ?? 0);
  const talking = c.live?.in_progress ?? 0;
  const left = waiting(c);
  const q = (title: string, done: string, consequences: (string | false)[], grave = false): Question => ({
    title,
    done,
    grave,
    confirm: labels[action],
    consequences: consequences.filter((line) => line !== false),
  });
  switch (action) {
    case 'start':
      return q(`Start “${s.name}”?`, 'Dialling begins', [
        `Run ${c.run} calls ${plural(left, 'contact')}; dialling begins at once within the calling window.`,
        c.counters.excluded > 0 && `${plural(c.counters.excluded, 'contact')} excluded: not called.`,
        `Up to ${plural(s.concurrency, 'conversation')} at the same time, ` +
          `from ${plural(s.number_pool.length, 'number')}, up to ${plural(s.max_attempts, 'attempt')} each.`,
        `Calling window: ${windowOf(s.window)}. ${
          s.single_day
            ? 'When it ends the campaign completes; contacts still waiting are counted as Window Closed.'
            : 'Outside of it the campaign waits.'
        }`,
        !c.ever_run && 'Name, bot and contacts are locked from then on.',
        s.always_on && 'It never completes by itself: it accepts contacts until somebody stops it.',
      ]);
    case 'pause':
      return q(`Pause “${s.name}”?`, 'Paused', [
        'No new calls are placed.',
        ringing > 0 && `${plural(ringing, 'line')} ringing now: each rings to its end.`,
        talking > 0 && `${plural(talking, 'conversation')} in progress: each goes on to its end.`,
        s.single_day && 'The calling window goes on: when it ends the campaign completes, paused or not.',
      ]);
    case 'resume':
      return q(`Resume “${s.name}”?`, 'Dialling goes on', [
        `${plural(left, 'contact')} still to be processed; dialling goes on at once.`,
        `Calling window: ${windowOf(s.window)}.`,
      ]);
    case 'stop':
      return q(
        `Stop “${s.name}”?`,
        'Stopped',
        [
          `Run ${c.run} ends for good. It cannot be resumed.`,
          ringing > 0 && `${plural(ringing, 'ringing line')} cancelled.`,
          talking > 0 &&
            (s.stop_ends_calls
              ? `${plural(talking, 'conversation')} ended.`
              : `${plural(talking, 'conversation')} in progress: each goes on to its end.`),
          `Contacts still waiting (${count(Math.max(0, left - talking))}) are counted as Manually Stopped.`,
        ],
        true,
      );
    case 'restart':
      return q(`Prepare run ${c.run + 1} of “${s.name}”?`, `Run ${c.run + 1} is prepared`, [
        `Attempts of all ${plural(scope(c), 'contact')} are reset; the calls of run ${c.run} stay in history.`,
        'Dialling does not start: press Start when the number pool and the dialler settings are as you want them.',
        'Until then Cancel Restart takes it back.',
      ]);
    case 'cancel-restart':
      return q(`Discard the prepared run ${c.run}?`, 'The prepared run is discarded', [
        `Run ${c.run} is discarded and the run before is shown again as it ended.`,
      ]);
    case 'delete':
      return q(
        `Delete “${s.name}”?`,
        'Deleted',
        [`The campaign and its ${plural(c.counters.total, 'contact')} are removed for good.`],
        true,
      );
  }
}

/** progressOf says how far the run is, in words. */
export function progressOf(c: Campaign): string {
  return `${count(processed(c))} of ${plural(scope(c), 'contact')} processed`;
}
