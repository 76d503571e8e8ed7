import { useVirtualizer } from '@tanstack/react-virtual';
import type { TaskItem } from '@workbench-hub/client';
import { useEffect, useRef } from 'react';
import { Link } from 'wouter';
import { StatusBadge, statusClass } from '../../design/status.js';
import { TaskReason } from '../../design/task-reason.js';
import { Duration, Time } from '../../design/time.js';
import { useRowKeys } from '../../design/use-row-keys.js';
import { useCommonWords } from '../../words/common.js';
import { useWords } from '../../words/dictionary.js';
import { shortIdOf, useTaskName } from '../../words/task-name.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

const ROW_HEIGHT = 48;
const OVERSCAN = 12;
/** Rows before the end at which older ones are asked for. */
const AHEAD = 60;

interface TaskTableProps {
  readonly rows: readonly TaskItem[];
  readonly total: number;
  readonly hasMore: boolean;
  /** Place in pixels at which the list begins to be shown. */
  readonly initialOffset: number;
  readonly onScroll: (offset: number) => void;
  /** Called with the index of the last row on the screen. */
  readonly onShow: (lastIndex: number) => void;
  /** Called when the reader comes near the last row. */
  readonly onEnd: () => void;
}

/** Rows of tasks, of which only the visible ones are in the page. */
export function TaskTable({ rows, total, hasMore, initialOffset, onScroll, onShow, onEnd }: TaskTableProps) {
  const words = useWords<typeof en>({ en, de });
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: OVERSCAN,
    initialOffset,
    getItemKey: (index) => rows[index]?.id ?? index,
  });
  const shown = virtual.getVirtualItems();
  const last = shown.at(-1)?.index ?? 0;
  useEffect(() => onShow(last), [last]);
  const isNearEnd = last >= rows.length - AHEAD;
  useEffect(() => {
    if (isNearEnd && hasMore) onEnd();
  }, [isNearEnd, hasMore, rows.length]);
  const move = useRowKeys(scroller, rows.length, (index) => virtual.scrollToIndex(index));
  return (
    <div
      className="task-table"
      role="table"
      aria-label={words.list}
      aria-rowcount={total + 1}
      onKeyDown={move}
    >
      <div className="task-row heading" role="row" aria-rowindex={1}>
        {Object.entries(words.columns).map(([column, label]) => (
          <span key={column} className={column} role="columnheader">
            {label}
          </span>
        ))}
      </div>
      <div
        className="task-scroller"
        ref={scroller}
        role="rowgroup"
        onScroll={({ currentTarget }) => onScroll(currentTarget.scrollTop)}
      >
        <div className="task-space" style={{ height: virtual.getTotalSize() }} role="presentation">
          {shown.map(({ index, start, key }) => {
            const task = rows[index];
            return (
              task && (
                <div
                  key={key}
                  className={`task-row ${statusClass(task.status)}`}
                  role="row"
                  aria-rowindex={index + 2}
                  data-index={index}
                  style={{ transform: `translateY(${start}px)` }}
                >
                  <TaskCells task={task} />
                </div>
              )
            );
          })}
        </div>
      </div>
    </div>
  );
}

function TaskCells({ task }: { readonly task: TaskItem }) {
  const common = useCommonWords();
  const nameOf = useTaskName();
  const { id, status, message, classifiers, priority, instance, creator, note, requestedAt, startedAt } =
    task;
  const wants = classifiers.filter(({ type }) => type !== 'PRIORITY');
  return (
    <>
      <span role="cell" className="status-cell">
        <StatusBadge status={status} />
      </span>
      <span role="cell" className="task">
        <Link href={`/tasks/${id}`} className="name">
          {nameOf(task)}
        </Link>
        <span className="under">
          <span className="mono">{shortIdOf(id)}</span>
          {creator !== undefined && <span>{creator}</span>}
          {note && (
            <span className="note" title={note}>
              {note}
            </span>
          )}
          {message !== undefined && (
            <span className="message">
              <TaskReason task={task} />
            </span>
          )}
        </span>
      </span>
      <span role="cell" className="wants">
        {wants.map(({ type, value }) => (
          <span key={type} className={`tag ${type === 'VERSION' ? 'of-version' : ''}`} title={value}>
            {value}
          </span>
        ))}
        {priority !== 'NORMAL' && <span className="tag of-priority">{common.priority[priority]}</span>}
      </span>
      <span role="cell" className="where">
        {instance && (
          <>
            <span>{instance.id}</span>
            <span className="under">{instance.agentId ?? ''}</span>
          </>
        )}
      </span>
      <span role="cell" className="requested">
        <Time at={requestedAt} />
      </span>
      <span role="cell" className="took">
        <TimeSpent status={status} requestedAt={requestedAt} startedAt={startedAt} endedAt={task.endedAt} />
      </span>
    </>
  );
}

type TimeSpentProps = Pick<TaskItem, 'status' | 'requestedAt' | 'startedAt' | 'endedAt'>;

/** Time of the run; of the wait, before it. */
function TimeSpent({ status, requestedAt, startedAt, endedAt }: TimeSpentProps) {
  const words = useWords<typeof en>({ en, de });
  if (startedAt !== undefined) return <Duration from={startedAt} to={endedAt} />;
  if (status !== 'WAITING') return null;
  return (
    <span className="faint">
      {words.waits} <Duration from={requestedAt} />
    </span>
  );
}
