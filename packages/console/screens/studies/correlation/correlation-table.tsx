import type { StudyPoint } from '@workbench-hub/client';
import { type CSSProperties, useMemo } from 'react';
import { usePreferences } from '../../../base/preference-store.js';
import { ChoiceChip } from '../../../design/choice.js';
import { Empty } from '../../../design/states.js';
import { useWords } from '../../../words/dictionary.js';
import { numberText } from '../../../words/formats.js';
import { ColumnChoice, useChosenColumns } from '../column-choice.js';
import { type Column, hasResult } from '../points.js';
import { useStudyPlace } from '../use-study-place.js';
import { de } from '../words-de.js';
import { en } from '../words-en.js';
import { type Correlation, correlationsOf, LEAST_POINTS } from './correlations.js';

const MAX_COLUMNS = 12;

interface CorrelationTableProps {
  readonly points: readonly StudyPoint[];
  readonly columns: readonly Column[];
}

/** Correlations of the variables and values that the reader chooses, over the points that finished. */
export function CorrelationTable({ points, columns }: CorrelationTableProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const [{ correlation }, change] = useStudyPlace();
  const shown = useChosenColumns(columns, MAX_COLUMNS);
  const keys = shown.map(({ key }) => key).join(' ');
  const matrix = useMemo(
    () => correlationsOf(points, shown, correlation),
    [points, columns, keys, correlation],
  );
  const finished = points.filter(hasResult).length;
  if (shown.length < 2 || finished < LEAST_POINTS) {
    return (
      <div className="card">
        <Empty icon="grid-3x3" title={words.noCorrelation}>
          <p>{shown.length < 2 ? words.noPairMore : words.tooFew(numberText(LEAST_POINTS, language))}</p>
        </Empty>
      </div>
    );
  }
  return (
    <div className="card part">
      <div className="study-axes">
        <ChoiceChip
          label={words.coefficient}
          value={correlation}
          options={[
            ['pearson', words.pearson],
            ['spearman', words.spearman],
          ]}
          onChange={(kind) => change({ correlation: kind })}
        />
      </div>
      <ColumnChoice columns={columns} shown={shown} most={MAX_COLUMNS} />
      <div className="study-compared-scroller" tabIndex={0} role="group" aria-label={words.correlation}>
        <Matrix columns={shown} matrix={matrix} />
      </div>
      <p className="faint">{words.correlationMore(numberText(finished, language))}</p>
    </div>
  );
}

interface MatrixProps {
  readonly columns: readonly Column[];
  readonly matrix: readonly (readonly Correlation[])[];
}

function Matrix({ columns, matrix }: MatrixProps) {
  const words = useWords<typeof en>({ en, de });
  return (
    <table className="plain-table study-matrix">
      <thead>
        <tr>
          <th scope="col">
            <span className="visually-hidden">{words.correlation}</span>
          </th>
          {columns.map(({ key, name }) => (
            <th key={key} scope="col" title={name}>
              <span className="study-matrix-name">{name}</span>
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {columns.map((column, row) => (
          <tr key={column.key}>
            <th scope="row">{column.name}</th>
            {columns.map(({ key }, at) => (
              <Cell key={key} correlation={matrix[row]?.[at]} />
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** A correlation as number and color. */
function Cell({ correlation }: { readonly correlation: Correlation | undefined }) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const { value, count = 0 } = correlation ?? {};
  const title = words.pairs(numberText(count, language));
  if (value === undefined) {
    return (
      <td className="faint" title={`${words.noCorrelation}, ${title}`}>
        –
      </td>
    );
  }
  const text = new Intl.NumberFormat(language, { minimumFractionDigits: 2, maximumFractionDigits: 2 });
  const style = { '--share': `${Math.round(Math.abs(value) * 45)}%` } as CSSProperties;
  return (
    <td className={value < 0 ? 'study-apart' : 'study-together'} style={style} title={title}>
      {text.format(value)}
    </td>
  );
}
