import { lazy, Suspense } from 'react';
import { usePreferences } from '../../../base/preference-store.js';
import { Failure, Loading } from '../../../design/states.js';
import { useWords } from '../../../words/dictionary.js';
import { numberText } from '../../../words/formats.js';
import { usePlace } from '../use-place.js';
import type { PreviewedFile } from './previewed-file.js';
import { useValues } from './use-values.js';
import { ValueGrid } from './value-grid.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

/** With the library for charts. */
const Plot = lazy(async () => ({ default: (await import('./plot.js')).Plot }));

/** Separated values as a table, and as a plot of columns to choose. */
export function Values({ file }: { readonly file: PreviewedFile }) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const { table, version, isComplete, error, again } = useValues(file);
  const [{ isPlot }, change] = usePlace();
  const setPlot = (wanted: boolean) => change({ isPlot: wanted });
  const count = numberText(table.rowCount, language);
  if (error && table.rowCount === 0) return <Failure error={error} onAgain={again} />;
  if (table.names.length === 0) {
    return isComplete ? <p className="faint">{words.noRows}</p> : <Loading lines={4} />;
  }
  return (
    <>
      <div className="values-bar">
        <div className="segments" role="group" aria-label={words.view}>
          <button type="button" aria-pressed={!isPlot} onClick={() => setPlot(false)}>
            {words.table}
          </button>
          <button type="button" aria-pressed={isPlot} onClick={() => setPlot(true)}>
            {words.plot}
          </button>
        </div>
        <span className="faint numbers" role="status">
          {isComplete ? words.rows(count) : words.reading(count)}
        </span>
      </div>
      {table.rowCount === 0 && isComplete && <p className="faint">{words.noRows}</p>}
      {table.rowCount > 0 && !isPlot && <ValueGrid table={table} label={file.name} />}
      {table.rowCount > 0 && isPlot && (
        <Suspense fallback={<Loading lines={6} />}>
          <Plot table={table} version={version} isComplete={isComplete} />
        </Suspense>
      )}
      {table.isCut && <p className="faint">{words.cutRows(count)}</p>}
      {table.hiddenColumns > 0 && (
        <p className="faint">{words.cutColumns(numberText(table.hiddenColumns, language))}</p>
      )}
      {error && <Failure error={error} onAgain={again} />}
    </>
  );
}
