/** Texts of a task as lists search them: each in a column with the name of its field. */
import { comparedText, SEARCHED_TEXTS, type SearchedField } from '../../core/task-filter.js';
import { searchable } from './searchable-text.js';

export interface SearchedColumn {
  readonly column: SearchedField;
  readonly searched: (text: string) => string;
}

/** Columns of the narrow rows that lists read. */
export const SEARCHED_COLUMNS: readonly SearchedColumn[] = columnsOf(false);

/** Columns with a table of their own, in which only tasks with such a text have a row. */
export const LONG_SEARCHED_COLUMNS: readonly SearchedColumn[] = columnsOf(true);

function columnsOf(long: boolean): readonly SearchedColumn[] {
  return SEARCHED_TEXTS.filter(({ isLong }) => isLong === long).map(({ field }) => ({
    column: field,
    searched: (text) => searchable(comparedText(field, text)),
  }));
}
