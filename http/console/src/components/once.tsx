import { Alert, Button, Code, Group, Stack, Text } from '@mantine/core';

import { CopyControl } from './copy-control';
import { KeyIcon } from './admin-icons';
import css from './once.module.css';

interface Props {
  /** What the secret is, as in "the key". */
  what: string;
  secret: string;
  /** The dialler keeps it, to sign with: only nobody is shown it again. */
  kept?: boolean;
  /** How it is used. */
  use?: { label: string; text: string };
  done: () => void;
}

/** Once shows a secret that is never shown again. */
export function Once({ what, secret, kept = false, use, done }: Props) {
  return (
    <Stack>
      <Alert
        role="status"
        color="yellow"
        variant="light"
        icon={<KeyIcon />}
        title={`Store ${what} now`}
        styles={{ title: { color: 'var(--mantine-color-text)' } }}
      >
        <Text size="sm">
          It is shown this one time.{' '}
          {kept
            ? 'With it your server checks that a message comes from this dialler.'
            : 'The dialler keeps only a hash of it and cannot show it again.'}
        </Text>
      </Alert>
      <Group gap="xs" wrap="nowrap" className={css.secret}>
        <Code className={css.code} data-secret>
          {secret}
        </Code>
        <CopyControl text={secret} what={what} />
      </Group>
      {use && (
        <Stack gap={4}>
          <Group gap={4}>
            <Text size="sm" fw={500}>
              {use.label}
            </Text>
            <CopyControl text={use.text} what="the example" />
          </Group>
          {/* It may be wider than the dialog: who has no pointer scrolls it with the keys. */}
          {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
          <pre className={css.example} tabIndex={0} aria-label={use.label}>
            {use.text}
          </pre>
        </Stack>
      )}
      <Group justify="flex-end">
        <Button onClick={done} data-autofocus>
          I have stored it
        </Button>
      </Group>
    </Stack>
  );
}
