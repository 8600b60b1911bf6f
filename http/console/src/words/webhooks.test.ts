import { expect, test } from 'vitest';

import { eventsOf, permits, webhookTypes } from './webhooks';

test('the list says which events an endpoint is told of, and whether requests may name addresses', () => {
  expect(eventsOf([])).toBe('all except call progress');
  expect(eventsOf(['attempt.ended'])).toBe('attempt.ended');
  expect(eventsOf(['attempt.ended', 'call.ended', 'status_callback'])).toBe('2 events, addresses of requests');
  expect(eventsOf(['status_callback'])).toBe('addresses of requests');
  expect(permits(['attempt.ended'])).toBe(false);
  expect(webhookTypes.flatMap((g) => g.items)).not.toContain('status_callback');
});
