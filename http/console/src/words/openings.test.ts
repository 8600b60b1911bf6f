import { expect, test } from 'vitest';

import type { Windows } from '../api/calendars';
import { said, stripOf } from './openings';

const windows: Windows = {
  zone: 'Europe/Berlin',
  opens_at: null,
  closed_by: null,
  openings: [
    { from: '2030-01-06T20:00:00+01:00', to: '2030-01-07T02:00:00+01:00' },
    { from: '2030-01-07T09:00:00+01:00', to: '2030-01-07T12:30:00+01:00' },
    { from: '2030-01-09T22:00:00+01:00', to: '2030-01-11T00:00:00+01:00' },
  ],
  special_days: [
    { date: '2030-01-08', calendar: 'Office', holiday: 'Outing', hours: [] },
    { date: '2030-01-10', calendar: 'Office', holiday: null, hours: [] },
    { date: '2031-01-10', calendar: 'Office', holiday: null, hours: [] },
  ],
};

test('a strip has the openings of each day, cut at midnight', () => {
  const days = stripOf(windows, '2030-01-07', 5);
  expect(days.map((d) => `${d.date} ${said(d)} ${d.notes.join()}`.trim())).toEqual([
    '2030-01-07 00:00–02:00, 09:00–12:30',
    '2030-01-08 closed Outing (Office)',
    '2030-01-09 22:00–24:00',
    '2030-01-10 00:00–24:00 exception (Office)',
    '2030-01-11 closed',
  ]);
});
