/** The row of a task in the table of texts that lists search. */

import type { Task } from '../../../core/task.js';
import type { SearchedField } from '../../../core/task-filter.js';
import { LONG_SEARCHED_COLUMNS, SEARCHED_COLUMNS, type SearchedColumn } from '../../rows/searched-texts.js';
import { lastingKindOf } from '../../rows/task-kinds.js';

/** Columns of the row beside the number of the task and the time of its request. */
export const TASK_TEXT_COLUMNS: readonly {
  readonly column: string;
  readonly type: 'text' | 'smallint';
  readonly valueIn: (
    task: Pick<Task, SearchedField | 'type' | 'priority' | 'study'>,
  ) => string | number | null;
}[] = [
  {
    column: 'lasting_kind',
    type: 'smallint',
    valueIn: ({ type, priority }) => lastingKindOf(type, priority),
  },
  { column: 'study_id', type: 'text', valueIn: ({ study }) => study?.id ?? null },
  ...SEARCHED_COLUMNS.map(textColumn),
];

/** Columns of tables of their own. */
export const LONG_TEXT_COLUMNS = LONG_SEARCHED_COLUMNS.map(textColumn);

function textColumn({ column, searched }: SearchedColumn) {
  return {
    column,
    type: 'text' as const,
    valueIn: (task: Pick<Task, SearchedField>): string | null => {
      const text = task[column];
      return text === null ? null : searched(text);
    },
  };
}
