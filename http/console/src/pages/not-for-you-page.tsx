import { Button, Center, Stack, Text, Title } from '@mantine/core';
import { Link } from 'wouter';

import type { Role } from '../api/client';
import { useUser } from '../api/session';
import { PageBody } from '../components/page';
import { home } from '../routes';
import { roles } from '../words/roles';

/** NotForYouPage answers who opens the address of a page that his role does not include. */
export function NotForYouPage({ needs }: { needs: Role }) {
  const { email, role } = useUser();
  return (
    <PageBody title="Not for your role">
      <Center mih="60vh">
        <Stack align="center" gap="sm" maw={460}>
          <Title order={1} size="h2">
            This page needs the role {roles[needs].label}
          </Title>
          <Text c="dimmed" ta="center">
            You are logged in as {email} with the role {roles[role].label}. An administrator can give you another one on
            the page Users.
          </Text>
          <Button component={Link} href={home} mt="sm">
            All campaigns
          </Button>
        </Stack>
      </Center>
    </PageBody>
  );
}
