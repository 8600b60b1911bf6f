import { Center, Grid, Loader, Stack } from '@mantine/core';

import { useCampaign } from '../../api/queries';
import { Failure } from '../../components/failure';
import { Later } from '../../components/later';
import { PageBody } from '../../components/page';
import { NotFoundPage } from '../not-found-page';
import { Analysis } from './analysis';
import { BestHourCard } from './best-hour-card';
import { CampaignHeader } from './campaign-header';
import { ConfigurationCard } from './configuration-card';
import { ContactsCard } from './contacts-card';
import { CountersCard, RatesCard } from './counters';
import { IntegrationCard } from './integration-card';
import { LiveCard } from './live-card';
import { Notices } from './notices';
import { OpeningsCard } from './openings-card';
import { CallbacksCard, PassesCard } from './passes-card';

export default function CampaignPage({ params }: { params: Record<string, string> }) {
  const id = decodeURIComponent(params['id'] ?? '');
  return <Watched key={id} id={id} />;
}

function Watched({ id }: { id: string }) {
  const { data: campaign, error, link, refetch, dataUpdatedAt } = useCampaign(id);
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
        <Notices campaign={campaign} stale={error} since={error ? dataUpdatedAt : 0} />
        <Grid gap="md">
          {live && (
            <Grid.Col span={{ base: 12, lg: 8 }}>
              <LiveCard campaign={campaign} />
            </Grid.Col>
          )}
          <Grid.Col span={live ? { base: 12, lg: 4 } : 12}>
            <RatesCard campaign={campaign} />
          </Grid.Col>
        </Grid>
        <CountersCard campaign={campaign} />
        {campaign.ever_run && (
          <Later height={900}>
            <Analysis campaign={campaign} />
          </Later>
        )}
        {campaign.settings.best_hour && (
          <Later height={420}>
            <BestHourCard id={campaign.campaign_id} />
          </Later>
        )}
        <CallbacksCard campaign={campaign} />
        <OpeningsCard campaign={campaign} />
        <Later height={700}>
          <ContactsCard campaign={campaign} />
        </Later>
        <Later height={560}>
          <Grid gap="md">
            <Grid.Col span={{ base: 12, lg: 6 }}>
              <ConfigurationCard campaign={campaign} />
            </Grid.Col>
            <Grid.Col span={{ base: 12, lg: 6 }}>
              <Stack gap="md">
                <PassesCard passes={campaign.passes} zone={campaign.settings.window.zone} />
                <IntegrationCard campaign={campaign} />
              </Stack>
            </Grid.Col>
          </Grid>
        </Later>
      </Stack>
    </PageBody>
  );
}
