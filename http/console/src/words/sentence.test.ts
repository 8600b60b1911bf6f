import { expect, test } from 'vitest';

import { sentence } from './sentence';
import { moment } from './times';

test.each([
  ['no contact is due', 'No contact is due.'],
  ['Pause it first.', 'Pause it first.'],
  ['it opens at 2030-11-23T08:00:00Z', `It opens at ${moment(new Date('2030-11-23T08:00:00Z'))}.`],
  ['from 2030-11-23T08:00:00+01:00 on', `From ${moment(new Date('2030-11-23T07:00:00Z'))} on.`],
  ['holidays has a date twice: 2030-12-24', 'Holidays has a date twice: 2030-12-24.'],
])('%j becomes %j', (message, want) => {
  expect(sentence(message)).toBe(want);
});
