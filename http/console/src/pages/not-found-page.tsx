import { Button, Center, Stack, Text, Title } from '@mantine/core';
import { Link } from 'wouter';

import { PageBody } from '../components/page';
import { home } from '../routes';

export function NotFoundPage({ what = 'page' }: { what?: string }) {
  return (
    <PageBody title="Not found">
      <Center mih="60vh">
        <Stack align="center" gap="sm">
          <Title order={1} size="h2">
            There is no such {what}
          </Title>
          <Text c="dimmed">It may have been deleted, or the address is mistyped.</Text>
          <Button component={Link} href={home} mt="sm">
            All campaigns
          </Button>
        </Stack>
      </Center>
    </PageBody>
  );
}
