/** Rows of studies, as both stores have them. */
import type { ActiveStudy, EndedPoint, OpenPoint, StudyWindow } from '../../core/ports/studies.js';
import type { StudyNews } from '../../core/ports/webhook-deliveries.js';
import type {
  BegunPoint,
  NewStudy,
  OutcomeCounts,
  Point,
  PointCause,
  PointOutcome,
  Study,
  StudyRecord,
  StudyState,
} from '../../core/studies/study.js';
import type { ReadValue } from '../../core/studies/values/read-value.js';

/** `Flag` is the type of a truth value in the database. */
export interface StudyRow<Flag extends boolean | number = boolean | number> {
  readonly id: string;
  readonly name: string;
  readonly note: string | null;
  readonly creator: string | null;
  readonly state: StudyState;
  readonly message: string | null;
  readonly created_at: number;
  /** Null in rows of earlier versions. */
  readonly running_since_at: number | null;
  readonly ended_at: number | null;
  readonly point_count: number;
  readonly begun_count: number;
  readonly retry_count: number;
  readonly is_open: Flag;
}

export const STUDY_COLUMNS =
  'id, name, note, creator, state, message, created_at, running_since_at, ended_at, point_count, begun_count, retry_count, is_open';

export function studyOfRow(row: StudyRow): StudyRecord {
  return {
    id: row.id,
    name: row.name,
    note: row.note,
    creator: row.creator,
    state: row.state,
    message: row.message,
    createdAtMs: row.created_at,
    runningSinceMs: row.running_since_at ?? row.created_at,
    endedAtMs: row.ended_at,
    pointCount: row.point_count,
    begunCount: row.begun_count,
    retryCount: row.retry_count,
    isOpen: Boolean(row.is_open),
  };
}

/** Window of these rows, of which there is one more than `limit` when others follow. */
export function studyWindowOf(
  rows: readonly (StudyRow & { readonly seq: number })[],
  limit: number,
): StudyWindow {
  const shown = rows.slice(0, limit);
  return {
    studies: shown.map(studyOfRow),
    next: rows.length > limit ? String(shown.at(-1)?.seq) : null,
  };
}

export function wholeStudyOfRow(row: StudyRow & { readonly definition: string }): Study {
  // Definitions of earlier versions do not stop by time or by values, and have no bundles.
  return {
    ...studyOfRow(row),
    definition: { stopAfterS: null, stopWhen: [], bundle: false, ...JSON.parse(row.definition) },
  };
}

/** A study with its counts, as deliveries hold it. */
export interface ToldStudyRow {
  readonly study: StudyRow;
  readonly counts: OutcomeCounts;
  readonly change: number;
}

export function newsOfRow({ study, ...rest }: ToldStudyRow): StudyNews {
  return { kind: 'STUDY', study: studyOfRow(study), ...rest };
}

export function activeStudyOfRow(row: StudyRow): ActiveStudy {
  const { id, state, runningSinceMs, pointCount, begunCount, retryCount, isOpen } = studyOfRow(row);
  return { id, state, runningSinceMs, pointCount, begunCount, retryCount, isOpen };
}

export interface NewStudyRow extends StudyRow<boolean> {
  readonly definition: string;
  readonly key: string | null;
  readonly notify_url: string | null;
  readonly notify_receiver: string | null;
}

export function rowOfStudy(study: NewStudy): NewStudyRow {
  return {
    id: study.id,
    name: study.name,
    note: study.note,
    creator: study.creator,
    state: study.state,
    message: study.message,
    created_at: study.createdAtMs,
    running_since_at: study.runningSinceMs,
    ended_at: study.endedAtMs,
    point_count: study.pointCount,
    begun_count: study.begunCount,
    retry_count: study.retryCount,
    is_open: study.isOpen,
    definition: JSON.stringify(study.definition),
    key: study.key,
    notify_url: study.notify?.url ?? null,
    notify_receiver: study.notify?.receiver ?? null,
  };
}

/** A point; `outcome` is null for an open one. */
export interface PointRow {
  readonly number: number;
  readonly tries: number;
  /** JSON. */
  readonly variables: string;
  readonly bundle: number | null;
  readonly not_reused: string | null;
  readonly source: string | null;
  readonly outcome: PointOutcome | null;
  readonly cause: PointCause | null;
  readonly message: string | null;
  /** JSON. */
  readonly read_values: string | null;
  readonly started_at: number | null;
  readonly ended_at: number | null;
}

export const POINT_COLUMNS =
  'number, tries, variables, bundle, not_reused, source, outcome, cause, message, read_values, started_at, ended_at';

export function pointOfRow(row: PointRow): Point {
  const { number, tries, outcome } = row;
  return {
    number,
    tries,
    variables: JSON.parse(row.variables),
    bundle: row.bundle,
    notReused: row.not_reused,
    end: outcome && {
      outcome,
      cause: row.cause,
      message: row.message,
      values: valuesOfText(row.read_values ?? '[]'),
      source: row.source,
      startedAtMs: row.started_at,
      endedAtMs: row.ended_at as number,
    },
  };
}

export type OpenPointRow = Pick<PointRow, 'number' | 'tries' | 'variables' | 'bundle'>;

export const OPEN_POINT_COLUMNS = 'number, tries, variables, bundle';

export function openPointOfRow({ number, tries, variables, bundle }: OpenPointRow): OpenPoint {
  return { number, tries, variables: JSON.parse(variables), bundle };
}

/** End of a point as columns. */
export function endOfPoint(point: EndedPoint) {
  return {
    number: point.number,
    tries: point.tries,
    outcome: point.outcome,
    cause: point.cause,
    message: point.message,
    read_values: textOfValues(point.values),
    started_at: point.startedAtMs,
    ended_at: point.endedAtMs,
  };
}

/** A point that begins, as columns. */
export function begunPointAsColumns({ variables, bundle, notReused, end }: BegunPoint) {
  return {
    variables: JSON.stringify(variables),
    bundle,
    not_reused: notReused,
    source: end?.source ?? null,
    outcome: end?.outcome ?? null,
    cause: end?.cause ?? null,
    message: end?.message ?? null,
    read_values: end && textOfValues(end.values),
    started_at: end?.startedAtMs ?? null,
    ended_at: end?.endedAtMs ?? null,
  };
}

/** A number or a text is itself; numbers that JSON does not know, and values that are missing, are objects. */
function textOfValues(values: readonly ReadValue[]): string {
  return JSON.stringify(
    values.map((read) => {
      if (read.kind === 'MISSING') return { missing: read.reason };
      if (read.kind === 'TEXT' || Number.isFinite(read.value)) return read.value;
      return { number: String(read.value) };
    }),
  );
}

function valuesOfText(text: string): ReadValue[] {
  const stored = JSON.parse(text) as (number | string | { missing: string } | { number: string })[];
  return stored.map((value): ReadValue => {
    if (typeof value === 'number') return { kind: 'NUMBER', value };
    if (typeof value === 'string') return { kind: 'TEXT', value };
    return 'missing' in value
      ? { kind: 'MISSING', reason: value.missing }
      : { kind: 'NUMBER', value: Number(value.number) };
  });
}
