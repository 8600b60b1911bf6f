import { Group } from '@mantine/core';

import type { Campaign } from '../api/client';
import { campaignStatus, named } from '../words/states';
import { ToneBadge } from './tone-badge';

interface Props {
  campaign: Pick<Campaign, 'status' | 'settings' | 'draining'>;
  /** It should dial and cannot: green is for what is seen to work. */
  halted: boolean;
  /** Beside each other, whatever it takes. */
  line?: boolean;
}

/** CampaignBadges shows a campaign's status, and what qualifies it. */
export function CampaignBadges({ campaign: c, halted, line = false }: Props) {
  const status = named(campaignStatus, c.status);
  return (
    <Group gap={6} wrap={line ? 'nowrap' : 'wrap'}>
      <ToneBadge tone={halted ? 'red' : status.tone} label={status.label} alive={c.status === 'running' && !halted} />
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
