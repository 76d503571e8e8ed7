/** The columns of all tasks with their text search: what a thread of lists works with. */

import type { TaskStatus } from '@workbench-hub/shared/domain/task';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import type { ColumnsFilter, ColumnsRow, FilterSearch, Places, Selection, TaskState } from './rows.js';
import { SearchThread } from './search-helper.js';
import type { TextFilter } from './segment-texts.js';
import { select } from './selection.js';
import { SharedTexts } from './shared-texts.js';
import { TaskColumns } from './task-columns.js';

export interface ListColumnsOptions {
  /** Maximum number of search threads in addition to the calling one. */
  readonly helpers: number;
  readonly clock: Clock;
}

export class ListColumns {
  readonly #texts: SharedTexts;
  readonly #columns: TaskColumns;

  constructor({ helpers, clock }: ListColumnsOptions) {
    this.#texts = new SharedTexts({ helpers, startHelper: () => new SearchThread(), clock });
    this.#columns = new TaskColumns(this.#texts);
  }

  /** Highest `seq` ever added. */
  get lastSeq(): number {
    return this.#columns.lastSeq;
  }

  /** Adds a task; its `seq` is above {@link lastSeq}. */
  add(row: ColumnsRow): void {
    this.#columns.add(row);
  }

  /** Updates a task; `state` is undefined when it was removed. True when that was a change. */
  update(seq: number, state: TaskState | undefined): boolean {
    return this.#columns.update(seq, state);
  }

  /** A search by a text filter, with the results that are still known. */
  searchBy(filter: TextFilter): FilterSearch {
    return this.#texts.searchBy(filter);
  }

  /** Searches for one turn of some milliseconds. False when nothing was left to search. */
  async searchForOneTurn(filter: ColumnsFilter): Promise<boolean> {
    const { search } = filter;
    if (!search) return false;
    const unsearched = this.#columns.unsearched(filter);
    if (unsearched.length === 0) return this.#columns.searchGrowing(search);
    await this.#texts.goOn(search, unsearched);
    return true;
  }

  /** True when {@link select} can answer: no segment that may match is unsearched. */
  isSearched(filter: ColumnsFilter): boolean {
    return this.#columns.unsearched(filter).length === 0;
  }

  /** Counts the matching tasks and selects those in some places of the order. */
  select(filter: ColumnsFilter, places: Places): Selection {
    return select(this.#columns, filter, places);
  }

  /** Number of the matching tasks of each status, whatever statuses the filter wants; to be called when the filter without
   *  statuses {@link isSearched}. */
  countsByStatus(filter: ColumnsFilter): Record<TaskStatus, number> {
    return this.#columns.countsByStatus(filter);
  }
}
