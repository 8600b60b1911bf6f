import type { Tone } from '../words/states';
import css from './tone-badge.module.css';

interface Props {
  tone: Tone;
  label: string;
  /** A dot that breathes: something goes on now. */
  alive?: boolean;
  title?: string;
}

/** ToneBadge shows a state as a word on its colour. */
export function ToneBadge({ tone, label, alive = false, title }: Props) {
  return (
    <span className={css.badge} data-tone={tone} title={title}>
      <span className={css.dot} data-alive={alive || undefined} />
      {label}
    </span>
  );
}

/** ToneWord shows a state as a word beside a dot of its colour, for places where many stand together. */
export function ToneWord({ tone, label, title }: Props) {
  return (
    <span className={css.word} data-tone={tone} title={title}>
      <span className={css.dot} />
      {label}
    </span>
  );
}
