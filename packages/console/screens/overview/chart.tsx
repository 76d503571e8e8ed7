import { useEffect, useRef, useSyncExternalStore } from 'react';
import uPlot from 'uplot';
import { usePreferences } from '../../base/preference-store.js';
import type { Language } from '../../base/preferences.js';

const AXIS_SIZE = 76;
const TIME_AXIS_SIZE = 32;
/** Distances of marks that are whole units of time, in seconds. */
const DURATION_STEPS_S = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600,
  7200, 21_600, 86_400,
];
/** Distances of marks of what is counted: no fractions. */
const COUNT_STEPS = [1, 2, 5].flatMap((step) => Array.from({ length: 10 }, (_, power) => step * 10 ** power));
const DAY_S = 86_400;
/** Lengths of a dash and of a gap, in pixels. */
const DASH = [5, 4];
const FONT = '12px system-ui, sans-serif';

export interface ChartSeries {
  readonly label: string;
  /** Name of a token, such as `--failed-mark`. */
  readonly color: string;
  readonly kind: 'bars' | 'line' | 'dashes';
  /** A number for each time; undefined leaves a gap. */
  readonly values: readonly (number | undefined)[];
}

interface ChartProps {
  readonly label: string;
  /** Milliseconds since 1970. */
  readonly timesMs: readonly number[];
  readonly series: readonly ChartSeries[];
  /** Writes a value of the left axis. */
  readonly format: (value: number) => string;
  /** Whether the values are seconds. */
  readonly isDuration?: boolean;
}

/** A chart over time, drawn on a canvas; the same numbers are in a table beside it. */
export function Chart({ label, timesMs, series, format, isDuration = false }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const [{ theme, language }] = usePreferences();
  const scheme = useScheme();
  const shape = JSON.stringify([
    theme,
    scheme,
    language,
    series.map(({ label: name, color, kind }) => [name, color, kind]),
  ]);
  const data = [
    timesMs.map((ms) => ms / 1000),
    ...series.map(({ values }) => values.map((value) => value ?? null)),
  ];
  const latest = useRef({ data, series, format, language });
  latest.current = { data, series, format, language };
  useEffect(() => {
    const element = place.current;
    if (element === null || shape === '') return;
    const { series: wanted, data: first } = latest.current;
    const options = optionsOf(element, wanted, isDuration, {
      value: (value) => latest.current.format(value),
      time: (seconds, stepS) => timeText(seconds, stepS, latest.current.language),
    });
    plot.current = new uPlot(options, first as uPlot.AlignedData, element);
    const resizing = new ResizeObserver(() =>
      plot.current?.setSize({ width: element.clientWidth, height: element.clientHeight }),
    );
    resizing.observe(element);
    return () => {
      resizing.disconnect();
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [shape]);
  useEffect(() => plot.current?.setData(data as uPlot.AlignedData));
  return (
    <figure className="chart" aria-label={label}>
      <div ref={place} aria-hidden="true" />
      <figcaption className="legend">
        {series.map(({ label: name, color, kind }) => (
          <span key={name}>
            <i className={kind} style={{ color: `var(${color})` }} />
            {name}
          </span>
        ))}
      </figcaption>
    </figure>
  );
}

const dark = window.matchMedia('(prefers-color-scheme: dark)');

/** Follows the scheme of the system, since a canvas keeps the colors that it was drawn in. */
function useScheme(): boolean {
  return useSyncExternalStore(
    (listener) => {
      dark.addEventListener('change', listener);
      return () => dark.removeEventListener('change', listener);
    },
    () => dark.matches,
  );
}

interface Texts {
  readonly value: (value: number) => string;
  /** A time of the axis below, whose marks are this far apart. */
  readonly time: (seconds: number, stepS: number) => string;
}

/** The date at midnight and between days, otherwise the time of the day. */
function timeText(seconds: number, stepS: number, language: Language): string {
  const at = new Date(seconds * 1000);
  const isDate = stepS >= DAY_S || (at.getHours() === 0 && at.getMinutes() === 0);
  return isDate
    ? at.toLocaleDateString(language, { day: 'numeric', month: 'short' })
    : at.toLocaleTimeString(language, { hour: '2-digit', minute: '2-digit', hour12: false });
}

function optionsOf(
  element: HTMLElement,
  series: readonly ChartSeries[],
  isDuration: boolean,
  texts: Texts,
): uPlot.Options {
  const color = (token: string) => colorOf(element, token);
  const axis: uPlot.Axis = {
    stroke: color('--text-3'),
    font: FONT,
    grid: { stroke: color('--line'), width: 1 },
    ticks: { show: false },
  };
  return {
    width: element.clientWidth,
    height: element.clientHeight,
    legend: { show: false },
    cursor: { show: false },
    padding: [8, 24, 0, 0],
    scales: { y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] } },
    axes: [
      {
        ...axis,
        size: TIME_AXIS_SIZE,
        grid: { show: false },
        values: (_, splits, __, ___, stepS) => splits.map((seconds) => texts.time(seconds, stepS)),
      },
      {
        ...axis,
        size: AXIS_SIZE,
        values: (_, splits) => splits.map(texts.value),
        incrs: isDuration ? DURATION_STEPS_S : COUNT_STEPS.toSorted((a, b) => a - b),
      },
    ],
    series: [
      {},
      ...series.map(({ label, color: token, kind }) => ({
        label,
        stroke: color(token),
        width: kind === 'bars' ? 0 : 2,
        ...(kind === 'dashes' ? { dash: DASH } : {}),
        points: { show: kind !== 'bars', size: 4, fill: color(token) },
        ...(kind === 'bars' ? { fill: color(token), paths: uPlot.paths.bars?.({ size: [0.8, 24] }) } : {}),
      })),
    ],
  } as uPlot.Options;
}

/** The present value of a token: a canvas knows no variables. */
function colorOf(element: HTMLElement, token: string): string {
  const probe = document.createElement('i');
  probe.style.color = `var(${token})`;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
