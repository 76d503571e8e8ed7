/**
 * What the lists of tasks filter by, in memory, column by column: about 70 bytes for each task that has a short name. A
 * list looks at every task, which takes milliseconds for a million of them whatever the filter is: no index helps
 * `name=*x*`, and every index would have to be written with every task.
 */
import { PRIORITIES, priorityRank } from '@workbench-hub/shared/domain/priority';
import { TASK_STATUSES, TASK_TYPES, type TaskStatus, type TaskType } from '@workbench-hub/shared/domain/task';
import type { ColumnsFilter, SegmentCount, SegmentSource } from './selection.js';
import { TextColumn } from './text-column.js';
import { TextPattern } from './text-pattern.js';

/** What can change of a task that is in a list. */
export interface TaskKind {
  readonly type: TaskType;
  readonly status: TaskStatus;
  /** 0 for the highest. */
  readonly priority: number;
}

export interface ColumnsRow extends TaskKind {
  readonly seq: number;
  readonly id: string;
  readonly name: string | null;
  readonly creator: string | null;
}

/** Tasks whose `seq` falls into one range of this length share a segment, which goes when its last task goes. */
export const SEGMENT_ROWS = 4096;

export function segmentOf(seq: number): number {
  return Math.floor(seq / SEGMENT_ROWS);
}

const NO_TASK = 0;
const KINDS = TASK_TYPES.length * TASK_STATUSES.length * PRIORITIES.length;

interface Segment {
  readonly firstSeq: number;
  /** Code of the kind of each task. */
  readonly kinds: Uint8Array;
  readonly ids: TextColumn;
  readonly names: TextColumn;
  readonly creators: TextColumn;
  tasks: number;
}

export class TaskColumns implements SegmentSource {
  readonly #segments = new Map<number, Segment>();
  #latest: Segment | undefined;
  #lastSeq = 0;

  /** The highest that was ever added. */
  get lastSeq(): number {
    return this.#lastSeq;
  }

  /** Adds a task; its `seq` is above {@link lastSeq}. */
  add(row: ColumnsRow): void {
    const segment = this.#segmentFor(row.seq);
    const at = row.seq - segment.firstSeq;
    segment.kinds[at] = codeOf(row);
    segment.ids.append(at, row.id);
    segment.names.append(at, row.name?.toLowerCase() ?? null);
    segment.creators.append(at, row.creator);
    segment.tasks++;
    this.#lastSeq = row.seq;
  }

  /** Notes what has become of a task; undefined when it is no more. True when that was news. */
  update(seq: number, kind: TaskKind | undefined): boolean {
    const number = segmentOf(seq);
    const segment = this.#segments.get(number);
    const at = seq % SEGMENT_ROWS;
    const before = segment?.kinds[at] ?? NO_TASK;
    const code = kind ? codeOf(kind) : NO_TASK;
    if (!segment || before === NO_TASK || before === code) return false;
    segment.kinds[at] = code;
    if (code === NO_TASK) {
      segment.tasks--;
      if (segment.tasks === 0) this.#segments.delete(number);
    }
    return true;
  }

  counts(filter: ColumnsFilter): SegmentCount[] {
    const matcher = new Matcher(filter);
    return Array.from(this.#segments, ([number, segment]) => ({ number, count: matcher.count(segment) }));
  }

  seqs(filter: ColumnsFilter, number: number): number[] {
    const segment = this.#segments.get(number);
    return segment ? new Matcher(filter).seqs(segment) : [];
  }

  #segmentFor(seq: number): Segment {
    const number = segmentOf(seq);
    let segment = this.#segments.get(number);
    if (!segment) {
      this.#latest?.ids.pack();
      this.#latest?.names.pack();
      this.#latest?.creators.pack();
      segment = {
        firstSeq: number * SEGMENT_ROWS,
        kinds: new Uint8Array(SEGMENT_ROWS),
        ids: new TextColumn(SEGMENT_ROWS),
        names: new TextColumn(SEGMENT_ROWS),
        creators: new TextColumn(SEGMENT_ROWS),
        tasks: 0,
      };
      this.#segments.set(number, segment);
      this.#latest = segment;
    }
    return segment;
  }
}

/** Finds the tasks of a segment that fit a filter. */
class Matcher {
  readonly #wanted: Uint8Array;
  readonly #texts: readonly {
    readonly column: 'ids' | 'names' | 'creators';
    readonly pattern: TextPattern;
  }[];
  /** The rows that fit in the segment looked at last. */
  readonly #rows = new Uint16Array(SEGMENT_ROWS);

  constructor({ id, name, creator, ...kinds }: ColumnsFilter) {
    this.#wanted = wantedKinds(kinds);
    const patterns = { creators: creator, names: name?.toLowerCase(), ids: id };
    this.#texts = (['creators', 'names', 'ids'] as const).flatMap((column) => {
      const pattern = patterns[column];
      return pattern === undefined ? [] : [{ column, pattern: new TextPattern(pattern) }];
    });
  }

  count(segment: Segment): number {
    const wanted = this.#wanted;
    const { kinds } = segment;
    const rows = this.#rows;
    let count = 0;
    for (let at = 0; at < SEGMENT_ROWS; at++) {
      rows[count] = at;
      count += wanted[kinds[at] as number] as number;
    }
    for (const { column, pattern } of this.#texts) count = pattern.keep(segment[column], rows, count);
    return count;
  }

  /** Ascending. */
  seqs(segment: Segment): number[] {
    const count = this.count(segment);
    return Array.from(this.#rows.subarray(0, count), (row) => segment.firstSeq + row);
  }
}

/** From 1 on; the priority varies fastest. */
function codeOf({ type, status, priority }: TaskKind): number {
  const group = TASK_TYPES.indexOf(type) * TASK_STATUSES.length + TASK_STATUSES.indexOf(status);
  return 1 + group * PRIORITIES.length + priority;
}

/** 1 for the code of each kind that fits. */
function wantedKinds({
  type,
  priority,
  statuses,
}: Omit<ColumnsFilter, 'id' | 'name' | 'creator'>): Uint8Array {
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
