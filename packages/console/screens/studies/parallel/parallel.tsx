import type { StudyPoint } from '@workbench-hub/client';
import { useMemo, useRef } from 'react';
import { usePreferences } from '../../../base/preference-store.js';
import { Empty } from '../../../design/states.js';
import { useWords } from '../../../words/dictionary.js';
import { numberText } from '../../../words/formats.js';
import { ColumnChoice, useChosenColumns } from '../column-choice.js';
import { type Draw, Drawing } from '../plot/drawing.js';
import { useWidth } from '../plot/use-width.js';
import type { Column } from '../points.js';
import { headingOf, valueText } from '../value-text.js';
import { de } from '../words-de.js';
import { en } from '../words-en.js';
import { type ParallelAxis, type ParallelLayout, parallelLayoutOf } from './parallel-layout.js';

const HEIGHT = 420;
const MAX_AXES = 10;
const PIXELS_BETWEEN_AXES = 84;
const PIXELS_OF_A_CHARACTER = 7;
/** Lines of a kind that are drawn at most: more of them hide each other. */
const MAX_LINES = 5000;
/** Lines between two looks at the clock. */
const LINES_OF_A_STEP = 50;
/** Lines that are drawn opaque; with more, they shine through each other. */
const OPAQUE_LINES = 60;
/** Lines from which on they are thinner. */
const MANY_LINES = 500;

interface ParallelProps {
  readonly points: readonly StudyPoint[];
  readonly columns: readonly Column[];
}

/** Points as lines over parallel axes, of variables and values that the reader chooses. */
export function Parallel({ points, columns }: ParallelProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const place = useRef<HTMLDivElement>(null);
  const shown = useChosenColumns(columns, MAX_AXES);
  const keys = shown.map(({ key }) => key).join(' ');
  const width = Math.max(useWidth(place), shown.length * PIXELS_BETWEEN_AXES);
  const layout = useMemo(
    () => parallelLayoutOf(points, shown, { width, height: HEIGHT, maxLines: MAX_LINES }),
    [points, columns, keys, width],
  );
  const finished = useMemo(() => linesOf(layout, layout.finished, []), [layout]);
  const failed = useMemo(() => linesOf(layout, layout.failed, [6, 4]), [layout]);
  if (shown.length < 2) {
    return (
      <div className="card">
        <Empty icon="chart-scatter" title={words.noPlot}>
          <p>{words.noPairMore}</p>
        </Empty>
      </div>
    );
  }
  const { finishedCount, failedCount } = layout;
  const number = (value: number) => numberText(value, language);
  const isThinned = Math.max(finishedCount, failedCount) > MAX_LINES;
  return (
    <div className="card part">
      <ColumnChoice columns={columns} shown={shown} most={MAX_AXES} />
      <div className="study-parallel" ref={place} tabIndex={0} role="group" aria-label={words.parallel}>
        <div className="study-parallel-place" style={{ width, height: HEIGHT }}>
          <Drawing className="study-lines" width={width} height={HEIGHT} draw={finished} />
          <Drawing className="study-failed-lines" width={width} height={HEIGHT} draw={failed} />
          <Axes layout={layout} width={width} />
        </div>
      </div>
      <p className="faint" role="status">
        {words.lines(number(finishedCount), number(failedCount))}
        {isThinned && ` ${words.thinned(number(MAX_LINES))}`}
      </p>
    </div>
  );
}

/** Lines of points; one breaks where a point has no number. */
function linesOf({ axes }: ParallelLayout, heights: Float32Array, dash: number[]): Draw {
  const places = axes.map(({ x }) => x);
  const lineCount = heights.length / Math.max(1, places.length);
  return function* draw(context) {
    context.setLineDash(dash);
    context.lineWidth = lineCount > MANY_LINES ? 1 : 1.5;
    context.globalAlpha = Math.max(0.06, Math.min(0.8, OPAQUE_LINES / Math.max(1, lineCount)));
    for (let from = 0; from < lineCount; from += LINES_OF_A_STEP) {
      for (let line = from; line < Math.min(lineCount, from + LINES_OF_A_STEP); line++) {
        context.beginPath();
        trace(context, places, heights.subarray(line * places.length, (line + 1) * places.length));
        context.stroke();
      }
      yield;
    }
  };
}

function trace(context: CanvasRenderingContext2D, places: readonly number[], heights: Float32Array): void {
  let isDown = false;
  for (const [at, x] of places.entries()) {
    const y = heights[at] ?? Number.NaN;
    if (!Number.isNaN(y)) {
      if (isDown) context.lineTo(x, y);
      else context.moveTo(x, y);
    }
    isDown = !Number.isNaN(y);
  }
}

interface AxesProps {
  readonly layout: ParallelLayout;
  readonly width: number;
}

function Axes({ layout: { axes, top, bottom }, width }: AxesProps) {
  const words = useWords<typeof en>({ en, de });
  const label = words.parallelOf(axes.map(({ column }) => column.name).join(', '));
  return (
    <svg width={width} height={HEIGHT} viewBox={`0 0 ${width} ${HEIGHT}`} role="img" aria-label={label}>
      {axes.map((axis, at) => (
        <Axis
          key={axis.column.key}
          axis={axis}
          top={top}
          bottom={bottom}
          isRaised={at % 2 === 0}
          room={(2 * width) / axes.length}
          anchor={at === 0 ? 'start' : at === axes.length - 1 ? 'end' : 'middle'}
        />
      ))}
    </svg>
  );
}

interface AxisProps {
  readonly axis: ParallelAxis;
  readonly top: number;
  readonly bottom: number;
  /** Whether its name stands above those of its neighbors. */
  readonly isRaised: boolean;
  /** Pixels for its name. */
  readonly room: number;
  readonly anchor: 'start' | 'middle' | 'end';
}

function Axis({ axis: { column, x, ticks }, top, bottom, isRaised, room, anchor }: AxisProps) {
  const [{ language }] = usePreferences();
  const name = headingOf(column);
  const longest = Math.floor(room / PIXELS_OF_A_CHARACTER);
  const from = { start: 0, middle: x, end: x + 44 }[anchor];
  return (
    <g className="study-axis">
      <line x1={x} x2={x} y1={top} y2={bottom} className="study-upright" />
      <text className="study-axis-name" x={from} y={top - (isRaised ? 26 : 9)} textAnchor={anchor}>
        {name.length > longest ? `${name.slice(0, longest - 1)}…` : name}
        <title>{name}</title>
      </text>
      {ticks.map(([at, value]) => (
        <g key={value}>
          <line x1={x - 4} x2={x + 4} y1={at} y2={at} />
          <text
            x={anchor === 'end' ? x + 7 : x - 7}
            y={at + 4}
            textAnchor={anchor === 'end' ? 'start' : 'end'}
            className="study-tick"
          >
            {valueText(value, language)}
          </text>
        </g>
      ))}
    </g>
  );
}
