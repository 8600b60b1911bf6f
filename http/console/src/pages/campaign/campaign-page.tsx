import { Center, Loader, SimpleGrid, Stack } from '@mantine/core';
import { Box } from '@mantine/core';

import { useCampaign } from '../../api/queries';
import { Failure } from '../../components/failure';
import { PageBody } from '../../components/page';
import { NotFoundPage } from '../not-found-page';
import { CampaignHeader } from './campaign-header';
import { ContactsCard } from './contacts-card';
import { CountersCard, RatesCard } from './counters';
import { LiveCard } from './live-card';
import { Notices } from './notices';
import { ProgressCard } from './progress-card';

export default function CampaignPage({ params }: { params: Record<string, string> }) {
  const id = decodeURIComponent(params['id'] ?? '');
  return <Watched key={id} id={id} />;
}

function Watched({ id }: { id: string }) {
  const { data: campaign, error, link, refetch } = useCampaign(id);
  if (link === 'gone' || error?.status === 404) return <NotFoundPage what="campaign" />;
  if (campaign === undefined) {
    return (
      <PageBody title="Campaign">
        {error ? (
          <Failure title="The campaign cannot be shown" problem={error} retry={() => void refetch()} />
        ) : (
          <Center h="60vh">
            <Loader aria-label="Loading" />
          </Center>
        )}
      </PageBody>
    );
  }
  const live = campaign.status === 'running' || campaign.status === 'paused';
  return (
    <PageBody title={campaign.settings.name}>
      <Stack gap="md">
        <CampaignHeader campaign={campaign} />
        <Notices campaign={campaign} stale={error} />
        <ProgressCard campaign={campaign} />
        {live && <LiveCard campaign={campaign} />}
        <SimpleGrid cols={{ base: 1 }} spacing="md">
          <CountersCard campaign={campaign} />
          <RatesCard campaign={campaign} />
        </SimpleGrid>
        <Box>
          <ContactsCard campaign={campaign} />
        </Box>
      </Stack>
    </PageBody>
  );
}
