import { Alert, Center, Loader } from '@mantine/core';

import { useCampaign } from '../../api/queries';
import { may, useUser } from '../../api/session';
import { Failure } from '../../components/failure';
import { InfoIcon } from '../../components/icons';
import { PageBody } from '../../components/page';
import { NotFoundPage } from '../not-found-page';
import { Wizard } from './wizard';

/** The page of a new campaign, and of one that is being set up. */
export default function WizardPage({ params }: { params: Record<string, string> }) {
  const id = params['id'];
  const { role } = useUser();
  if (!may(role, 'operator')) {
    return (
      <PageBody title="New campaign">
        <Alert color="yellow" icon={<InfoIcon />} title="You may look, not set up">
          A campaign is made by somebody with the role operator.
        </Alert>
      </PageBody>
    );
  }
  if (id === undefined) {
    return (
      <PageBody title="New campaign">
        <Wizard />
      </PageBody>
    );
  }
  return <SetUp id={decodeURIComponent(id)} />;
}

function SetUp({ id }: { id: string }) {
  const { data: campaign, error, link, refetch } = useCampaign(id);
  if (link === 'gone' || error?.status === 404) return <NotFoundPage what="campaign" />;
  return (
    <PageBody title={campaign === undefined ? 'Set up' : `Set up ${campaign.settings.name}`}>
      {campaign === undefined ? (
        error ? (
          <Failure title="The campaign cannot be shown" problem={error} retry={() => void refetch()} />
        ) : (
          <Center h="60vh">
            <Loader aria-label="Loading" />
          </Center>
        )
      ) : (
        <Wizard key={`${id} ${campaign.version}`} campaign={campaign} />
      )}
    </PageBody>
  );
}
