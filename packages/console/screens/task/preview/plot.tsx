import { useEffect, useMemo, useRef, useState } from 'react';
import UPlot from 'uplot';
import { usePreferences } from '../../../base/preference-store.js';
import { useWords } from '../../../words/dictionary.js';
import { numberText } from '../../../words/formats.js';
import type { PlotChoice } from '../place.js';
import { usePlace } from '../use-place.js';
import { firstChoice, MAX_CURVES, plottable } from './plot-choice.js';
import { type PlotRange, rowsWithin, typedNumber, WHOLE } from './plot-range.js';
import { thinnedCurves } from './thinned.js';
import type { Column, ValueTable } from './value-table.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

const HEIGHT = 340;
const MAX_POINTS = 20_000;
/** Drag in pixels that is no press. */
const SHORTEST_DRAG = 4;
/** Colors of curves by their tokens, so that they are seen on the ground of either theme. */
const COLORS = Array.from({ length: MAX_CURVES }, (_, at) => `--curve-${at + 1}`);

interface PlotProps {
  readonly table: ValueTable;
  readonly version: number;
  readonly isComplete: boolean;
}

/** Curves of columns over another one that never falls, or over the number of the row. */
export function Plot({ table, version, isComplete }: PlotProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const columns = useMemo(() => table.names.map((_, at) => table.column(at)), [table, version]);
  const [{ plot: chosen, range }, change] = usePlace();
  const choice = useMemo(
    () => (chosen === undefined ? firstChoice(columns) : plottable(columns, chosen)),
    [columns, chosen],
  );
  const choose = (changed: Partial<PlotChoice>) => change({ plot: { ...choice, ...changed } });
  const setRange = (wanted: PlotRange) => change({ range: wanted });
  const plotted = useMemo(
    () => dataOf(columns, choice, table.rowCount, range),
    [columns, choice, table.rowCount, range],
  );
  if (!columns.some(({ count }) => count > 0)) {
    return isComplete ? <p className="faint">{words.noNumbers}</p> : null;
  }
  const xName = choice.x === undefined ? words.rowNumber : (columns[choice.x]?.name ?? '');
  const names = choice.y.map((at) => columns[at]?.name ?? '');
  return (
    <>
      <div className="plot-bar">
        <div className="chip">
          <span aria-hidden="true">{words.across}</span>
          <select
            className="input"
            aria-label={words.across}
            value={choice.x ?? ''}
            onChange={({ target: { value } }) => {
              change({ plot: { ...choice, x: value === '' ? undefined : Number(value) }, range: WHOLE });
            }}
          >
            <option value="">{words.rowNumber}</option>
            {columns.map(
              ({ name, isAscending }, at) =>
                isAscending && (
                  <option key={at} value={at}>
                    {name}
                  </option>
                ),
            )}
          </select>
        </div>
        <label className="check">
          <input
            type="checkbox"
            checked={choice.isLogarithmic}
            onChange={({ target: { checked } }) => choose({ isLogarithmic: checked })}
          />
          {words.logarithmic}
        </label>
        <RangeFields range={range} onChange={setRange} />
      </div>
      <Curves columns={columns} chosen={choice.y} onChange={(y) => choose({ y })} />
      <Chart
        data={plotted.data}
        names={names}
        xName={xName}
        isLogarithmic={choice.isLogarithmic}
        label={words.plotOf(names.join(', '), xName)}
        onRange={setRange}
      />
      {plotted.isThinned && <p className="faint">{words.thinned}</p>}
      {choice.y.length >= MAX_CURVES && (
        <p className="faint">{words.cutCurves(numberText(MAX_CURVES, language))}</p>
      )}
    </>
  );
}

interface RangeFieldsProps {
  readonly range: PlotRange;
  readonly onChange: (range: PlotRange) => void;
}

/** The part that is shown, by numbers, for those who do not drag over the plot. */
function RangeFields({ range, onChange }: RangeFieldsProps) {
  const words = useWords<typeof en>({ en, de });
  const field = (label: string, end: 'from' | 'to') => (
    <div className="chip">
      <span aria-hidden="true">{label}</span>
      <input
        key={range[end] ?? ''}
        className="input"
        inputMode="decimal"
        aria-label={label}
        defaultValue={range[end] ?? ''}
        onBlur={(event) => onChange({ ...range, [end]: typedNumber(event.target.value) })}
        onKeyDown={(event) => event.key === 'Enter' && event.currentTarget.blur()}
      />
    </div>
  );
  return (
    <>
      {field(words.rangeFrom, 'from')}
      {field(words.rangeTo, 'to')}
      {range.from === undefined && range.to === undefined ? (
        <span className="faint">{words.rangeHint}</span>
      ) : (
        <button type="button" className="button plain" onClick={() => onChange(WHOLE)}>
          {words.whole}
        </button>
      )}
    </>
  );
}

interface CurvesProps {
  readonly columns: readonly Column[];
  readonly chosen: readonly number[];
  readonly onChange: (chosen: readonly number[]) => void;
}

/** Choice of the columns that are drawn. */
function Curves({ columns, chosen, onChange }: CurvesProps) {
  const words = useWords<typeof en>({ en, de });
  return (
    <fieldset className="curves">
      <legend className="visually-hidden">{words.up}</legend>
      {columns.map(
        ({ name, count }, at) =>
          count > 0 && (
            <label key={at} className="check">
              <input
                type="checkbox"
                checked={chosen.includes(at)}
                disabled={!chosen.includes(at) && chosen.length >= MAX_CURVES}
                onChange={({ target: { checked } }) =>
                  onChange(checked ? [...chosen, at] : chosen.filter((each) => each !== at))
                }
              />
              {chosen.includes(at) && (
                <span className={`curve curve-${chosen.indexOf(at) + 1}`} aria-hidden="true" />
              )}
              {name}
            </label>
          ),
      )}
    </fieldset>
  );
}

function dataOf(columns: readonly Column[], { x, y }: PlotChoice, rows: number, range: PlotRange) {
  const numbers = (at: number) => columns[at]?.numbers ?? new Float64Array(rows);
  const across = x === undefined ? Float64Array.from({ length: rows }, (_, row) => row + 1) : numbers(x);
  const [first, end] = rowsWithin(across, range);
  const curves = thinnedCurves(
    across.subarray(first, end),
    y.map((at) => numbers(at).subarray(first, end)),
    MAX_POINTS,
  );
  return { data: [curves.x, ...curves.y] as UPlot.AlignedData, isThinned: curves.isThinned };
}

interface ChartProps {
  readonly data: UPlot.AlignedData;
  readonly names: readonly string[];
  readonly xName: string;
  readonly isLogarithmic: boolean;
  readonly label: string;
  /** Called with the part over which the reader has dragged. */
  readonly onRange: (range: PlotRange) => void;
}

function Chart({ data, names, xName, isLogarithmic, label, onRange }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const [{ theme, language }] = usePreferences();
  const isDark = useSystemDark();
  const shape = JSON.stringify([names, xName, isLogarithmic, theme, isDark, language]);
  const chart = useRef<UPlot>(undefined);
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const options = optionsOf(element, names, xName, isLogarithmic, language);
    const made = new UPlot({ ...options, hooks: { setSelect: [dragged] } }, data, element);
    chart.current = made;
    element.scrollIntoView({ block: 'nearest' });
    function dragged(plot: UPlot) {
      const { left, width } = plot.select;
      if (width < SHORTEST_DRAG) return;
      const [from, to] = [left, left + width].map((at) => Number(plot.posToVal(at, 'x').toPrecision(6)));
      plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      onRange({ from, to });
    }
    const watching = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT }));
    watching.observe(element);
    return () => {
      watching.disconnect();
      made.destroy();
      chart.current = undefined;
    };
  }, [shape]);
  useEffect(() => chart.current?.setData(data), [data]);
  return <div className="plot-chart" ref={place} role="img" aria-label={label} />;
}

function optionsOf(
  element: HTMLElement,
  names: readonly string[],
  xName: string,
  isLogarithmic: boolean,
  language: string,
): UPlot.Options {
  const style = getComputedStyle(element);
  const color = (token: string) => probe(element, token);
  const axis = {
    stroke: color('--text-2'),
    grid: { stroke: color('--line'), width: 1 },
    ticks: { stroke: color('--line'), width: 1 },
    font: `12px ${style.fontFamily}`,
  };
  const format = new Intl.NumberFormat(language, { maximumSignificantDigits: 6 });
  const values = (_: UPlot, splits: (number | null)[]) =>
    splits.map((split) => (split === null ? '' : format.format(split)));
  return {
    width: element.clientWidth,
    height: HEIGHT,
    scales: { x: { time: false }, ...(isLogarithmic ? { y: { distr: 3 as const } } : {}) },
    axes: [
      { ...axis, values, label: xName, labelFont: axis.font, labelSize: 20 },
      { ...axis, values, size: 64 },
    ],
    series: [
      { label: xName },
      ...names.map((name, at) => ({
        label: name,
        stroke: color(COLORS[at] ?? '--text'),
        width: 1.5,
        points: { show: false },
      })),
    ],
    cursor: { drag: { x: true, y: false, setScale: false } },
  };
}

/** A color of the theme as a canvas takes it. */
function probe(element: HTMLElement, token: string): string {
  const before = element.style.color;
  element.style.color = `var(${token})`;
  const { color } = getComputedStyle(element);
  element.style.color = before;
  return color;
}

/** Whether the system is dark at present. */
function useSystemDark(): boolean {
  const query = useMemo(() => window.matchMedia('(prefers-color-scheme: dark)'), []);
  const [isDark, setDark] = useState(query.matches);
  useEffect(() => {
    const listen = () => setDark(query.matches);
    query.addEventListener('change', listen);
    return () => query.removeEventListener('change', listen);
  }, [query]);
  return isDark;
}
