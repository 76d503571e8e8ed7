import { useVirtualizer } from '@tanstack/react-virtual';
import type { StudyPoint } from '@workbench-hub/client';
import { type CSSProperties, memo, useRef } from 'react';
import { Link } from 'wouter';
import { usePreferences } from '../../base/preference-store.js';
import { HubWords } from '../../design/hub-words.js';
import { useRowKeys } from '../../design/use-row-keys.js';
import { Icon } from '../../icons/icon.js';
import { useWords } from '../../words/dictionary.js';
import { OutcomeBadge } from './outcome-badge.js';
import { MAX_CHOSEN } from './place.js';
import { type Column, type Order, stateOf } from './points.js';
import { headingOf, valueText } from './value-text.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

const ROW_HEIGHT = 34;
const OVERSCAN = 12;

interface PointTableProps {
  readonly points: readonly StudyPoint[];
  readonly columns: readonly Column[];
  /** Numbers of the points that are compared. */
  readonly chosen: readonly number[];
  readonly onChoose: (chosen: readonly number[]) => void;
  readonly order: Order;
  readonly onOrder: (order: Order) => void;
}

/** Points of a study, of which only the visible ones are in the page. */
export function PointTable({ points, columns, chosen, onChoose, order, onOrder }: PointTableProps) {
  const words = useWords<typeof en>({ en, de });
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: points.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: OVERSCAN,
    getItemKey: (index) => points[index]?.number ?? index,
  });
  const move = useRowKeys(scroller, points.length, (index) => virtual.scrollToIndex(index));
  const style = { '--columns': columns.length } as CSSProperties;
  const heading = (key: string, label: string, className = '') => (
    <Heading key={key} className={className} label={label} of={key} order={order} onOrder={onOrder} />
  );
  return (
    <div className="card study-scroller" ref={scroller}>
      <div
        className="study-table"
        role="table"
        aria-label={words.points}
        aria-rowcount={points.length + 1}
        style={style}
        onKeyDown={move}
      >
        <div className="study-head" role="rowgroup">
          <div className="study-row" role="row" aria-rowindex={1}>
            <span role="columnheader">
              <span className="visually-hidden">{words.compare}</span>
            </span>
            {heading('number', '#', 'study-number')}
            {columns.map((column) =>
              heading(column.key, headingOf(column), column.isNumeric ? 'study-number' : ''),
            )}
            {heading('outcome', words.outcome)}
            {heading('message', words.message)}
          </div>
        </div>
        <div className="study-space" role="rowgroup" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, start, key }) => {
            const point = points[index];
            return (
              point && (
                <div
                  key={key}
                  className="study-row"
                  role="row"
                  aria-rowindex={index + 2}
                  data-index={index}
                  style={{ transform: `translateY(${start}px)` }}
                >
                  <Choice number={point.number} chosen={chosen} onChoose={onChoose} />
                  <Cells point={point} columns={columns} />
                </div>
              )
            );
          })}
        </div>
      </div>
    </div>
  );
}

interface HeadingProps {
  readonly className: string;
  readonly label: string;
  /** Key of the column. */
  readonly of: string;
  readonly order: Order;
  readonly onOrder: (order: Order) => void;
}

/** Heading of a column that sorts by it, and in the other direction when pressed again. */
function Heading({ className, label, of, order, onOrder }: HeadingProps) {
  const isOrder = order.key === of;
  const direction = order.isDescending ? 'descending' : 'ascending';
  return (
    <span role="columnheader" className={className} aria-sort={isOrder ? direction : 'none'}>
      <button
        type="button"
        className="study-sort"
        title={label}
        // A browser leaves one that is seen in part where it is.
        onFocus={({ currentTarget }) => currentTarget.scrollIntoView({ block: 'nearest', inline: 'nearest' })}
        onClick={() => onOrder({ key: of, isDescending: isOrder && !order.isDescending })}
      >
        <span>{label}</span>
        {isOrder && <Icon name={order.isDescending ? 'arrow-down' : 'arrow-up'} size={12} />}
      </button>
    </span>
  );
}

interface ChoiceProps extends Pick<PointTableProps, 'chosen' | 'onChoose'> {
  /** Number of the point. */
  readonly number: number;
}

/** Whether a point is compared with others. */
function Choice({ number, chosen, onChoose }: ChoiceProps) {
  const words = useWords<typeof en>({ en, de });
  const isChosen = chosen.includes(number);
  return (
    <span role="cell" className="study-choice">
      <label>
        <input
          type="checkbox"
          aria-label={words.comparePoint(String(number))}
          checked={isChosen}
          disabled={!isChosen && chosen.length >= MAX_CHOSEN}
          onChange={() => onChoose(isChosen ? chosen.filter((each) => each !== number) : [...chosen, number])}
        />
      </label>
    </span>
  );
}

interface CellsProps {
  readonly point: StudyPoint;
  readonly columns: readonly Column[];
}

const Cells = memo(function Cells({ point, columns }: CellsProps) {
  const [{ language }] = usePreferences();
  const words = useWords<typeof en>({ en, de });
  const { number, taskId, message, notReused, cause, missing } = point;
  const reasonOf = ({ key, name }: Column) => (key.startsWith('values.') ? missing?.[name] : undefined);
  const reasons = Object.values(missing ?? {});
  const text = message ?? reasons[0] ?? notReused;
  return (
    <>
      <span role="rowheader" className="study-number">
        <Link href={`/tasks/${taskId}`} aria-label={words.point(String(number))} className="study-link">
          {number}
        </Link>
      </span>
      {columns.map((column) => {
        const given = column.of(point);
        return (
          <span
            key={column.key}
            role="cell"
            className={column.isNumeric ? 'study-number' : ''}
            title={given === undefined ? reasonOf(column) : String(given)}
          >
            {valueText(given, language)}
          </span>
        );
      })}
      <span role="cell">
        <OutcomeBadge state={stateOf(point)} />
      </span>
      <span role="cell" className="study-message" title={text}>
        {cause && `${words.causes[cause]}: `}
        {text && <HubWords>{text}</HubWords>}
      </span>
    </>
  );
});
