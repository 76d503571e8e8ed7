/** Texts of a task as lists search them: each in a column with the name of its field. */

import type { Task } from '../../core/task.js';
import { comparedText, SEARCHED_TEXTS, type SearchedField } from '../../core/task-filter.js';
import { searchable } from './searchable-text.js';

export type SearchedTask = Pick<Task, SearchedField>;

export const SEARCHED_COLUMNS = SEARCHED_TEXTS.map(({ field }) => ({
  column: field,
  textOf: (task: SearchedTask): string | null => {
    const text = task[field];
    return text === null ? null : searchable(comparedText(field, text));
  },
}));
