import 'uplot/dist/uPlot.min.css';

import { memo, useEffect, useMemo, useRef, useState } from 'react';
import uPlot from 'uplot';

import { whenIdle } from '../../components/later';
import { count, none, percent, rate, share } from '../../words/figures';
import type { Point } from '../../words/series';
import type { Tone } from '../../words/states';
import { tick } from '../../words/times';
import css from './charts.module.css';

interface Line {
  label: string;
  tone: Tone;
  of: (p: Point) => number | null;
  dashed?: boolean;
}

interface Plot {
  name: string;
  title: string;
  write: (v: number | null | undefined) => string;
  axis: (v: number) => string;
  /** The axis reaches at least so far. */
  least: number;
  lines: Line[];
}

const height = 168;

interface Props {
  points: Point[];
  cap: number;
  /** What nobody sees is not drawn anew. */
  seen: boolean;
}

/** Charts draws a run over its time: one plot below the other, with one cursor. */
export default memo(
  Charts,
  (before, after) => !after.seen || (before.seen && before.points === after.points && before.cap === after.cap),
);

function Charts({ points, cap }: Props) {
  const plots = useMemo<Plot[]>(
    () => [
      {
        name: 'dials',
        title: 'Dials per second',
        write: rate,
        axis: (v) => (Number.isInteger(v) ? count(v) : rate(v)),
        least: 1,
        lines: [{ label: 'Dials/s', tone: 'blue', of: (p) => p.dialsPerS }],
      },
      {
        name: 'calls',
        title: 'Calls at a time',
        write: rate,
        axis: count,
        least: 4,
        lines: [
          { label: 'Ringing', tone: 'amber', of: (p) => p.ringing },
          { label: 'Connected', tone: 'green', of: (p) => p.connected },
        ],
      },
      {
        name: 'rates',
        title: 'Answer rate (recent calls)',
        write: share,
        axis: (v) => `${count(v * 100)}\u00a0%`,
        least: 0.2,
        lines: [{ label: 'Answered', tone: 'teal', of: (p) => p.answerRate }],
      },
      {
        name: 'abandons',
        title: 'Abandon rate, so far',
        write: share,
        axis: percent,
        least: Math.max(cap * 1.25, 0.01),
        lines: [
          { label: 'Abandoned', tone: 'red', of: (p) => p.abandonRate },
          { label: 'Cap', tone: 'grey', of: () => cap, dashed: true },
        ],
      },
    ],
    [cap],
  );
  return (
    <div className={css.plots}>
      {plots.map((p) => (
        <OnePlot key={p.name} plot={p} points={points} />
      ))}
    </div>
  );
}

/** OnePlot is drawn on a canvas, which nothing reads out: its words and a table stand beside it. */
function OnePlot({ plot, points }: { plot: Plot; points: Point[] }) {
  const frame = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  const [at, setAt] = useState<number | null>(null);
  const newest = useRef<uPlot.AlignedData>([[]]);
  const values = useMemo<uPlot.AlignedData>(
    () => [points.map((p) => p.at), ...plot.lines.map((l) => points.map(l.of))],
    [plot, points],
  );

  useEffect(() => {
    const node = frame.current;
    if (node === null) return;
    const colours = new Map<string, string>();
    const sized = new ResizeObserver(() => chart.current?.setSize({ width: node.clientWidth, height }));
    // A canvas does not follow the colours of the page by itself.
    const coloured = new MutationObserver(() => {
      colours.clear();
      chart.current?.redraw(false, true);
    });
    // One at a time: each takes longer than a click should wait.
    const callOff = whenIdle(() => {
      chart.current = new uPlot(options(plot, node, colours, setAt), newest.current, node);
      sized.observe(node);
      coloured.observe(document.documentElement, { attributes: true, attributeFilter: ['data-mantine-color-scheme'] });
    });
    return () => {
      callOff();
      sized.disconnect();
      coloured.disconnect();
      chart.current?.destroy();
      chart.current = null;
    };
  }, [plot]);

  useEffect(() => {
    newest.current = values;
    chart.current?.setData(values);
  }, [values]);

  const shown = points[at ?? -1] ?? lastKnown(points, plot.lines[0]);
  return (
    <figure className={css.plot} data-plot={plot.name} data-points={points.length}>
      <figcaption className={css.head}>
        <span className={css.title}>{plot.title}</span>
        {plot.lines.map((l) => (
          <span key={l.label} className={css.key} data-tone={l.tone} data-dashed={l.dashed}>
            {l.label} <b className="figure">{shown === undefined ? none : plot.write(l.of(shown))}</b>
          </span>
        ))}
      </figcaption>
      <div ref={frame} className={css.frame} aria-hidden />
    </figure>
  );
}

/** lastKnown is the newest point of which the line knows something. */
function lastKnown(points: Point[], line: Line | undefined): Point | undefined {
  return points.findLast((p) => line?.of(p) !== null) ?? points.at(-1);
}

/** options of a plot; `colours` keeps what was looked up of the page's until it has others. */
function options(
  plot: Plot,
  node: HTMLElement,
  colours: Map<string, string>,
  setAt: (i: number | null) => void,
): uPlot.Options {
  const style = getComputedStyle(node);
  const kept = (key: string, look: () => string) => {
    const found = colours.get(key) ?? look();
    colours.set(key, found);
    return found;
  };
  const colour = (variable: string) => kept(variable, () => style.getPropertyValue(variable).trim());
  const toned = (tone: Tone) =>
    kept(tone, () => {
      const key = node.parentElement?.querySelector(`[data-tone="${tone}"]`);
      return key ? getComputedStyle(key).getPropertyValue('--tone').trim() : '#888888';
    });
  const axis: uPlot.Axis = {
    stroke: () => colour('--mantine-color-dimmed'),
    grid: { stroke: () => colour('--hairline'), width: 1 },
    ticks: { show: false },
    font: `11.5px ${style.fontFamily}`,
  };
  return {
    width: node.clientWidth,
    height,
    legend: { show: false },
    cursor: { sync: { key: 'run' }, drag: { x: false, y: false }, points: { size: 7 } },
    // A single point would have an axis of years.
    scales: {
      x: { time: true, range: (_, min, max) => (min === max ? [min - 30, max + 30] : [min, max]) },
      y: { range: (_, __, max) => [0, Math.max(max || 0, plot.least) * 1.05] },
    },
    axes: [
      {
        ...axis,
        values: (_, splits, __, ___, step) => splits.map((s) => tick(new Date(s * 1000), step)),
        space: 70,
        gap: 4,
        size: 26,
      },
      { ...axis, values: (_, splits) => splits.map(plot.axis), space: 34, size: 54, gap: 6 },
    ],
    series: [
      {},
      ...plot.lines.map((l): uPlot.Series => ({
        label: l.label,
        stroke: () => toned(l.tone),
        fill: () => (l.dashed ? 'transparent' : `${toned(l.tone)}1f`),
        width: l.dashed ? 1.25 : 1.75,
        ...(l.dashed ? { dash: [5, 4] } : {}),
        spanGaps: true,
        points: { show: (u) => u.data[0].length < 3 },
      })),
    ],
    hooks: { setCursor: [(u) => setAt(u.cursor.idx ?? null)] },
  };
}
