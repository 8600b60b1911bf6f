import { Box } from '@mantine/core';

import { useCampaignWindows } from '../../api/calendars';
import type { Campaign } from '../../api/client';
import { Card } from '../../components/card';
import { OpeningsStrip } from '../../components/openings-strip';

/** OpeningsCard shows when the campaign calls in the next days. */
export function OpeningsCard({ campaign: c }: { campaign: Campaign }) {
  const windows = useCampaignWindows(c.campaign_id, c.version).data;
  if (windows === undefined) return null;
  return (
    <Card title="Next 14 days">
      <Box p="sm">
        <OpeningsStrip of={windows} label="Hours in which the campaign calls" />
      </Box>
    </Card>
  );
}
