import type { StudyDetails, StudyPoint } from '@workbench-hub/client';
import { useMemo } from 'react';
import { Link } from 'wouter';
import { usePreferences } from '../../base/preference-store.js';
import { useWords } from '../../words/dictionary.js';
import { bestOf, columnsOf } from './points.js';
import { useStudyPlace } from './use-study-place.js';
import { valueText } from './value-text.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

interface BestCardProps {
  readonly study: StudyDetails;
  readonly points: readonly StudyPoint[];
}

/** The finished point with the lowest or highest value so far; nothing without a value that is a number. */
export function BestCard({ study, points }: BestCardProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const [{ best: chosen, isMaximum }, change] = useStudyPlace();
  const columns = useMemo(() => columnsOf(study), [study.variables, study.values]);
  const values = columns.filter(({ key, isNumeric }) => isNumeric && key.startsWith('values.'));
  const column = values.find(({ key }) => key === chosen) ?? values[0];
  const best = useMemo(() => column && bestOf(points, column, isMaximum), [points, column?.key, isMaximum]);
  if (column === undefined) return null;
  const variables = columns.filter(({ key }) => key.startsWith('variables.'));
  return (
    <section className="card facts" aria-labelledby="study-best-title">
      <h2 id="study-best-title">{words.best}</h2>
      <div className="study-best-choice">
        <select
          className="input"
          aria-label={words.goal}
          value={isMaximum ? 'max' : 'min'}
          onChange={({ target: { value } }) => change({ isMaximum: value === 'max' })}
        >
          <option value="min">{words.goals.min}</option>
          <option value="max">{words.goals.max}</option>
        </select>
        <select
          className="input"
          aria-label={words.value}
          value={column.key}
          onChange={({ target: { value } }) => change({ best: value })}
        >
          {values.map(({ key, name }) => (
            <option key={key} value={key}>
              {name}
            </option>
          ))}
        </select>
      </div>
      {best === undefined ? (
        <p className="faint">{words.noBest}</p>
      ) : (
        <div className="study-best-point">
          <strong className="numbers" title={String(best.value)}>
            {valueText(best.value, language)} {column.unit}
          </strong>
          <Link href={`/tasks/${best.point.taskId}`}>{words.point(String(best.point.number))}</Link>
          <span className="under study-best-at">
            {variables.map((each) => `${each.name} = ${valueText(each.of(best.point), language)}`).join(', ')}
          </span>
        </div>
      )}
    </section>
  );
}
