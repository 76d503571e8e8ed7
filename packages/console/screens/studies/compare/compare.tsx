import type { StudyPoint } from '@workbench-hub/client';
import { useMemo } from 'react';
import { Link } from 'wouter';
import { usePreferences } from '../../../base/preference-store.js';
import { HubWords } from '../../../design/hub-words.js';
import { Empty } from '../../../design/states.js';
import { Icon } from '../../../icons/icon.js';
import { useWords } from '../../../words/dictionary.js';
import { durationText } from '../../../words/formats.js';
import { OutcomeBadge } from '../outcome-badge.js';
import { type Column, POINT_STATES } from '../points.js';
import { useStudyPlace } from '../use-study-place.js';
import { headingOf, valueText } from '../value-text.js';
import { de } from '../words-de.js';
import { en } from '../words-en.js';
import { compared, type Difference } from './differences.js';

interface CompareProps {
  readonly points: readonly StudyPoint[];
  readonly columns: readonly Column[];
}

/** The chosen points side by side, with what differs. */
export function Compare({ points, columns }: CompareProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ chosen }, change] = useStudyPlace();
  const shown = useMemo(() => points.filter(({ number }) => chosen.includes(number)), [points, chosen]);
  const { differences, same } = useMemo(() => compared(shown, columns), [shown, columns]);
  if (shown.length < 2) {
    return (
      <div className="card">
        <Empty icon="columns-2" title={words.chooseTwo}>
          <p>{words.chooseTwoMore}</p>
          <button type="button" className="button" onClick={() => change({ tab: 'points' })}>
            {words.points}
          </button>
        </Empty>
      </div>
    );
  }
  const without = (number: number) => change({ chosen: chosen.filter((each) => each !== number) });
  return (
    <div className="card part">
      <div className="study-compared-scroller" tabIndex={0} role="group" aria-label={words.compare}>
        <table className="plain-table study-compared">
          <thead>
            <tr>
              <th scope="col">{words.differs}</th>
              {shown.map(({ number, taskId }) => (
                <th key={number} scope="col">
                  <span className="study-compared-point">
                    <Link href={`/tasks/${taskId}`}>{words.point(String(number))}</Link>
                    <button
                      type="button"
                      className="button plain only-icon small"
                      aria-label={words.leaveOut(String(number))}
                      onClick={() => without(number)}
                    >
                      <Icon name="x" size={14} />
                    </button>
                  </span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {differences.map((difference) => (
              <Row key={difference.key} difference={difference} numbers={shown.map(({ number }) => number)} />
            ))}
          </tbody>
        </table>
      </div>
      {differences.length === 0 && <p>{words.allSame}</p>}
      {same.length > 0 && <p className="faint study-same">{words.sameOf(same.join(', '))}</p>}
    </div>
  );
}

interface RowProps {
  readonly difference: Difference;
  /** Numbers of the points. */
  readonly numbers: readonly number[];
}

function Row({ difference: { key, column, fields }, numbers }: RowProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const labels: Readonly<Record<string, string>> = {
    outcome: words.outcome,
    message: words.message,
    runTime: words.runTime,
  };
  const shown = (field: number | string | undefined) => {
    const state = key === 'outcome' && POINT_STATES.find((each) => each === field);
    if (state) return <OutcomeBadge state={state} />;
    if (key === 'runTime' && typeof field === 'number') return durationText(field, language);
    if (key === 'message' && typeof field === 'string') return <HubWords>{field}</HubWords>;
    return field === undefined ? <span className="faint">–</span> : valueText(field, language);
  };
  return (
    <tr>
      <th scope="row">{column ? headingOf(column) : labels[key]}</th>
      {fields.map((field, at) => (
        <td key={numbers[at]} title={column && field !== undefined ? String(field) : undefined}>
          {shown(field)}
        </td>
      ))}
    </tr>
  );
}
