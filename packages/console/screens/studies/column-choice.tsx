import { useWords } from '../../words/dictionary.js';
import type { Column } from './points.js';
import { useStudyPlace } from './use-study-place.js';
import { headingOf } from './value-text.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

/** Numeric columns that the reader has chosen, or the first ones, at most so many. */
export function useChosenColumns(columns: readonly Column[], most: number): readonly Column[] {
  const [{ axes }] = useStudyPlace();
  const numeric = columns.filter(({ isNumeric }) => isNumeric);
  const chosen = numeric.filter(({ key }) => axes.includes(key));
  return (chosen.length > 0 ? chosen : numeric).slice(0, most);
}

interface ColumnChoiceProps {
  readonly columns: readonly Column[];
  readonly shown: readonly Column[];
  readonly most: number;
}

/** Switches of the numeric columns. */
export function ColumnChoice({ columns, shown, most }: ColumnChoiceProps) {
  const words = useWords<typeof en>({ en, de });
  const [, change] = useStudyPlace();
  const numeric = columns.filter(({ isNumeric }) => isNumeric);
  const keys = shown.map(({ key }) => key);
  const toggle = (key: string) =>
    change({ axes: keys.includes(key) ? keys.filter((each) => each !== key) : [...keys, key] });
  return (
    <div className="study-columns" role="group" aria-label={words.shownColumns}>
      {numeric.map((column) => {
        const isShown = keys.includes(column.key);
        return (
          <button
            key={column.key}
            type="button"
            className="pill"
            aria-pressed={isShown}
            disabled={isShown ? keys.length <= 2 : keys.length >= most}
            onClick={() => toggle(column.key)}
          >
            {headingOf(column)}
          </button>
        );
      })}
    </div>
  );
}
