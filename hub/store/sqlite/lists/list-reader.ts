/**
 * Answers list queries from the table `listed_task`. A list counts its matches chunk by chunk, the newest first, and reads the
 * matches of those chunks alone that its page is in. The counts are kept: the next list by the same filter counts the chunks that have
 * changed since.
 */
import { PRIORITIES } from '@workbench-hub/shared/domain/priority';
import { TASK_STATUSES, type TaskStatus } from '@workbench-hub/shared/domain/task';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { STATUS_NUMBERS } from '../../rows/task-kinds.js';
import type { SqliteDatabase } from '../connection/database.js';
import { boundsOf, CountedChunks, type Counts, chunkOf } from './chunks.js';
import { addWildcardFunction } from './filter-condition.js';
import { type Grouping, LIST_STATEMENTS, type Matches, matchesOf } from './list-statements.js';
import type { ChangedChunks, ListPage, ListQuery } from './thread-messages.js';

/** Time after which a list lets others go on. */
const TURN_MS = 40;

/** A list in progress. */
export interface ListInProgress {
  readonly query: ListQuery;
  /** All matches; of a window, whatever their status. */
  readonly matches: Matches;
  /** Matches of the wanted statuses; only of a window. */
  readonly wanted: Matches | undefined;
  readonly counts: Map<number, Counts>;
  /** Chunks that have been looked at, the newest first. */
  readonly chunks: number[];
  /** Only tasks up to this `seq` are left to look at; undefined when none is. */
  upTo: number | undefined;
}

/** Some matches of a list in their order: those of a chunk, or of one group of it. */
interface Section {
  readonly chunk: number;
  readonly group: number | undefined;
}

export class ListReader {
  readonly #db: SqliteDatabase;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #counted = new CountedChunks();
  readonly #newest;
  readonly #rowsOf;
  readonly #byStart;

  constructor(db: SqliteDatabase, clock: Pick<Clock, 'monotonicMs'>) {
    this.#db = db;
    this.#clock = clock;
    addWildcardFunction(db);
    this.#newest = db.prepare<[number], number>(LIST_STATEMENTS.newest).pluck();
    this.#rowsOf = db.prepare<[string], string>(LIST_STATEMENTS.rows).pluck();
    this.#byStart = db.prepare<[string, number, number], number>(LIST_STATEMENTS.byStart).pluck();
  }

  /** Forgets what was counted in changed chunks. */
  forget(changed: ChangedChunks): void {
    if (changed === 'MANY') this.#counted.forgetAll();
    else this.#counted.forget(changed);
  }

  begin(query: ListQuery): ListInProgress {
    const isWindow = query.below !== undefined;
    const matches = matchesOf(this.#db, isWindow ? { ...query, statuses: [] } : query, groupingOf(query));
    return {
      query,
      matches,
      wanted: isWindow ? matchesOf(this.#db, query, 'NONE') : undefined,
      counts: this.#counted.of(matches.name),
      chunks: [],
      upTo: Number.MAX_SAFE_INTEGER,
    };
  }

  /** Works on a list for one turn; returns its page when all chunks are counted. */
  goOn(list: ListInProgress): ListPage | undefined {
    const until = this.#clock.monotonicMs() + TURN_MS;
    return this.#db.transaction(() => {
      const isComplete = this.#count(list, until);
      return isComplete ? this.#page(list) : undefined;
    })();
  }

  /** False when the turn ended before all chunks were counted. */
  #count(list: ListInProgress, untilMs: number): boolean {
    while (list.upTo !== undefined) {
      const seq = this.#newest.get(list.upTo);
      if (seq === undefined) {
        list.upTo = undefined;
        continue;
      }
      const chunk = chunkOf(seq);
      if (!list.counts.has(chunk)) {
        if (this.#clock.monotonicMs() > untilMs) return false;
        list.counts.set(chunk, list.matches.count(chunk));
      }
      list.chunks.push(chunk);
      list.upTo = boundsOf(chunk)[0] - 1;
    }
    return true;
  }

  /** The page, from one state of the database. */
  #page(list: ListInProgress): ListPage {
    const { page, size, below, order } = list.query;
    if (below !== undefined) return this.#window(list, below);
    if (order === 'LONGEST_RUNNING_FIRST') return this.#longestRunning(list);
    const seqs = seqsOfPage(list, sectionsOf(list), page * size, size);
    return { rows: this.#rows(seqs), totalElements: totalOf(list) };
  }

  #longestRunning(list: ListInProgress): ListPage {
    const { page, size } = list.query;
    const all = list.chunks.flatMap((chunk) =>
      sum(countsIn(list, chunk)) === 0 ? [] : list.matches.seqs(chunk),
    );
    const seqs = this.#byStart.all(JSON.stringify(all), size, page * size);
    return { rows: this.#rows(seqs), totalElements: all.length };
  }

  #window(list: ListInProgress, below: number): ListPage {
    const { size } = list.query;
    // One more tells whether there are more.
    const found = seqsOfWindow(list, below, size + 1);
    const shown = found.slice(0, size);
    const next = found.length > size ? (shown.at(-1) ?? null) : null;
    const counts = Object.fromEntries(TASK_STATUSES.map((status) => [status, ofStatus(list, status)]));
    return {
      rows: this.#rows(shown),
      totalElements: totalOf(list),
      window: { next, counts: counts as Record<TaskStatus, number> },
    };
  }

  #rows(seqs: readonly number[]): string {
    return this.#rowsOf.get(JSON.stringify(seqs)) ?? '[]';
  }
}

function groupingOf({ below, order }: ListQuery): Grouping {
  if (below !== undefined) return 'BY_STATUS';
  return order === 'NEXT_TO_RUN_FIRST' ? 'BY_PRIORITY' : 'NONE';
}

/** What has changed since it was counted is counted again. */
function countsIn({ counts, matches }: ListInProgress, chunk: number): Counts {
  const known = counts.get(chunk);
  if (known) return known;
  const counted = matches.count(chunk);
  counts.set(chunk, counted);
  return counted;
}

function totalOf(list: ListInProgress): number {
  return sum(list.chunks.map((chunk) => sum(countsIn(list, chunk))));
}

function ofStatus(list: ListInProgress, status: TaskStatus): number {
  return sum(list.chunks.map((chunk) => countsIn(list, chunk)[STATUS_NUMBERS[status]] ?? 0));
}

/** Sections in the order of the list. */
function sectionsOf({ query, chunks }: ListInProgress): readonly Section[] {
  if (query.order !== 'NEXT_TO_RUN_FIRST') return chunks.map((chunk) => ({ chunk, group: undefined }));
  const oldestFirst = chunks.toReversed();
  return PRIORITIES.flatMap((_, group) => oldestFirst.map((chunk) => ({ chunk, group })));
}

function seqsOfPage(
  list: ListInProgress,
  sections: readonly Section[],
  from: number,
  size: number,
): number[] {
  const isNewestFirst = list.query.order !== 'NEXT_TO_RUN_FIRST';
  const seqs: number[] = [];
  let before = 0;
  for (const { chunk, group } of sections) {
    const counts = countsIn(list, chunk);
    const count = group === undefined ? sum(counts) : (counts[group] ?? 0);
    if (before + count > from && count > 0) {
      const found = list.matches.seqs(chunk, group);
      if (found.length !== count) return seqsOfPage(recounted(list, chunk), sections, from, size);
      if (isNewestFirst) found.reverse();
      seqs.push(...found.slice(Math.max(from - before, 0), from + size - before));
    }
    before += count;
    if (before >= from + size) break;
  }
  return seqs;
}

/** At most `size` of the wanted tasks below a `seq`, newest first. */
function seqsOfWindow(list: ListInProgress, below: number, size: number): number[] {
  const { statuses } = list.query;
  const seqs: number[] = [];
  for (const chunk of list.chunks) {
    const counts = countsIn(list, chunk);
    const count =
      statuses.length === 0
        ? sum(counts)
        : sum(statuses.map((status) => counts[STATUS_NUMBERS[status]] ?? 0));
    if (count === 0 || chunk > chunkOf(below)) continue;
    const found = list.wanted?.seqs(chunk) ?? [];
    if (found.length !== count) return seqsOfWindow(recounted(list, chunk), below, size);
    seqs.push(...found.filter((seq) => seq < below).toReversed());
    if (seqs.length >= size) break;
  }
  return seqs.slice(0, size);
}

/** Without the counts of a chunk that has changed in the database since they were made. */
function recounted(list: ListInProgress, chunk: number): ListInProgress {
  list.counts.delete(chunk);
  return list;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
