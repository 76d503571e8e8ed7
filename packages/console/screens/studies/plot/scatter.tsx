import { type KeyboardEvent, type MouseEvent, type PointerEvent, useMemo, useRef, useState } from 'react';
import { Link } from 'wouter';
import { usePreferences } from '../../../base/preference-store.js';
import { useWords } from '../../../words/dictionary.js';
import { type Column, stateOf } from '../points.js';
import { headingOf, valueText } from '../value-text.js';
import { de } from '../words-de.js';
import { en } from '../words-en.js';
import { type Draw, Drawing } from './drawing.js';
import { type Layout, layoutOf, nearest, type PlacedMark } from './layout.js';
import type { Mark } from './marks.js';
import { useWidth } from './use-width.js';

const HEIGHT = 400;
/** Marks that are drawn smaller, so that they do not hide each other. */
const MANY = 2000;
const DOT = 3.5;
const SMALL_DOT = 2;
const CROSS = 3.5;
/** Marks between two looks at the clock. */
const MARKS_OF_A_STEP = 500;
/** Distance in pixels at which a mark is meant. */
const REACH = 24;
/** Values of a point that its note shows. */
const SHOWN_FIELDS = 12;

interface Axis {
  readonly column: Column;
  readonly isLogarithmic: boolean;
}

interface ScatterProps {
  readonly marks: readonly Mark[];
  readonly columns: readonly Column[];
  readonly x: Axis;
  readonly y: Axis;
}

/** Marks over two axes. The one that is pointed at, or that the arrow keys lead to, shows its values, and leads to its task. */
export function Scatter({ marks, columns, x, y }: ScatterProps) {
  const words = useWords<typeof en>({ en, de });
  const place = useRef<HTMLDivElement>(null);
  const width = useWidth(place);
  const layout = useMemo(
    () =>
      layoutOf(marks, {
        width,
        height: HEIGHT,
        isXLogarithmic: x.isLogarithmic,
        isYLogarithmic: y.isLogarithmic,
      }),
    [marks, width, x.isLogarithmic, y.isLogarithmic],
  );
  const label = words.plotOf(y.column.name, x.column.name);
  return (
    <div className="study-scatter" ref={place}>
      <svg width={width} height={HEIGHT} viewBox={`0 0 ${width} ${HEIGHT}`} role="img" aria-label={label}>
        <Axes layout={layout} xLabel={headingOf(x.column)} yLabel={headingOf(y.column)} />
      </svg>
      <Marks layout={layout} width={width} />
      {layout.placed.length > 0 && <Pointing placed={layout.placed} columns={columns} width={width} />}
    </div>
  );
}

interface AxesProps {
  readonly layout: Layout;
  readonly xLabel: string;
  readonly yLabel: string;
}

function Axes({ layout: { left, right, top, bottom, xTicks, yTicks }, xLabel, yLabel }: AxesProps) {
  const [{ language }] = usePreferences();
  return (
    <g className="study-axis">
      {xTicks.map(([at, value]) => (
        <g key={value}>
          <line x1={at} x2={at} y1={top} y2={bottom} />
          <text x={at} y={bottom + 18} textAnchor="middle">
            {valueText(value, language)}
          </text>
        </g>
      ))}
      {yTicks.map(([at, value]) => (
        <g key={value}>
          <line x1={left} x2={right} y1={at} y2={at} />
          <text x={left - 8} y={at + 4} textAnchor="end">
            {valueText(value, language)}
          </text>
        </g>
      ))}
      <rect x={left} y={top} width={right - left} height={bottom - top} />
      <text className="study-axis-name" x={(left + right) / 2} y={bottom + 38} textAnchor="middle">
        {xLabel}
      </text>
      <text
        className="study-axis-name"
        transform={`translate(12 ${(top + bottom) / 2}) rotate(-90)`}
        textAnchor="middle"
      >
        {yLabel}
      </text>
    </g>
  );
}

/** All marks: dots for finished points, and crosses for failed ones. */
function Marks({ layout: { placed }, width }: { readonly layout: Layout; readonly width: number }) {
  const [dots, crosses] = useMemo(() => {
    const radius = placed.length > MANY ? SMALL_DOT : DOT;
    return [
      marksOf(
        placed.filter(({ mark }) => !mark.hasFailed),
        (context, { x, y }) => dot(context, x, y, radius),
        'fill',
      ),
      marksOf(
        placed.filter(({ mark }) => mark.hasFailed),
        (context, { x, y }) => cross(context, x, y),
        'stroke',
      ),
    ];
  }, [placed]);
  return (
    <>
      <Drawing className="study-dots" width={width} height={HEIGHT} draw={dots} />
      <Drawing className="study-crosses" width={width} height={HEIGHT} draw={crosses} />
    </>
  );
}

function marksOf(
  placed: readonly PlacedMark[],
  trace: (context: CanvasRenderingContext2D, mark: PlacedMark) => void,
  paint: 'fill' | 'stroke',
): Draw {
  return function* draw(context) {
    context.lineWidth = 2;
    context.lineCap = 'round';
    for (let from = 0; from < placed.length; from += MARKS_OF_A_STEP) {
      context.beginPath();
      for (const mark of placed.slice(from, from + MARKS_OF_A_STEP)) trace(context, mark);
      context[paint]();
      yield;
    }
  };
}

function dot(context: CanvasRenderingContext2D, x: number, y: number, radius: number): void {
  context.moveTo(x + radius, y);
  context.arc(x, y, radius, 0, 2 * Math.PI);
}

function cross(context: CanvasRenderingContext2D, x: number, y: number): void {
  context.moveTo(x - CROSS, y - CROSS);
  context.lineTo(x + CROSS, y + CROSS);
  context.moveTo(x + CROSS, y - CROSS);
  context.lineTo(x - CROSS, y + CROSS);
}

interface PointingProps {
  readonly placed: readonly PlacedMark[];
  readonly columns: readonly Column[];
  readonly width: number;
}

/** A link over all of the plot, to the task of the mark that is meant. */
function Pointing({ placed, columns, width }: PointingProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const [number, setNumber] = useState<number>();
  const [isShown, setShown] = useState(false);
  const found = placed.findIndex(({ mark }) => mark.point.number === number);
  const index = Math.max(0, found);
  const meant = placed[index];
  // A finger has not pointed before it presses: its first press shows, its second one leads on.
  const isReady = useRef(true);
  if (meant === undefined) return null;
  const choose = (to: number | undefined) => {
    setShown(to !== undefined);
    if (to !== undefined) setNumber(placed[to]?.mark.point.number);
  };
  const point = (event: PointerEvent) => {
    const { left, top } = event.currentTarget.getBoundingClientRect();
    const to = nearest(placed, event.clientX - left, event.clientY - top, REACH);
    const isFinger = event.pointerType !== 'mouse';
    if (event.type === 'pointerdown') isReady.current = !isFinger || (isShown && to === index);
    choose(to);
  };
  const press = (event: MouseEvent) => {
    // A press by a key has no place.
    if (event.detail > 0 && !(isShown && isReady.current)) event.preventDefault();
  };
  const step = (event: KeyboardEvent) => {
    const by = { ArrowRight: 1, ArrowLeft: -1, ArrowUp: 1, ArrowDown: -1, PageDown: 10, PageUp: -10 }[
      event.key
    ];
    const ends = { Home: 0, End: placed.length - 1 }[event.key];
    if (by === undefined && ends === undefined) return;
    event.preventDefault();
    choose(ends ?? Math.max(0, Math.min(placed.length - 1, index + (by ?? 0))));
  };
  const fields = fieldsOf(meant.mark, columns).map(({ column, value }) => [
    headingOf(column),
    valueText(value, language),
  ]);
  const title = `${words.point(String(meant.mark.point.number))}, ${words.outcomes[stateOf(meant.mark.point)]}`;
  const label = `${title}: ${fields.map(([name, text]) => `${name} ${text}`).join(', ')}`;
  return (
    <>
      <Link
        href={`/tasks/${meant.mark.point.taskId}`}
        className="study-pointing"
        aria-label={label}
        aria-describedby="study-plot-keys"
        onPointerMove={point}
        onPointerDown={point}
        onPointerLeave={() => setShown(false)}
        onFocus={(event) => event.currentTarget.matches(':focus-visible') && setShown(true)}
        onBlur={() => setShown(false)}
        onKeyDown={step}
        onClick={press}
        draggable={false}
      />
      <span id="study-plot-keys" className="visually-hidden">
        {words.plotKeys}
      </span>
      <span className="visually-hidden" role="status">
        {isShown ? label : ''}
      </span>
      {isShown && <Note meant={meant} title={title} fields={fields} width={width} />}
    </>
  );
}

function fieldsOf({ point }: Mark, columns: readonly Column[]) {
  return columns
    .map((column) => ({ column, value: column.of(point) }))
    .filter(({ value }) => value !== undefined)
    .slice(0, SHOWN_FIELDS);
}

interface NoteProps {
  readonly meant: PlacedMark;
  readonly title: string;
  readonly fields: readonly (readonly (string | undefined)[])[];
  readonly width: number;
}

/** Values of the mark that is meant, beside it. */
function Note({ meant: { x, y, mark }, title, fields, width }: NoteProps) {
  const isRight = x > width / 2;
  const isLow = y > HEIGHT / 2;
  return (
    <>
      <span className="study-meant" style={{ left: x, top: y }} />
      <div
        className="study-tip"
        aria-hidden="true"
        style={{
          ...(isRight ? { right: width - x + 12 } : { left: x + 12 }),
          ...(isLow ? { bottom: HEIGHT - y + 12 } : { top: y + 12 }),
        }}
      >
        <strong>{title}</strong>
        <dl>
          {fields.map(([name, text]) => (
            <div key={name} className="study-tip-field">
              <dt>{name}</dt>
              <dd className="numbers">{text}</dd>
            </div>
          ))}
        </dl>
        {mark.point.message && <p>{mark.point.message.slice(0, 160)}</p>}
      </div>
    </>
  );
}
