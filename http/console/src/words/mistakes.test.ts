import { expect, test } from 'vitest';

import { blank } from '../pages/settings/draft';
import { mistakes } from './mistakes';

test('what is typed is judged at its field', () => {
  const good = { ...blank, name: 'Autumn', bot_id: 'anna' };
  expect(mistakes(good)).toEqual({});
  expect(Object.keys(mistakes(blank))).toEqual(['name', 'bot_id']);
  expect(mistakes({ ...good, redial_only_under_s: 20, stop_redials_after_s: 10 })).toEqual({
    redial_only_under_s: 'At most the 10 s of Stop redials after.',
  });
  expect(mistakes({ ...good, redial_only_under_s: 10, stop_redials_after_s: 10 })).toEqual({});
  expect(mistakes({ ...good, redial_only_under_s: 20 })).toEqual({});
  const bad = {
    ...good,
    concurrency: NaN,
    max_attempts: 51,
    retry_delay_s: 0,
    abandon_cap_pct: 5.5,
    weight: 1.5,
    always_on: true,
    single_day: true,
    config_url: 'example.org',
    window: { zone: 'Europe/Berlin', start: '9:00', end: '25:00', days: [], holidays: ['2030-13-01'] },
  };
  expect(mistakes(bad)).toEqual({
    concurrency: 'Must be 1 to 100,000.',
    max_attempts: 'Must be 1 to 50.',
    retry_delay_s: 'Must be 1 to 43,200 minutes.',
    abandon_cap_pct: 'Must be 0 to 5.',
    weight: 'Must be a whole number, 1 to 100.',
    'window.start': 'A time of day, such as 09:00.',
    'window.end': 'A time of day, such as 18:00.',
    'window.days': 'Choose at least one day.',
    'window.holidays': '2030-13-01 is no date: write it as 2030-12-24.',
    always_on: 'An always-on campaign is multi-day: choose one of the two.',
    config_url: 'An address that begins with https:// or http://.',
  });
});
