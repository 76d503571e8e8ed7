import { usePreferences } from '../../base/preference-store.js';
import type { TaskStatus } from '../../data/task-rows.js';
import { StatusBadge, statusClass } from '../../design/status.js';
import { useWords } from '../../words/dictionary.js';
import { numberText } from '../../words/formats.js';
import { type Filters, STATUSES } from './filters.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

interface StatusTabsProps {
  readonly filters: Filters;
  /** By status; undefined before the first response. */
  readonly counts: Readonly<Record<TaskStatus, number>> | undefined;
  readonly onChange: (change: Partial<Filters>) => void;
}

/** Number of tasks of each status; a press shows only those, or adds them to others that are shown. */
export function StatusTabs({ filters, counts, onChange }: StatusTabsProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const sum = counts && Object.values(counts).reduce((all, count) => all + count, 0);
  const toggled = (status: TaskStatus) =>
    filters.status.includes(status)
      ? filters.status.filter((each) => each !== status)
      : STATUSES.filter((each) => each === status || filters.status.includes(each));
  return (
    <div className="pills">
      <button
        type="button"
        className="pill"
        aria-pressed={filters.status.length === 0}
        onClick={() => onChange({ status: [] })}
      >
        {words.all}
        <strong className="numbers">{sum === undefined ? '–' : numberText(sum, language)}</strong>
      </button>
      {STATUSES.map((status) => (
        <button
          key={status}
          type="button"
          className={`pill ${statusClass(status)}`}
          aria-pressed={filters.status.includes(status)}
          onClick={() => onChange({ status: toggled(status) })}
        >
          <StatusBadge status={status} isPlain />
          <strong className="numbers">{counts ? numberText(counts[status], language) : '–'}</strong>
        </button>
      ))}
    </div>
  );
}
