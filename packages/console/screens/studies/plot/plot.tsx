import type { StudyPoint } from '@workbench-hub/client';
import { useMemo } from 'react';
import { usePreferences } from '../../../base/preference-store.js';
import { ChoiceChip } from '../../../design/choice.js';
import { Empty } from '../../../design/states.js';
import { useWords } from '../../../words/dictionary.js';
import { numberText } from '../../../words/formats.js';
import type { ScaleChoice } from '../place.js';
import { type Column, numberIn } from '../points.js';
import { useStudyPlace } from '../use-study-place.js';
import { de } from '../words-de.js';
import { en } from '../words-en.js';
import { type Marks, marksOf } from './marks.js';
import { isLogarithmicAtFirst } from './scale.js';
import { Scatter } from './scatter.js';

interface PlotProps {
  readonly points: readonly StudyPoint[];
  readonly columns: readonly Column[];
}

/** Points over two variables or values that the reader chooses. */
export function Plot({ points, columns }: PlotProps) {
  const words = useWords<typeof en>({ en, de });
  const [place, change] = useStudyPlace();
  const numeric = columns.filter(({ isNumeric }) => isNumeric);
  const x = numeric.find(({ key }) => key === place.x) ?? numeric[0];
  const firstY = numeric.find(({ key }) => key.startsWith('values.')) ?? numeric[1] ?? numeric[0];
  const y = numeric.find(({ key }) => key === place.y) ?? firstY;
  const isXLogarithmic = useLogarithmic(points, x, place.xScale);
  const isYLogarithmic = useLogarithmic(points, y, place.yScale);
  const marks = useMemo(
    () => x && y && marksOf(points, { x, y, isXLogarithmic, isYLogarithmic }),
    [points, x, y, isXLogarithmic, isYLogarithmic],
  );
  if (x === undefined || y === undefined || marks === undefined) {
    return (
      <div className="card">
        <Empty icon="chart-scatter" title={words.noPlot}>
          <p>{words.noPlotMore}</p>
        </Empty>
      </div>
    );
  }
  return (
    <div className="card part">
      <div className="study-axes">
        <AxisChoice
          label={words.across}
          column={x}
          columns={numeric}
          isLogarithmic={isXLogarithmic}
          onColumn={(key) => change({ x: key, xScale: undefined })}
          onScale={(xScale) => change({ xScale })}
        />
        <AxisChoice
          label={words.up}
          column={y}
          columns={numeric}
          isLogarithmic={isYLogarithmic}
          onColumn={(key) => change({ y: key, yScale: undefined })}
          onScale={(yScale) => change({ yScale })}
        />
      </div>
      <Scatter
        marks={marks.marks}
        columns={columns}
        x={{ column: x, isLogarithmic: isXLogarithmic }}
        y={{ column: y, isLogarithmic: isYLogarithmic }}
      />
      <PlotNotes marks={marks} />
    </div>
  );
}

/** Whether the axis of a column is logarithmic, by choice or else by its numbers. */
function useLogarithmic(
  points: readonly StudyPoint[],
  column: Column | undefined,
  chosen: ScaleChoice,
): boolean {
  const isUsual = useMemo(() => {
    if (column === undefined) return false;
    const ended = points.filter(({ outcome }) => outcome !== undefined);
    return isLogarithmicAtFirst(ended.flatMap((point) => numberIn(column, point) ?? []));
  }, [points, column]);
  return chosen === undefined ? isUsual : chosen === 'log';
}

interface AxisChoiceProps {
  readonly label: string;
  readonly column: Column;
  readonly columns: readonly Column[];
  readonly isLogarithmic: boolean;
  readonly onColumn: (key: string) => void;
  readonly onScale: (choice: ScaleChoice) => void;
}

/** Column and scale of an axis. */
function AxisChoice({ label, column, columns, isLogarithmic, onColumn, onScale }: AxisChoiceProps) {
  const words = useWords<typeof en>({ en, de });
  return (
    <div className="study-axis-choice">
      <ChoiceChip
        label={label}
        value={column.key}
        options={columns.map(({ key, name }) => [key, name] as const)}
        onChange={onColumn}
      />
      <label className="check">
        <input
          type="checkbox"
          aria-label={`${label}: ${words.logarithmic}`}
          checked={isLogarithmic}
          onChange={({ target: { checked } }) => onScale(checked ? 'log' : 'linear')}
        />
        {words.logarithmic}
      </label>
    </div>
  );
}

/** Points at the edge and points without a place, in words. */
function PlotNotes({ marks: { marks, edgeCount, leftOut } }: { readonly marks: Marks }) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  return (
    <p className="faint" role="status">
      {words.plotted(numberText(marks.length, language))}
      {edgeCount > 0 && ` ${words.atEdge(numberText(edgeCount, language))}`}
      {leftOut > 0 && ` ${words.leftOut(numberText(leftOut, language))}`}
    </p>
  );
}
