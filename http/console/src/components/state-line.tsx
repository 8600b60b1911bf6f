import { Text } from '@mantine/core';

import type { Campaign } from '../api/client';
import { When } from './when';

/**
 * StateLine says in a line what a campaign is about: that it dials, for what it waits and until when, what stops it.
 */
export function StateLine({ campaign: c, truncate = false }: { campaign: Campaign; truncate?: boolean }) {
  const live = c.live;
  if (!live?.line) return null;
  const outage = live.severity === 'outage';
  return (
    <Text
      size="xs"
      c={outage ? 'var(--mantine-color-error)' : 'dimmed'}
      fw={outage ? 600 : undefined}
      data-standing={live.standing}
      truncate={truncate}
      {...(truncate ? { title: live.line } : {})}
    >
      {live.line}
      {live.until !== undefined && (
        <>
          {' until '}
          <When at={live.until} zone={c.settings.window.zone} precise />
        </>
      )}
    </Text>
  );
}
