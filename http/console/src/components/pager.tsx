import { Button, Group, Text } from '@mantine/core';

import { count } from '../words/figures';
import { LeftIcon, RightIcon } from './icons';

interface Props {
  page: number;
  size: number;
  total: number;
  go: (page: number) => void;
}

/** Pager leads through the pages of a list. */
export function Pager({ page, size, total, go }: Props) {
  const pages = Math.max(1, Math.ceil(total / size));
  return (
    <Group justify="space-between" p="sm">
      <Text size="sm" c="dimmed" className="figure">
        {count(total)} in all
        {pages > 1 && ` · page ${count(page)} of ${count(pages)}`}
      </Text>
      {pages > 1 && (
        <Group gap="xs">
          <Button
            size="xs"
            variant="default"
            leftSection={<LeftIcon size={14} />}
            disabled={page <= 1}
            onClick={() => go(page - 1)}
          >
            Previous
          </Button>
          <Button
            size="xs"
            variant="default"
            rightSection={<RightIcon size={14} />}
            disabled={page >= pages}
            onClick={() => go(page + 1)}
          >
            Next
          </Button>
        </Group>
      )}
    </Group>
  );
}
