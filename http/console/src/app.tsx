import { Center, Loader, MantineProvider, Stack } from '@mantine/core';
import { Notifications, notifications } from '@mantine/notifications';
import { QueryClientProvider, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { Router } from 'wouter';

import { onLoggedOut } from './api/client';
import { forget, keys, newQueryClient, useSession } from './api/queries';
import { SessionContext } from './api/session';
import { ErrorBoundary } from './components/error-boundary';
import { Failure } from './components/failure';
import { Shell } from './components/shell';
import { LogInPage } from './pages/log-in-page';
import { asks } from './routes';
import { cssVariables, theme } from './theme';

export function App() {
  const [client] = useState(newQueryClient);
  return (
    <MantineProvider theme={theme} cssVariablesResolver={cssVariables} defaultColorScheme="auto">
      <Notifications position="bottom-right" limit={4} autoClose={6000} />
      <QueryClientProvider client={client}>
        <Router base="/dashboard">
          <ErrorBoundary>
            <Gate />
          </ErrorBoundary>
        </Router>
      </QueryClientProvider>
    </MantineProvider>
  );
}

/** Gate lets in who is logged in. The address stays, so that a link from a colleague works after the log-in. */
function Gate() {
  const client = useQueryClient();
  const session = useSession(() => asks(client, location.pathname));
  useEffect(
    () =>
      onLoggedOut(() => {
        if (!client.getQueryData(keys.session)) return;
        forget(client);
        notifications.show({
          color: 'yellow',
          title: 'Logged out',
          message: 'Your session has ended. Log in again to go on.',
          withCloseButton: true,
        });
      }),
    [client],
  );
  if (session.isPending) {
    return <Patience />;
  }
  if (session.isError) {
    return (
      <Center mih="100vh" p="md">
        <Stack maw={480}>
          <Failure title="The console cannot start" problem={session.error} retry={() => void session.refetch()} />
        </Stack>
      </Center>
    );
  }
  if (session.data === null) return <LogInPage />;
  return (
    <SessionContext value={session.data}>
      <Shell />
    </SessionContext>
  );
}

/** Patience asks for some when there has been nothing to see for a while. */
function Patience() {
  const [long, setLong] = useState(false);
  useEffect(() => {
    const t = setTimeout(() => setLong(true), 500);
    return () => clearTimeout(t);
  }, []);
  if (!long) return null;
  return (
    <Center mih="100vh">
      <Loader aria-label="Loading" />
    </Center>
  );
}
