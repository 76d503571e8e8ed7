/**
 * The fields by which lists filter, in memory, column by column: about 40 bytes for each task with a short name. A list
 * examines every task, which takes milliseconds for a million of them: no index helps `name=*x*`, and every index would
 * have to be written with every task.
 *
 * Kinds change and are counted here. Texts never change: those of a full segment are passed on to be searched.
 */
import { PRIORITIES, priorityRank } from '@workbench-hub/shared/domain/priority';
import { TASK_STATUSES, TASK_TYPES, type TaskStatus } from '@workbench-hub/shared/domain/task';
import { InstanceNumbers } from './instance-numbers.js';
import type { ColumnsFilter, ColumnsRow, FilterSearch, TaskKind, TaskState } from './rows.js';
import { noRows, type RowBits, SegmentTextsBuilder, TextSearch } from './segment-texts.js';
import type { SegmentCount, SegmentSource } from './selection.js';
import type { SharedTexts } from './shared-texts.js';
import { SEGMENT_ROWS } from './text-column.js';

function segmentOf(seq: number): number {
  return Math.floor(seq / SEGMENT_ROWS);
}

/** Rows that are searched in milliseconds even with names and a pattern of maximum length. */
const GROWING_ROWS_AT_ONCE = 512;

const NO_TASK = 0;
const KINDS = TASK_TYPES.length * TASK_STATUSES.length * PRIORITIES.length;

interface Segment {
  readonly number: number;
  readonly firstSeq: number;
  /** Code of the kind of each task. */
  readonly kinds: Uint8Array;
  /** Number of the instance of each task; 0 for none. */
  readonly instances: Uint32Array;
  /** Time of each request. */
  readonly requestedAtMs: Float64Array;
  /** Number of tasks of each kind. */
  readonly counts: Uint16Array;
  tasks: number;
}

export class TaskColumns implements SegmentSource {
  readonly #segments = new Map<number, Segment>();
  readonly #texts: SharedTexts;
  /** The segment to which tasks are added. */
  #growing: Segment | undefined;
  readonly #growingTexts = new SegmentTextsBuilder();
  readonly #instances = new InstanceNumbers();
  #lastSeq = 0;

  constructor(texts: SharedTexts) {
    this.#texts = texts;
  }

  /** Highest `seq` ever added. */
  get lastSeq(): number {
    return this.#lastSeq;
  }

  /** Adds a task; its `seq` is above {@link lastSeq}. */
  add(row: ColumnsRow): void {
    const segment = this.#segmentFor(row.seq);
    const at = row.seq - segment.firstSeq;
    const code = codeOf(row);
    segment.kinds[at] = code;
    segment.instances[at] = this.#instances.hold(row.instanceId);
    segment.requestedAtMs[at] = row.requestedAtMs;
    segment.counts[code] = (segment.counts[code] as number) + 1;
    segment.tasks++;
    this.#growingTexts.append(at, row);
    this.#lastSeq = row.seq;
  }

  /** Updates a task, undefined when it was removed. True when that was a change. */
  update(seq: number, state: TaskState | undefined): boolean {
    const segment = this.#segments.get(segmentOf(seq));
    const at = seq % SEGMENT_ROWS;
    const before = segment?.kinds[at] ?? NO_TASK;
    const code = state ? codeOf(state) : NO_TASK;
    if (!segment || before === NO_TASK) return false;
    const earlier = segment.instances[at] as number;
    const instance = this.#instances.hold(state?.instanceId ?? null);
    this.#instances.release(earlier);
    if (before === code && earlier === instance) return false;
    segment.kinds[at] = code;
    segment.instances[at] = instance;
    segment.counts[before] = (segment.counts[before] as number) - 1;
    segment.counts[code] = (segment.counts[code] as number) + 1;
    if (code === NO_TASK) {
      segment.tasks--;
      if (segment.tasks === 0 && segment !== this.#growing) this.#remove(segment);
    }
    return true;
  }

  /** Segments to be searched before {@link counts} and {@link seqs} can answer. */
  unsearched(filter: ColumnsFilter): number[] {
    const { search } = filter;
    if (!search) return [];
    return this.#counted(filter).flatMap(({ segment }) =>
      segment === this.#growing || search.found.has(segment.number) ? [] : [segment.number],
    );
  }

  /** Searches a part of the growing segment; false when few enough rows are left for {@link counts}. */
  searchGrowing(search: FilterSearch): boolean {
    const segment = this.#growing;
    if (!segment || this.#unsearchedRows(search, segment) <= GROWING_ROWS_AT_ONCE) return false;
    this.#searchRows(search, segment);
    return true;
  }

  counts(filter: ColumnsFilter): SegmentCount[] {
    const wanted = wantedKinds(filter);
    return this.#counted(filter).map(({ segment, count }) => ({
      number: segment.number,
      count: hasRowConditions(filter) ? countOf(this.#countsByKind(segment, filter), wanted) : count,
    }));
  }

  /** Number of the matching tasks of each status, whatever statuses the filter wants. */
  countsByStatus(filter: ColumnsFilter): Record<TaskStatus, number> {
    const ofAny = { ...filter, statuses: [] };
    const byKind = this.#counted(ofAny).map(({ segment }) =>
      hasRowConditions(filter) ? this.#countsByKind(segment, filter) : segment.counts,
    );
    const counts = TASK_STATUSES.map((status) => {
      const wanted = wantedKinds({ ...filter, statuses: [status] });
      return [status, byKind.reduce((sum, each) => sum + countOf(each, wanted), 0)];
    });
    return Object.fromEntries(counts) as Record<TaskStatus, number>;
  }

  seqs(filter: ColumnsFilter, number: number): number[] {
    const segment = this.#segments.get(number);
    if (!segment) return [];
    const wanted = wantedKinds(filter);
    const rows = this.#rowsOf(segment, filter);
    const seqs: number[] = [];
    for (let at = 0; at < SEGMENT_ROWS; at++) {
      if (wanted[segment.kinds[at] as number] === 1 && isRow(rows, at)) seqs.push(segment.firstSeq + at);
    }
    return seqs;
  }

  /** Number of the tasks of each kind in the rows that match. */
  #countsByKind(segment: Segment, filter: ColumnsFilter): Uint16Array {
    const { kinds } = segment;
    const rows = this.#rowsOf(segment, filter);
    const { bits } = rows;
    const isSearchAlone = !hasStateConditions(filter);
    const counts = new Uint16Array(KINDS + 1);
    for (let byte = 0; byte < SEGMENT_ROWS / 8; byte++) {
      for (let left = bits ? (bits[byte] as number) : 0xff, at = byte * 8; left > 0; left >>= 1, at++) {
        if ((left & 1) === 0 || !(isSearchAlone || isRow(rows, at))) continue;
        const code = kinds[at] as number;
        counts[code] = (counts[code] as number) + 1;
      }
    }
    counts[NO_TASK] = 0;
    return counts;
  }

  /** Rows that match by all but their kinds. */
  #rowsOf(segment: Segment, filter: ColumnsFilter): Rows {
    const { search, instanceIds, requestedFromMs, requestedBeforeMs } = filter;
    return {
      bits: search && this.#bitsOf(search, segment),
      instances: segment.instances,
      // The number of no instance for one that has never run a task.
      wantedInstances: instanceIds && new Set(instanceIds.map((id) => this.#instances.of(id) ?? -1)),
      requestedAtMs: segment.requestedAtMs,
      fromMs: requestedFromMs ?? Number.NEGATIVE_INFINITY,
      beforeMs: requestedBeforeMs ?? Number.POSITIVE_INFINITY,
    };
  }

  /** Segments with tasks of the wanted kinds, and their number. */
  #counted(filter: ColumnsFilter): { segment: Segment; count: number }[] {
    const wanted = wantedKinds(filter);
    return Array.from(this.#segments.values(), (segment) => ({
      segment,
      count: countOf(segment.counts, wanted),
    })).filter(({ count }) => count > 0);
  }

  #bitsOf(search: FilterSearch, segment: Segment): RowBits {
    const bits =
      segment === this.#growing ? this.#bitsOfGrowing(search, segment) : search.found.get(segment.number);
    if (!bits) throw new Error(`segment ${segment.number} has not been searched`);
    return bits;
  }

  #bitsOfGrowing(search: FilterSearch, segment: Segment): RowBits {
    while (this.#unsearchedRows(search, segment) > 0) this.#searchRows(search, segment);
    return search.growing?.bits ?? noRows();
  }

  #unsearchedRows({ growing }: FilterSearch, { number, firstSeq }: Segment): number {
    return this.#lastSeq + 1 - firstSeq - (growing?.segment === number ? growing.rows : 0);
  }

  #searchRows(search: FilterSearch, { number, firstSeq }: Segment): void {
    const known = search.growing?.segment === number ? search.growing : { rows: 0, bits: noRows() };
    const from = known.rows;
    const to = Math.min(from + GROWING_ROWS_AT_ONCE, this.#lastSeq + 1 - firstSeq);
    new TextSearch(search.filter).addFrom(this.#growingTexts.texts(), { from, to }, known.bits);
    search.growing = { segment: number, rows: to, bits: known.bits };
  }

  #segmentFor(seq: number): Segment {
    const number = segmentOf(seq);
    if (this.#growing?.number === number) return this.#growing;
    if (this.#growing) {
      this.#texts.hold(this.#growing.number, this.#growingTexts.take());
      if (this.#growing.tasks === 0) this.#remove(this.#growing);
    }
    this.#growing = {
      number,
      firstSeq: number * SEGMENT_ROWS,
      kinds: new Uint8Array(SEGMENT_ROWS),
      instances: new Uint32Array(SEGMENT_ROWS),
      requestedAtMs: new Float64Array(SEGMENT_ROWS),
      counts: new Uint16Array(KINDS + 1),
      tasks: 0,
    };
    this.#segments.set(number, this.#growing);
    return this.#growing;
  }

  #remove(segment: Segment): void {
    this.#segments.delete(segment.number);
    this.#texts.forget(segment.number);
  }
}

function countOf(counts: Uint16Array, wanted: Uint8Array): number {
  let count = 0;
  for (let code = 1; code < counts.length; code++) {
    if (wanted[code] === 1) count += counts[code] as number;
  }
  return count;
}

/** Conditions that rows of a segment have to meet. */
interface Rows {
  readonly bits: RowBits | undefined;
  readonly instances: Uint32Array;
  readonly wantedInstances: ReadonlySet<number> | undefined;
  readonly requestedAtMs: Float64Array;
  readonly fromMs: number;
  readonly beforeMs: number;
}

function isRow(
  { bits, instances, wantedInstances, requestedAtMs, fromMs, beforeMs }: Rows,
  at: number,
): boolean {
  if (bits !== undefined && (((bits[at >> 3] as number) >> (at & 7)) & 1) === 0) return false;
  const requested = requestedAtMs[at] as number;
  if (requested < fromMs || requested >= beforeMs) return false;
  return wantedInstances === undefined || wantedInstances.has(instances[at] as number);
}

/** Whether the filter selects by more than kinds, which are counted. */
function hasRowConditions(filter: ColumnsFilter): boolean {
  return filter.search !== undefined || hasStateConditions(filter);
}

function hasStateConditions({ instanceIds, requestedFromMs, requestedBeforeMs }: ColumnsFilter): boolean {
  return [instanceIds, requestedFromMs, requestedBeforeMs].some((each) => each !== undefined);
}

/** Counted from 1; the priority varies fastest. */
function codeOf({ type, status, priority }: TaskKind): number {
  const group = TASK_TYPES.indexOf(type) * TASK_STATUSES.length + TASK_STATUSES.indexOf(status);
  return 1 + group * PRIORITIES.length + priority;
}

/** 1 at the code of each wanted kind. */
function wantedKinds({ type, priority, statuses }: Omit<ColumnsFilter, 'search'>): Uint8Array {
  const wanted = new Uint8Array(KINDS + 1);
  for (const eachType of type ? [type] : TASK_TYPES) {
    for (const status of statuses.length > 0 ? statuses : TASK_STATUSES) {
      for (const eachPriority of priority ? [priority] : PRIORITIES) {
        wanted[codeOf({ type: eachType, status, priority: priorityRank(eachPriority) })] = 1;
      }
    }
  }
  return wanted;
}
