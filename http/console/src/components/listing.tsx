import { Center, Group, Paper, Skeleton, Stack, Table, Text, Title, VisuallyHidden } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';

import type { Problem } from '../api/problem';
import type { NumberSearch } from '../words/number-search';
import { Failure } from './failure';
import css from './listing.module.css';
import { PageBody } from './page';

interface Props<T> {
  title: string;
  /** What this is for, in a sentence or two. */
  intro: string;
  action?: ReactNode;
  /** Between the head and the list: filters, notices. */
  above?: ReactNode;
  query: UseQueryResult<T, Problem>;
  children: (value: T) => ReactNode;
}

/** ListingPage is the frame of a page that lists things: its head, waiting, and what went wrong. */
export function ListingPage<T>({ title, intro, action, above, query, children }: Props<T>) {
  return (
    <PageBody title={title}>
      <Group justify="space-between" align="flex-start" mb="lg" gap="md">
        <Stack gap={2} maw={720}>
          <Title order={1} size="h2">
            {title}
          </Title>
          <Text size="sm" c="dimmed">
            {intro}
          </Text>
        </Stack>
        {action}
      </Group>
      {above}
      {query.isError && query.data === undefined && (
        <Failure title="This cannot be shown" problem={query.error} retry={() => void query.refetch()} />
      )}
      {query.isPending && <Skeleton height={240} radius="md" role="status" aria-label="Loading" />}
      {query.data !== undefined && children(query.data)}
    </PageBody>
  );
}

/**
 * Rows is a table within its frame; wider than the screen, it is scrolled sideways: a plain one, in which nothing takes
 * the focus, by itself.
 */
export function Rows({
  label,
  heads,
  minWidth = 760,
  plain = false,
  children,
  foot,
}: {
  label: string;
  heads: ReactNode;
  minWidth?: number;
  plain?: boolean;
  children: ReactNode;
  foot?: ReactNode;
}) {
  return (
    <Paper withBorder className={css.card}>
      <Table.ScrollContainer
        type="native"
        minWidth={minWidth}
        className={css.scroller}
        {...(plain ? { tabIndex: 0, role: 'region', 'aria-label': `${label}, scrollable` } : {})}
      >
        <Table aria-label={label} verticalSpacing="sm" horizontalSpacing="md" highlightOnHover>
          <Table.Thead>
            <Table.Tr>{heads}</Table.Tr>
          </Table.Thead>
          <Table.Tbody>{children}</Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      {foot}
    </Paper>
  );
}

/** ActionsHead is the head over a column of buttons. */
export function ActionsHead() {
  return (
    <Table.Th>
      <VisuallyHidden>Actions</VisuallyHidden>
    </Table.Th>
  );
}

/** Empty stands where there is nothing yet, and says what would be there and how to begin. */
export function Empty({ title, children, action }: { title: string; children: ReactNode; action?: ReactNode }) {
  return (
    <Paper withBorder className={css.card}>
      <Center p={{ base: 32, sm: 64 }}>
        <Stack align="center" gap={6} maw={480}>
          <Text fw={600}>{title}</Text>
          <Text size="sm" c="dimmed" ta="center">
            {children}
          </Text>
          {action !== undefined && <Group mt="sm">{action}</Group>}
        </Stack>
      </Center>
    </Paper>
  );
}

/**
 * Sought shows only rows that were looked for: none, and the reason, for a search that cannot be applied; none before
 * it was asked.
 */
export function Sought({ search, asked, children }: { search: NumberSearch; asked: string; children: ReactNode }) {
  if (search.reason !== undefined) {
    return (
      <div role="status">
        <Empty title="This cannot be searched for">{search.reason}</Empty>
      </div>
    );
  }
  return (search.number ?? '') === asked ? children : null;
}
