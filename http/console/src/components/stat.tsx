import type { ReactNode } from 'react';
import { memo } from 'react';

import type { Tone } from '../words/states';
import { Hint } from './hint';
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

/**
 * Stats lays figures out in a grid with hairlines; it is a list of terms and their values. Six and four figures go into
 * rows that are full, whatever the width; `any` takes as many to a row as there is room for.
 */
export function Stats({ children, figures }: { children: ReactNode; figures: 'six' | 'four' | 'any' }) {
  return (
    <div className={css.frame}>
      <dl className={css.grid} data-figures={figures}>
        {children}
      </dl>
    </div>
  );
}

/** Stat is one figure with its name; it is drawn anew when the figure is another. */
export const Stat = memo(function Stat({ label, about, name, children, tone, size = 'large' }: Props) {
  return (
    <div className={css.stat} data-size={size}>
      <dt className={css.label}>
        <Hint label={label} about={about} />
      </dt>
      <dd className={`figure ${css.value}`} data-figure={name} data-tone={tone}>
        {children}
      </dd>
    </div>
  );
});
