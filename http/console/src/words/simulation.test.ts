import { describe, expect, it } from 'vitest';

import type { Side } from './simulation';
import { change, valuesOf, whatIf } from './simulation';

const is: Side['settings'] = {
  seats: 10, concurrency: 20, max_lines: 0, abandon_cap_pct: 3, pacing_mode: 'strict', max_attempts: 3, retry_delay_s: 1800, ring_timeout_s: 30, single_day: false,
  window: { zone: 'UTC', start: '09:00', end: '17:00', days: ['Mon'], holidays: null },
};

describe('what if', () => {
  it('is nothing while nothing was changed', () => {
    expect(whatIf(is, valuesOf(is))).toBeNull();
  });
  it('is what was changed alone', () => {
    expect(whatIf(is, { ...valuesOf(is), seats: 12, retry_delay_min: 0.5 })).toEqual({ seats: 12, retry_delay_s: 30 });
  });
  it('keeps the days of a window whose hours change', () => {
    expect(whatIf(is, { ...valuesOf(is), end: '20:00' })).toEqual({ window: { zone: 'UTC', start: '09:00', end: '20:00', days: ['Mon'], holidays: null } });
  });
});

describe('change', () => {
  it('says by how much', () => {
    expect(change(100, 150)).toBe('+50.0\u00a0%');
    expect(change(200, 150)).toBe('−25.0\u00a0%');
    expect(change(3, 3)).toBe('same');
    expect(change(0, 3)).toBeUndefined();
    expect(change(null, 3)).toBeUndefined();
  });
});
