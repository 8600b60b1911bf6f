import { Alert, Button, Center, Divider, Paper, PasswordInput, Stack, Text, TextInput, Title } from '@mantine/core';
import type { SyntheticEvent } from 'react';
import { useRef, useState } from 'react';

import type { Problem } from '../api/problem';
import { useLogIn, useLogInWays } from '../api/queries';
import { Brand } from '../components/icons';
import { seconds } from '../words/figures';
import { signOnPath, signOnRefusal } from '../words/sign-on';
import css from './log-in-page.module.css';

export function LogInPage() {
  const logIn = useLogIn();
  const other = useLogInWays().data?.single_sign_on;
  const refused = signOnRefusal(location.search);
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const passwordField = useRef<HTMLInputElement>(null);
  const submit = (e: SyntheticEvent) => {
    e.preventDefault();
    logIn.mutate(
      { email: email.trim(), password },
      {
        onError: () => {
          setPassword('');
          passwordField.current?.focus();
        },
      },
    );
  };
  return (
    <Center component="main" mih="100vh" p="md" className={css.ground}>
      <title>Log in – Dialler</title>
      <Stack w="100%" maw={380} gap="lg">
        <Stack align="center" gap="xs">
          <Brand size={44} />
          <Title order={1} size="h3">
            Log in to the dialler
          </Title>
        </Stack>
        <Paper component="form" withBorder p="lg" className={css.card} onSubmit={submit} aria-label="Log in">
          <Stack>
            {refused !== null && !logIn.isError && (
              <Alert role="alert" color="red" variant="light" p="sm">
                <Text size="sm">{refused}</Text>
              </Alert>
            )}
            {logIn.isError && (
              <Alert role="alert" color="red" variant="light" p="sm">
                <Text size="sm">{refusal(logIn.error)}</Text>
              </Alert>
            )}
            <TextInput
              label="E-mail"
              type="email"
              name="email"
              autoComplete="username"
              required
              withAsterisk={false}
              value={email}
              onChange={(e) => setEmail(e.currentTarget.value)}
              data-autofocus
            />
            <PasswordInput
              ref={passwordField}
              label="Password"
              name="password"
              autoComplete="current-password"
              required
              withAsterisk={false}
              value={password}
              onChange={(e) => setPassword(e.currentTarget.value)}
              visibilityToggleButtonProps={{ 'aria-label': 'Show or hide the password' }}
            />
            <Button type="submit" loading={logIn.isPending} fullWidth mt="xs">
              Log in
            </Button>
            {other && (
              <>
                <Divider label="or" />
                {other.available ? (
                  <Button component="a" href={signOnPath(other.url, location)} variant="default" fullWidth>
                    Log in with {other.name}
                  </Button>
                ) : (
                  <>
                    <Button variant="default" fullWidth disabled aria-describedby="sign-on-problem">
                      Log in with {other.name}
                    </Button>
                    <Text size="xs" c="dimmed" id="sign-on-problem">
                      {other.problem}
                    </Text>
                  </>
                )}
              </>
            )}
          </Stack>
        </Paper>
        <Text size="xs" c="dimmed" ta="center">
          The first administrator’s password was printed when the dialler was first started.
        </Text>
      </Stack>
    </Center>
  );
}

function refusal(p: Problem): string {
  switch (p.status) {
    case 401:
    case 422:
      return 'E-mail and password do not belong together.';
    case 429:
      return `Too many attempts. Try again in ${seconds(Math.ceil((p.retryAfterMs ?? 60_000) / 1000))}.`;
    default:
      return p.message;
  }
}
