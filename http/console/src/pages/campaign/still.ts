import type { ComponentType } from 'react';
import { memo } from 'react';

import type { Campaign } from '../../api/client';

/** What of a campaign changes from second to second while it dials. */
type Moving = 'live' | 'counters' | 'passes' | 'callbacks' | 'totals';

const moving: ReadonlySet<string> = new Set<Moving>(['live', 'counters', 'passes', 'callbacks', 'totals']);

/** Still is a campaign without what moves. */
export type Still = Omit<Campaign, Moving>;

/** still draws what shows nothing that moves only when something else of the campaign changes. */
export function still<P extends { campaign: Still }>(part: ComponentType<P>) {
  return memo(part, (before, after) => {
    const same = (a: object, b: object, but?: ReadonlySet<string>) =>
      [...new Set([...Object.keys(a), ...Object.keys(b)])].every(
        (k) => but?.has(k) === true || Object.is(Reflect.get(a, k), Reflect.get(b, k)),
      );
    return same(before, after, new Set(['campaign'])) && same(before.campaign, after.campaign, moving);
  });
}
