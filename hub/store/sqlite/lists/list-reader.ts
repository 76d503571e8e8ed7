/**
 * Answers list queries from the table `listed_task`. A list counts its matches chunk by chunk, the newest first, and reads only the
 * matches of the chunks that its page falls into. The counts are kept: the next list by the same filter counts only the chunks that
 * have changed since.
 */
import { PRIORITIES } from '@workbench-hub/shared/domain/priority';
import { TASK_STATUSES, type TaskStatus } from '@workbench-hub/shared/domain/task';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { STATUS_NUMBERS } from '../../rows/task-kinds.js';
import type { SqliteDatabase } from '../connection/database.js';
import { CountedChunks, type Counts, chunkOf, KnownChunks } from './chunks.js';
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
  /** The newest first. */
  readonly chunks: readonly number[];
  /** Number of chunks that are known to be counted. */
  counted: number;
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
  readonly #chunks: KnownChunks;
  readonly #rowsOf;
  readonly #byStart;

  constructor(db: SqliteDatabase, clock: Pick<Clock, 'monotonicMs'>) {
    this.#db = db;
    this.#clock = clock;
    addWildcardFunction(db);
    const next = db.prepare<[number], number>(LIST_STATEMENTS.next).pluck();
    this.#chunks = new KnownChunks((from) => next.get(from));
    this.#rowsOf = db.prepare<[string], string>(LIST_STATEMENTS.rows).pluck();
    this.#byStart = db.prepare<[string, number, number], number>(LIST_STATEMENTS.byStart).pluck();
  }

  /** Forgets what was counted in changed chunks. */
  forget(changed: ChangedChunks): void {
    if (changed === 'MANY') {
      this.#counted.forgetAll();
      this.#chunks.forgetAll();
    } else {
      this.#counted.forget(changed);
      this.#chunks.changed(changed);
    }
  }

  begin(query: ListQuery): ListInProgress {
    const isWindow = query.below !== undefined;
    const matches = matchesOf(this.#db, isWindow ? { ...query, statuses: [] } : query, groupingOf(query));
    return {
      query,
      matches,
      wanted: isWindow ? matchesOf(this.#db, query, 'NONE') : undefined,
      counts: this.#counted.of(matches.name),
      chunks: this.#chunks.newestFirst(),
      counted: 0,
    };
  }

  /** Works on a list for one turn; returns its page when all chunks are counted. */
  goOn(list: ListInProgress): ListPage | undefined {
    const isComplete = this.#count(list, this.#clock.monotonicMs() + TURN_MS);
    return isComplete ? this.#db.transaction(() => this.#page(list))() : undefined;
  }

  /** False when the turn ended before all chunks were counted. */
  #count(list: ListInProgress, untilMs: number): boolean {
    for (; list.counted < list.chunks.length; list.counted++) {
      const chunk = list.chunks[list.counted] as number;
      if (list.counts.has(chunk)) continue;
      if (this.#clock.monotonicMs() > untilMs) return false;
      list.counts.set(chunk, list.matches.count(chunk));
    }
    return true;
  }

  /** The page, from one state of the database. */
  #page(list: ListInProgress): ListPage {
    const { page, size, below, order } = list.query;
    if (below !== undefined) return this.#window(list, below);
    if (order === 'LONGEST_RUNNING_FIRST') return this.#longestRunning(list);
    const { seqs, total } = matchesOnPage(list, page * size, size);
    return { rows: this.#rows(seqs), totalElements: total };
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

/** Counts of a chunk, made again when it has changed since they were made. */
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

/** Matches from a place on, and the number of all. */
function matchesOnPage(list: ListInProgress, from: number, size: number): { seqs: number[]; total: number } {
  const sections = sectionsOf(list);
  /** Sections that were read, of which the counts may be older. */
  const read = new Map<Section, readonly number[]>();
  for (;;) {
    const seqs: number[] = [];
    let total = 0;
    let isRead = true;
    for (const section of sections) {
      const known = read.get(section);
      const count = known?.length ?? countOf(list, section);
      const isOnPage = count > 0 && total + count > from && total < from + size;
      if (isOnPage && known) seqs.push(...known.slice(Math.max(from - total, 0), from + size - total));
      else if (isOnPage) {
        read.set(section, seqsOf(list, section));
        isRead = false;
      }
      total += count;
    }
    if (isRead) return { seqs, total };
  }
}

function countOf(list: ListInProgress, { chunk, group }: Section): number {
  const counts = countsIn(list, chunk);
  return group === undefined ? sum(counts) : (counts[group] ?? 0);
}

function seqsOf({ query, matches }: ListInProgress, { chunk, group }: Section): readonly number[] {
  const seqs = matches.seqs(chunk, group);
  return query.order === 'NEXT_TO_RUN_FIRST' ? seqs : seqs.reverse();
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
    seqs.push(...found.filter((seq) => seq < below).toReversed());
    if (seqs.length >= size) break;
  }
  return seqs.slice(0, size);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
