/** Texts of a task as lists search them: each in a column with the name of its field. */
import { comparedText, SEARCHED_TEXTS } from '../../core/task-filter.js';
import { searchable } from './searchable-text.js';

export const SEARCHED_COLUMNS = SEARCHED_TEXTS.map(({ field }) => ({
  column: field,
  searched: (text: string): string => searchable(comparedText(field, text)),
}));
