/** SQL functions of a connection that migrates: they write texts as lists search them. */
import type Database from 'better-sqlite3';
import { foldedName } from '../../../core/task-filter.js';
import { searchable } from '../../rows/searchable-text.js';

export function addTextFunctions(db: Database.Database): void {
  const ofText = (map: (text: string) => string) => (text: unknown) =>
    typeof text === 'string' ? map(text) : null;
  db.function('searchable', { deterministic: true }, ofText(searchable));
  db.function('folded', { deterministic: true }, ofText(foldedName));
}
