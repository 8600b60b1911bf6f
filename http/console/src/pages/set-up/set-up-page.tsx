import { Button, Group, Title } from '@mantine/core';
import { Link } from 'wouter';

import { may, useUser } from '../../api/session';
import { useSetUp } from '../../api/set-up';
import { PlusIcon } from '../../components/icons';
import { PageBody } from '../../components/page';
import SetUp from './set-up';

/** SetUpPage is the checklist on a page of its own: there is more than an empty list to show elsewhere. */
export default function SetUpPage() {
  const operator = may(useUser().role, 'operator');
  const complete = useSetUp().data?.complete === true;
  return (
    <PageBody title="Set-up">
      <Group justify="space-between" mb="lg">
        <Title order={1} size="h2">
          Set-up
        </Title>
        {operator && complete && (
          <Button leftSection={<PlusIcon />} component={Link} href="/campaigns/new">
            New campaign
          </Button>
        )}
      </Group>
      <SetUp />
    </PageBody>
  );
}
