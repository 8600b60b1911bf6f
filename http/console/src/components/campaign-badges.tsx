import { Group } from '@mantine/core';

import type { Campaign } from '../api/client';
import { campaignStatus, named } from '../words/states';
import { ToneBadge } from './tone-badge';

/** CampaignBadges shows a campaign's status, and what qualifies it. */
export function CampaignBadges({ campaign: c }: { campaign: Pick<Campaign, 'status' | 'settings' | 'draining'> }) {
  const status = named(campaignStatus, c.status);
  return (
    <Group gap={6} wrap="wrap">
      <ToneBadge tone={status.tone} label={status.label} alive={c.status === 'running'} />
      {c.settings.always_on && (
        <ToneBadge
          tone="purple"
          label="Always-on"
          title="Never completes by itself: runs and accepts contacts until it is stopped"
        />
      )}
      {c.draining && <ToneBadge tone="amber" label="Draining" title="Ended; the last conversations finish" />}
    </Group>
  );
}
