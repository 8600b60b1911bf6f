import type { ReactNode } from 'react';
import { memo } from 'react';

import type { Tone } from '../words/states';
import css from './meter.module.css';

interface Props {
  name: string; // stable, for tests
  label: string;
  about: string;
  value: number;
  most: number;
  /** What stands beside the label, and is read out. */
  text: string;
  tone: Tone;
  /** A line on the bar, where a limit is. */
  mark?: number | undefined;
  /** Said of the bar when it is the one to look at. */
  flag?: string | undefined;
  children?: ReactNode;
}

/** Meter shows how much of something is taken. */
export const Meter = memo(function Meter({ name, label, about, value, most, text, tone, mark, flag, children }: Props) {
  const part = (x: number) => `${most > 0 ? Math.min(Math.max(x / most, 0), 1) * 100 : 0}%`;
  return (
    <div className={css.meter} data-meter={name} data-flagged={flag !== undefined || undefined} title={about}>
      <div className={css.head}>
        <span className={css.label}>{label}</span>
        {flag !== undefined && (
          <span className={css.flag} data-tone="amber">
            {flag}
          </span>
        )}
        <span className={`figure ${css.text}`}>{text}</span>
      </div>
      <div
        className={css.track}
        role="meter"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={Math.max(most, value, 1)}
        aria-valuenow={value}
        aria-valuetext={flag === undefined ? text : `${text}, ${flag}`}
      >
        <div className={css.fill} data-tone={tone} style={{ width: part(value) }} />
        {mark !== undefined && <div className={css.mark} style={{ insetInlineStart: part(mark) }} />}
      </div>
      {children}
    </div>
  );
});
