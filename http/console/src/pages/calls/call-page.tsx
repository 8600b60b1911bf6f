import { Anchor, Skeleton, Stack, Text, Title } from '@mantine/core';
import { Link } from 'wouter';

import type { Call } from '../../api/telephony';
import { useCall } from '../../api/telephony';
import { DirectionWord } from '../../components/direction-word';
import { Failure } from '../../components/failure';
import { PageBody } from '../../components/page';
import { endsOf } from '../../words/calls';
import { viewerZone } from '../../words/times';
import { AttemptDetail } from '../contact/attempt-detail';
import { NotFoundPage } from '../not-found-page';

export default function CallPage({ params }: { params: Record<string, string> }) {
  const query = useCall(params['id'] ?? '');
  if (query.data !== undefined) return <Shown key={query.data.call_id} call={query.data} />;
  if (query.isError && query.error.status === 404) return <NotFoundPage what="call" />;
  return (
    <PageBody title="Call">
      {query.isError ? (
        <Failure title="The call cannot be shown" problem={query.error} retry={() => void query.refetch()} />
      ) : (
        <Skeleton height={240} role="status" aria-label="Loading" />
      )}
    </PageBody>
  );
}

function Shown({ call: c }: { call: Call }) {
  const title = c.direction === 'inbound' ? `Call from ${endsOf(c).from}` : `Call to ${c.to_number}`;
  return (
    <PageBody title={title}>
      <Stack gap="md" maw={960}>
        <Stack gap={4}>
          <Anchor component={Link} href="/calls" size="sm" underline="always">
            All calls
          </Anchor>
          <Title order={1} size="h3" className="figure">
            {title}
          </Title>
          <Text component="div" size="sm">
            <DirectionWord of={c.direction} />
          </Text>
          {c.campaign_id !== undefined && (
            <Anchor component={Link} href={`/campaigns/${c.campaign_id}`} size="sm" underline="always">
              Its campaign
            </Anchor>
          )}
        </Stack>
        <AttemptDetail attempt={c} zone={viewerZone} open />
      </Stack>
    </PageBody>
  );
}
