import 'uplot/dist/uPlot.min.css';

import { useComputedColorScheme } from '@mantine/core';
import { useMergedRef, useResizeObserver } from '@mantine/hooks';
import { useEffect, useState } from 'react';
import uPlot from 'uplot';

import type { Tone } from '../words/states';
import { tick } from '../words/times';
import css from './plot.module.css';

export interface Line {
  name: string;
  tone: Tone;
  dashed?: boolean;
  /** Seconds since 1970, growing. */
  x: number[];
  /** null is a gap. */
  y: (number | null)[];
}

interface Props {
  title: string;
  lines: Line[];
  /** What the axis writes behind its numbers. */
  unit?: string;
  zone: string;
  /** A level across, such as a limit. */
  limit?: { name: string; at: number };
}

const height = 190;

/**
 * Plot draws lines over time, by the clock of a zone. Its figures stand elsewhere as text: what is read out is its
 * title.
 */
export function Plot({ title, lines, unit = '', zone, limit }: Props) {
  const scheme = useComputedColorScheme('light');
  const [box, { width }] = useResizeObserver<HTMLDivElement>();
  const [at, setAt] = useState<HTMLDivElement | null>(null);
  const ref = useMergedRef(box, setAt);
  const wide = Math.floor(width);
  useEffect(() => {
    if (at === null || wide < 50) return undefined;
    const style = getComputedStyle(at);
    const colour = (tone: Tone) => {
      const mark = at.appendChild(document.createElement('i'));
      mark.dataset['tone'] = tone;
      const found = getComputedStyle(mark).getPropertyValue('--tone');
      mark.remove();
      return found;
    };
    const ink = style.getPropertyValue('--mantine-color-dimmed');
    const hair = style.getPropertyValue('--hairline');
    const all = [...lines];
    const first = all[0];
    if (limit !== undefined && first !== undefined)
      all.push({ name: limit.name, tone: 'red', dashed: true, x: first.x, y: first.x.map(() => limit.at) });
    const axis = {
      stroke: ink,
      grid: { stroke: hair, width: 1 },
      ticks: { stroke: hair, width: 1 },
      font: '11px Inter Variable, sans-serif',
    };
    const u = new uPlot(
      {
        width: wide,
        height,
        tzDate: (s) => uPlot.tzDate(new Date(s * 1000), zone),
        legend: { show: false },
        cursor: { show: false },
        scales: { y: { range: (_, __, most) => [0, most > 0 ? most * 1.08 : 1] } },
        axes: [
          {
            ...axis,
            space: 64,
            values: (_, marks, __, ___, step) => marks.map((s) => tick(new Date(s * 1000), step, zone)),
          },
          { ...axis, size: 54, values: (_, ticks) => ticks.map((v) => `${String(v)}${unit}`) },
        ],
        series: [
          {},
          ...all.map((l) => ({
            label: l.name,
            stroke: colour(l.tone),
            width: 2,
            points: { show: false },
            ...(l.dashed ? { dash: [6, 4] } : {}),
          })),
        ],
      },
      uPlot.join(all.map((l): uPlot.AlignedData => [l.x, l.y])),
      at,
    );
    return () => u.destroy();
  }, [at, lines, limit, unit, zone, scheme, wide]);
  return (
    <figure className={css.plot} style={{ margin: 0 }} aria-label={title}>
      <figcaption className={css.title}>{title}</figcaption>
      <div ref={ref} className={css.canvas} aria-hidden="true" />
      <div className={css.keys} aria-hidden="true">
        {lines.map((l) => (
          <span key={l.name} className={css.key} data-tone={l.tone} data-dashed={l.dashed || undefined}>
            {l.name}
          </span>
        ))}
        {limit && (
          <span className={css.key} data-tone="red" data-dashed>
            {limit.name}
          </span>
        )}
      </div>
    </figure>
  );
}
