import type { StudyPoint } from '@workbench-hub/client';
import { useMemo } from 'react';
import { usePreferences } from '../../base/preference-store.js';
import { Empty } from '../../design/states.js';
import { Icon } from '../../icons/icon.js';
import { useWords } from '../../words/dictionary.js';
import { numberText } from '../../words/formats.js';
import { OutcomeBadge, outcomeClass } from './outcome-badge.js';
import { PointTable } from './point-table.js';
import { type Column, filtered, POINT_STATES, type PointState, sorted, stateOf } from './points.js';
import { useStudyPlace } from './use-study-place.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

interface PointListProps {
  readonly points: readonly StudyPoint[];
  readonly columns: readonly Column[];
}

/** Points that have begun, by a filter and in an order that are in the address. */
export function PointList({ points, columns }: PointListProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ states, failure, order, chosen }, change] = useStudyPlace();
  const rows = useMemo(
    () => sorted(filtered(points, { states, failure }), columns, order),
    [points, columns, states, failure, order],
  );
  if (points.length === 0) {
    return (
      <div className="card">
        <Empty icon="clock" title={words.noPoints}>
          <p>{words.noPointsMore}</p>
        </Empty>
      </div>
    );
  }
  return (
    <>
      <StateFilter points={points} chosen={states} onChange={(wanted) => change({ states: wanted })} />
      {failure && (
        <p className="notice study-failure-filter">
          <Icon name="info" />
          <span>{words.onlyFailure(words.outcomes[failure.outcome], failure.reason || words.noMessage)}</span>
          <button type="button" className="button plain" onClick={() => change({ failure: undefined })}>
            <Icon name="x" />
            {words.allPoints}
          </button>
        </p>
      )}
      {rows.length === 0 ? (
        <div className="card">
          <Empty icon="search" title={words.noneMatch}>
            <p>{words.noneMatchMore}</p>
          </Empty>
        </div>
      ) : (
        <PointTable
          points={rows}
          columns={columns}
          chosen={chosen}
          onChoose={(wanted) => change({ chosen: wanted })}
          order={order}
          onOrder={(wanted) => change({ order: wanted })}
        />
      )}
    </>
  );
}

interface StateFilterProps {
  readonly points: readonly StudyPoint[];
  readonly chosen: readonly PointState[];
  readonly onChange: (chosen: readonly PointState[]) => void;
}

/** Number of points by outcome; a press shows only those, or adds them to others that are shown. */
function StateFilter({ points, chosen, onChange }: StateFilterProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const counts = useMemo(() => {
    const all = new Map<PointState, number>();
    for (const point of points) all.set(stateOf(point), (all.get(stateOf(point)) ?? 0) + 1);
    return all;
  }, [points]);
  const toggled = (state: PointState) =>
    chosen.includes(state)
      ? chosen.filter((each) => each !== state)
      : POINT_STATES.filter((each) => each === state || chosen.includes(each));
  return (
    <div className="pills study-states" role="group" aria-label={words.outcome}>
      <button type="button" className="pill" aria-pressed={chosen.length === 0} onClick={() => onChange([])}>
        {words.all}
        <strong className="numbers">{numberText(points.length, language)}</strong>
      </button>
      {POINT_STATES.filter((state) => counts.has(state) || chosen.includes(state)).map((state) => (
        <button
          key={state}
          type="button"
          className={`pill ${outcomeClass(state)}`}
          aria-pressed={chosen.includes(state)}
          onClick={() => onChange(toggled(state))}
        >
          <OutcomeBadge state={state} />
          <strong className="numbers">{numberText(counts.get(state) ?? 0, language)}</strong>
        </button>
      ))}
    </div>
  );
}
