import { Tooltip } from '@mantine/core';
import type { ReactNode } from 'react';

import type { Tone } from '../words/states';
import css from './stat.module.css';

interface Props {
  label: string;
  /** What the figure counts, in a sentence. */
  about: string;
  name: string; // stable, for tests and for styles
  children: ReactNode;
  tone?: Tone | undefined;
  size?: 'large' | 'small';
}

/** Stats lays figures out in a grid with hairlines; it is a list of terms and their values. */
export function Stats({ children, columns }: { children: ReactNode; columns: string }) {
  return (
    <dl className={css.grid} style={{ gridTemplateColumns: columns }}>
      {children}
    </dl>
  );
}

/** Stat is one figure with its name. */
export function Stat({ label, about, name, children, tone, size = 'large' }: Props) {
  return (
    <div className={css.stat} data-size={size}>
      <dt className={css.label}>
        <Tooltip label={about}>
          <span>{label}</span>
        </Tooltip>
      </dt>
      <dd className={`figure ${css.value}`} data-figure={name} data-tone={tone}>
        {children}
      </dd>
    </div>
  );
}
