import { Alert, Button, Group, List, Text } from '@mantine/core';

import type { Problem } from '../api/problem';
import { sentence } from '../words/sentence';
import { AlertIcon } from './icons';

interface Props {
  problem: Problem;
  title?: string;
  retry?: () => void;
}

/** Failure shows what the API refused, every mistake or blocker that it named, and how to find it in the log. */
export function Failure({ problem, title = 'That did not work', retry }: Props) {
  return (
    <Alert
      role="alert"
      color="red"
      variant="light"
      icon={<AlertIcon />}
      title={title}
      styles={{ title: { color: 'var(--mantine-color-error)' } }}
    >
      {problem.errors.length === 0 ? (
        <Text size="sm">{problem.message}</Text>
      ) : (
        <List size="sm" spacing={4}>
          {problem.errors.map((e) => (
            <List.Item key={`${e.field} ${e.code}`} data-code={e.code}>
              {sentence(e.message)}
            </List.Item>
          ))}
        </List>
      )}
      {problem.requestId !== '' && problem.status >= 500 && (
        <Text size="xs" c="dimmed" mt={6}>
          Request {problem.requestId}
        </Text>
      )}
      {retry && (
        <Group mt="sm">
          <Button size="xs" variant="default" onClick={retry}>
            Try again
          </Button>
        </Group>
      )}
    </Alert>
  );
}
