/**
 * Studies with their points. Changes are durable when their promise resolves, and take place under the condition that each names;
 * all reject as those of `task-queue.ts` do. A point that has not begun is no row: it follows from the plans.
 */
import type { FileRef } from '@workbench-hub/shared/domain/job';
import type {
  BegunPoint,
  NewStudy,
  OutcomeCounts,
  PlannedPart,
  Point,
  PointEnd,
  PointOutcome,
  Study,
  StudyRecord,
  StudyState,
} from '../studies/study.js';

export interface StudyQuery {
  /** Studies with this name only; null for all. */
  readonly name: string | null;
  /** The `next` of an earlier window; null to begin with the newest. */
  readonly after: string | null;
  readonly limit: number;
}

export interface StudyWindow {
  readonly studies: readonly StudyRecord[];
  /** Place after these studies; null when there are no more. */
  readonly next: string | null;
}

export interface PointQuery {
  /** Points with greater numbers only. */
  readonly after: number;
  readonly limit: number;
  /** Points with one of these outcomes; OPEN for those without one. All points when it is empty. */
  readonly outcomes: readonly (PointOutcome | 'OPEN')[];
}

/** A study that needs the driver. */
export type ActiveStudy = Pick<
  StudyRecord,
  'id' | 'state' | 'runningSinceMs' | 'pointCount' | 'begunCount' | 'retryCount' | 'isOpen'
>;

/** A point without an outcome: its task waits or runs, unless it is due for another try. */
export type OpenPoint = Pick<Point, 'number' | 'tries' | 'variables' | 'bundle'>;

/** The end of a point, which takes place while its try is the latest, and has none. */
export interface EndedPoint extends PointEnd {
  readonly number: number;
  readonly tries: number;
}

export interface Studies {
  /** Creates a study unless its creator has one with its key; true if it did. */
  create(study: NewStudy): Promise<boolean>;
  find(id: string): Promise<Study | undefined>;
  /** The study without its definition. */
  record(id: string): Promise<StudyRecord | undefined>;
  /** Id of the study that this creator has created with this key. */
  idByKey(creator: string | null, key: string): Promise<string | undefined>;
  /** Newest first. Rejects with INVALID_INPUT for an `after` that is no place. */
  list(query: StudyQuery): Promise<StudyWindow>;
  /** Number of studies by state; a state without any may be left out. */
  states(): Promise<Readonly<Partial<Record<StudyState, number>>>>;
  /** The part of a study that has this point. */
  partWith(id: string, point: number): Promise<PlannedPart | undefined>;
  counts(id: string): Promise<OutcomeCounts>;
  /** Number of points that have failed since the study was resumed, or else since it began. */
  failedSinceResume(id: string): Promise<number>;
  /** Studies whose job has this content among its files, newest first. */
  withFile(content: FileRef, limit: number): Promise<CreatedStudy[]>;
  /** Points that have begun, by number. */
  points(id: string, query: PointQuery): Promise<Point[]>;
  /** Adds points to a study that has `part.first - 1` of them, and may be extended. A finished one runs again from `nowMs` on. */
  extend(id: string, part: NewPart, nowMs: number): Promise<boolean>;
  /** The part that was added with this key. */
  partByKey(id: string, key: string): Promise<PlannedPart | undefined>;
  /** Changes the state from one of `from`, and makes the deliveries that tell of it. */
  setState(id: string, from: readonly StudyState[], to: StudyState, why: StateChange): Promise<boolean>;
  /** Makes points with these outcomes due for another try; resolves with their number. A finished study then runs again from `nowMs`
   *  on. Very many take several transactions: when it rejects, some of them may be due. */
  retry(id: string, outcomes: readonly PointOutcome[], nowMs: number): Promise<number>;
  /** Removes a study that is stopped or finished and has no open point; true if it did. */
  remove(id: string): Promise<boolean>;
  /** Ids of studies that ended before this time and have no open point, oldest first. */
  endedBefore(timeMs: number, limit: number): Promise<string[]>;

  /** Studies that run or have open points, oldest first. */
  active(): Promise<ActiveStudy[]>;
  /** The first open points by number. */
  open(id: string, limit: number): Promise<OpenPoint[]>;
  /** The first points by number that are due for another try. */
  due(id: string, limit: number): Promise<OpenPoint[]>;
  /** Begins the points after the number `begunCount` of a study that runs and has begun just as many. */
  begin(id: string, begunCount: number, points: readonly BegunPoint[]): Promise<boolean>;
  /** Begins the next try of points that are due, each with a task of its own, in a study that runs; true if all of them were. */
  beginAgain(id: string, numbers: readonly number[]): Promise<boolean>;
  /** Makes the open points of a bundle due for a task of their own, in the same try. Counts as a retry of the study. */
  unbundle(id: string, bundle: number): Promise<void>;
  /** True for each point that has its outcome by this call. */
  end(id: string, ended: readonly EndedPoint[]): Promise<boolean[]>;
  /** Finishes a study that runs, is not open, has begun all its points, each of which has its outcome, and was retried just as often.
   *  Makes the deliveries that tell of it. */
  finish(id: string, retryCount: number, atMs: number): Promise<boolean>;
}

export type CreatedStudy = Pick<StudyRecord, 'id' | 'createdAtMs'>;

/** Points that are added; the key is that of the request, if it has one, and of no other part of the study. */
export interface NewPart extends PlannedPart {
  readonly key: string | null;
}

export interface StateChange {
  readonly atMs: number;
  /** Start after which it takes place only: a study that has been resumed meanwhile stays as it is. Undefined for any. */
  readonly runningSinceMs?: number | undefined;
  readonly message: string | null;
}
