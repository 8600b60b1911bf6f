import { expect, test } from 'vitest';

import type { Campaign, Schemas } from '../api/client';
import { actionsOnContact, consequencesOf } from './contact-actions';

const campaign = (status: Campaign['status'], callbacks = true) =>
  ({
    status,
    settings: {
      callback_detection: callbacks,
      sticky_exclusion: true,
      window: { zone: 'UTC', start: '09:00', end: '17:00' },
    },
  }) as unknown as Campaign;
const contact = (p: Partial<Schemas['ContactDetail']> = {}) =>
  ({
    status: 'pending',
    phone_number: '+4915112345678',
    callback: null,
    explain: { code: 'queued', message: '' },
    ...p,
  }) as Schemas['ContactDetail'];

test('actions on a contact follow its state', () => {
  const all = ['retry-now', 'call-back', 'exclude'];
  expect(actionsOnContact(campaign('running'), contact(), 'operator')).toEqual(all);
  expect(actionsOnContact(campaign('paused'), contact({ status: 'failed' }), 'admin')).toEqual(all);
  expect(actionsOnContact(campaign('running'), contact(), 'viewer')).toEqual([]);
  expect(actionsOnContact(campaign('running', false), contact(), 'operator')).toEqual(['retry-now', 'exclude']);
  expect(actionsOnContact(campaign('draft'), contact(), 'operator')).toEqual(['exclude']);
  expect(actionsOnContact(campaign('completed'), contact(), 'operator')).toEqual(['exclude']);
  expect(actionsOnContact(campaign('running'), contact({ status: 'excluded' }), 'operator')).toEqual([]);
  expect(
    actionsOnContact(campaign('running'), contact({ explain: { code: 'call_in_progress', message: '' } }), 'operator'),
  ).toEqual(['exclude']);
  expect(
    actionsOnContact(campaign('running'), contact({ explain: { code: 'result_awaited', message: '' } }), 'operator'),
  ).toEqual(['call-back', 'exclude']);
});

test('a dialog says what an action does to the contact', () => {
  expect(consequencesOf('retry-now', campaign('paused'), contact({ status: 'failed' })).join(' ')).toMatch(
    /dialled next.*starts over.*paused/,
  );
  expect(
    consequencesOf('call-back', campaign('running'), contact({ callback: { state: 'pending', at: null } })).join(' '),
  ).toMatch(/takes the place/);
  expect(consequencesOf('exclude', campaign('running'), contact()).join(' ')).toMatch(/also when it is added again/);
});
