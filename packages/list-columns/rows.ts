/** Rows, filters and selections of the columns. */
import type { Priority } from '@workbench-hub/shared/domain/priority';
import type { TaskStatus, TaskType } from '@workbench-hub/shared/domain/task';
import type { RowBits, TextFilter } from './segment-texts.js';

/** Type, status and priority of a task. */
export interface TaskKind {
  readonly type: TaskType;
  readonly status: TaskStatus;
  /** Priority rank: 0 is the highest. */
  readonly priority: number;
}

/** Fields of a task that may change. */
export interface TaskState extends TaskKind {
  /** Instance of its latest attempt; null for none. */
  readonly instanceId: string | null;
}

export interface ColumnsRow extends TaskState {
  readonly seq: number;
  /** Time of its request, in milliseconds since 1970. */
  readonly requestedAtMs: number;
  readonly id: string;
  readonly name: string | null;
  readonly creator: string | null;
}

/** A text filter with the matching rows of the segments searched so far. */
export interface FilterSearch {
  readonly filter: TextFilter;
  readonly found: Map<number, RowBits>;
  /** Matches in the first rows of the growing segment. */
  growing?: { readonly segment: number; readonly rows: number; readonly bits: RowBits };
}

export interface ColumnsFilter {
  /** Undefined when there is no text filter. */
  readonly search?: FilterSearch | undefined;
  readonly type?: TaskType | undefined;
  readonly priority?: Priority | undefined;
  readonly statuses: readonly TaskStatus[];
  /** Any of these instances; undefined for all. */
  readonly instanceIds?: readonly string[] | undefined;
  readonly requestedFromMs?: number | undefined;
  /** Excluded. */
  readonly requestedBeforeMs?: number | undefined;
}

/** Number of all matching tasks, and those in the wanted places. */
export interface Selection {
  readonly count: number;
  readonly seqs: readonly number[];
}

export interface Places {
  readonly order: 'OLDEST_FIRST' | 'NEWEST_FIRST';
  /** Counted from 0. */
  readonly from: number;
  /** Excluded. */
  readonly to: number;
  /** Only tasks with a lower `seq` are in places, though all are counted; for NEWEST_FIRST. */
  readonly below?: number | undefined;
}
