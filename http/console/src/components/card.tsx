import { Group, Paper, Title } from '@mantine/core';
import type { ReactNode, Ref } from 'react';
import { useId } from 'react';

import css from './card.module.css';

interface Props {
  title: string;
  /** Beside the title. */
  aside?: ReactNode;
  /** Where it stands on the page. */
  place?: Ref<HTMLDivElement>;
  children: ReactNode;
}

/** Card is a named part of a page. */
export function Card({ title, aside, place, children }: Props) {
  const id = useId();
  return (
    <Paper
      component="section"
      {...(place === undefined ? {} : { ref: place })}
      withBorder
      className={css.card}
      aria-labelledby={id}
    >
      <Group justify="space-between" className={css.head} wrap="wrap" gap="xs">
        <Title order={2} id={id} className={css.title}>
          {title}
        </Title>
        {aside}
      </Group>
      {children}
    </Paper>
  );
}
