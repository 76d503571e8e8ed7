/** Writes of studies. Each call is a batch of its own: their keys are those of all studies, and calls are few. */
import { filesOfJob } from '@workbench-hub/shared/domain/job';
import type { EndedPoint, NewPart, StateChange } from '../../../core/ports/studies.js';
import {
  type BegunPoint,
  endOfChange,
  isTold,
  type NewStudy,
  type PointOutcome,
  type StudyState,
  startOfChange,
} from '../../../core/studies/study.js';
import { begunPointAsColumns, endOfPoint, rowOfStudy, STUDY_COLUMNS } from '../../rows/study-row.js';
import { GROWING, runAgain, statesBefore } from '../../rows/study-sql.js';
import { type LaneWrite, laneStatement } from '../lanes/lane-statements.js';
import {
  MADE,
  type MadeDeliveries,
  makeStudyDeliveries,
  STUDY_DELIVERY_PARAMETERS,
  type WebhookOutbox,
} from '../tasks/webhook-outbox.js';

/** SQL condition that a point has a task without an end that was seen. */
export const OPEN = 'outcome IS NULL AND NOT is_due';
const NO_OPEN_POINT = `NOT EXISTS (SELECT FROM study_point WHERE study_point.study_seq = study.seq AND ${OPEN})`;
const NONE_DUE = 'NOT EXISTS (SELECT FROM study_point WHERE study_point.study_seq = study.seq AND is_due)';

/** SQL condition that a study may be removed. */
export const MAY_BE_REMOVED = `state IN ${statesBefore('remove')} AND ${NO_OPEN_POINT}`;

const ALONE = { isDurable: true, keys: () => ['all'] } as const;

export const CREATE: LaneWrite<NewStudy, boolean> = {
  ...ALONE,
  statement: laneStatement({
    parameters: {
      id: 'text',
      name: 'text',
      note: 'text',
      creator: 'text',
      state: 'text',
      message: 'text',
      createdAt: 'bigint',
      runningSince: 'bigint',
      endedAt: 'bigint',
      pointCount: 'bigint',
      begunCount: 'bigint',
      retryCount: 'bigint',
      isOpen: 'boolean',
      definition: 'text',
      key: 'text',
      notifyUrl: 'text',
      notifyReceiver: 'text',
      plan: 'text',
      digests: 'text[]',
      sizes: 'bigint[]',
      encrypted: 'boolean[]',
    },
    parts: `
      created AS (
        INSERT INTO study (${STUDY_COLUMNS}, definition, key, notify_url, notify_receiver)
        SELECT :id, :name, :note, :creator, :state, :message, :createdAt, :runningSince, :endedAt, :pointCount, :begunCount, :retryCount, :isOpen,
          :definition, :key, :notifyUrl, :notifyReceiver
        FROM held ON CONFLICT DO NOTHING RETURNING seq),
      planned AS (
        INSERT INTO study_part (study_seq, first, count, plan)
        SELECT seq, 1, :pointCount, :plan FROM created WHERE :pointCount > 0),
      filed AS (
        INSERT INTO study_file (study_seq, position, digest, size_bytes, encrypted)
        SELECT seq, file.position - 1, file.digest, file.size_bytes, file.encrypted
        FROM created, unnest(:digests, :sizes, :encrypted) WITH ORDINALITY AS file (digest, size_bytes, encrypted, position))`,
    outcome: 'SELECT to_json(count(*)) FROM created',
  }),
  values: ([study]) => (study ? creationValues(study) : {}),
  results: (_, outcome) => [outcome !== 0],
};

function creationValues(study: NewStudy) {
  const row = rowOfStudy(study);
  const files = filesOfJob(study.definition.job);
  return {
    id: row.id,
    name: row.name,
    note: row.note,
    creator: row.creator,
    state: row.state,
    message: row.message,
    createdAt: row.created_at,
    runningSince: row.running_since_at,
    endedAt: row.ended_at,
    pointCount: row.point_count,
    begunCount: row.begun_count,
    retryCount: row.retry_count,
    isOpen: row.is_open,
    definition: row.definition,
    key: row.key,
    notifyUrl: row.notify_url,
    notifyReceiver: row.notify_receiver,
    plan: JSON.stringify(study.plan),
    digests: files.map(({ digest }) => digest),
    sizes: files.map(({ sizeBytes }) => sizeBytes),
    encrypted: files.map(({ encrypted }) => encrypted === true),
  };
}

interface Extension {
  readonly id: string;
  readonly part: NewPart;
  readonly nowMs: number;
}

export const EXTEND: LaneWrite<Extension, boolean> = {
  ...ALONE,
  statement: laneStatement({
    parameters: { id: 'text', first: 'bigint', count: 'bigint', plan: 'text', key: 'text', now: 'bigint' },
    parts: `
      extended AS (
        UPDATE study SET point_count = point_count + :count,
          ${runAgain(':now')}
        FROM held WHERE study.id = :id AND point_count = :first - 1 AND state IN ${GROWING} RETURNING seq),
      planned AS (
        INSERT INTO study_part (study_seq, first, count, plan, key) SELECT seq, :first, :count, :plan, :key FROM extended)`,
    outcome: 'SELECT to_json(count(*)) FROM extended',
  }),
  values: ([call]) => ({
    id: call?.id,
    first: call?.part.first,
    count: call?.part.count,
    plan: call && JSON.stringify(call.part.plan),
    key: call?.part.key,
    now: call?.nowMs,
  }),
  results: (_, outcome) => [outcome !== 0],
};

interface Change extends StateChange {
  readonly id: string;
  readonly from: readonly StudyState[];
  readonly to: StudyState;
}

interface Retry {
  readonly id: string;
  readonly outcomes: readonly PointOutcome[];
  readonly nowMs: number;
  /** Points with greater numbers only. */
  readonly after: number;
}

/** Points that one part of a retry made due. */
export interface Retried {
  readonly count: number;
  /** Number of the point after which there may be more; null when there are none. */
  readonly next: number | null;
}

/** Points that are retried in one transaction, so that ends of tasks wait for a short one only. */
const RETRY_PART = 1000;

export const RETRY: LaneWrite<Retry, Retried> = {
  ...ALONE,
  statement: laneStatement({
    parameters: { id: 'text', outcomes: 'text[]', now: 'bigint', after: 'bigint' },
    parts: `
      part AS (
        SELECT study_seq, number FROM held, study_point
        WHERE study_seq = (SELECT seq FROM study WHERE study.id = :id) AND number > :after AND outcome = ANY (:outcomes)
        ORDER BY number LIMIT ${RETRY_PART}),
      retried AS (
        UPDATE study_point SET tries = tries + 1, is_due = true, bundle = NULL, outcome = NULL, cause = NULL, message = NULL,
          read_values = NULL, source = NULL, not_reused = NULL, started_at = NULL, ended_at = NULL
        FROM part WHERE study_point.study_seq = part.study_seq AND study_point.number = part.number AND outcome = ANY (:outcomes)
        RETURNING study_point.number),
      again AS (
        UPDATE study SET retry_count = retry_count + 1, ${runAgain(':now')}
        WHERE study.id = :id AND EXISTS (SELECT FROM retried))`,
    outcome: `SELECT json_build_object('count', (SELECT count(*) FROM retried),
      'next', (SELECT max(number) FROM part HAVING count(*) = ${RETRY_PART}))`,
  }),
  values: ([call]) => ({ id: call?.id, outcomes: call?.outcomes, now: call?.nowMs, after: call?.after }),
  results: (_, outcome) => [outcome as Retried],
};

export const REMOVE: LaneWrite<string, boolean> = {
  ...ALONE,
  statement: laneStatement({
    parameters: { id: 'text' },
    parts: `removed AS (DELETE FROM study USING held WHERE study.id = :id AND ${MAY_BE_REMOVED} RETURNING seq)`,
    outcome: 'SELECT to_json(count(*)) FROM removed',
  }),
  values: ([id]) => ({ id }),
  results: (_, outcome) => [outcome !== 0],
};

interface Beginning {
  readonly id: string;
  readonly begunCount: number;
  readonly points: readonly BegunPoint[];
}

export const BEGIN: LaneWrite<Beginning, boolean> = {
  ...ALONE,
  statement: laneStatement({
    parameters: {
      id: 'text',
      begunCount: 'bigint',
      added: 'bigint',
      variables: 'text[]',
      bundles: 'bigint[]',
      misses: 'text[]',
      sources: 'text[]',
      outcomes: 'text[]',
      causes: 'text[]',
      messages: 'text[]',
      readValues: 'text[]',
      startedAts: 'bigint[]',
      endedAts: 'bigint[]',
    },
    parts: `
      begun AS (
        UPDATE study SET begun_count = begun_count + :added
        FROM held WHERE study.id = :id AND state = 'RUNNING' AND begun_count = :begunCount AND begun_count + :added <= point_count
        RETURNING seq, resume_count),
      points AS (
        INSERT INTO study_point (study_seq, number, tries, is_due, variables, bundle, not_reused, source, outcome, cause, message,
          read_values, started_at, ended_at, resume_count)
        SELECT seq, :begunCount + point.place, 1, false, point.variables, point.bundle, point.not_reused, point.source, point.outcome, point.cause,
          point.message, point.read_values, point.started_at, point.ended_at, resume_count
        FROM begun, unnest(:variables, :bundles, :misses, :sources, :outcomes, :causes, :messages, :readValues, :startedAts, :endedAts)
          WITH ORDINALITY
          AS point (variables, bundle, not_reused, source, outcome, cause, message, read_values, started_at, ended_at, place))`,
    outcome: 'SELECT to_json(count(*)) FROM begun',
  }),
  weight: ({ points }) => 50 * points.length,
  values: ([call]) => {
    const rows = call?.points.map(begunPointAsColumns) ?? [];
    return {
      id: call?.id,
      begunCount: call?.begunCount,
      added: rows.length,
      variables: rows.map(({ variables }) => variables),
      bundles: rows.map(({ bundle }) => bundle),
      misses: rows.map(({ not_reused }) => not_reused),
      sources: rows.map(({ source }) => source),
      outcomes: rows.map(({ outcome }) => outcome),
      causes: rows.map(({ cause }) => cause),
      messages: rows.map(({ message }) => message),
      readValues: rows.map(({ read_values }) => read_values),
      startedAts: rows.map(({ started_at }) => started_at),
      endedAts: rows.map(({ ended_at }) => ended_at),
    };
  },
  results: (_, outcome) => [outcome !== 0],
};

export const BEGIN_AGAIN: LaneWrite<{ readonly id: string; readonly numbers: readonly number[] }, boolean> = {
  ...ALONE,
  statement: laneStatement({
    parameters: { id: 'text', numbers: 'bigint[]' },
    parts: `
      begun AS (
        UPDATE study_point SET is_due = false, bundle = NULL
        FROM held, study WHERE study.id = :id AND study.state = 'RUNNING' AND study_seq = study.seq AND is_due
          AND number = ANY (:numbers)
        RETURNING number)`,
    outcome: 'SELECT to_json(count(*)) FROM begun',
  }),
  values: ([call]) => ({ id: call?.id, numbers: call?.numbers }),
  results: ([call], outcome) => [outcome === call?.numbers.length],
};

export const UNBUNDLE: LaneWrite<{ readonly id: string; readonly bundle: number }, void> = {
  ...ALONE,
  statement: laneStatement({
    parameters: { id: 'text', bundle: 'bigint' },
    parts: `
      unbundled AS (
        UPDATE study_point SET bundle = NULL, is_due = true
        FROM held, study WHERE study.id = :id AND study_seq = study.seq AND ${OPEN} AND bundle = :bundle RETURNING number),
      counted AS (
        UPDATE study SET retry_count = retry_count + 1 WHERE study.id = :id AND EXISTS (SELECT FROM unbundled))`,
    outcome: `SELECT 'null'::json`,
  }),
  values: ([call]) => ({ id: call?.id, bundle: call?.bundle }),
  results: () => [undefined],
};

export const END: LaneWrite<
  { readonly id: string; readonly ended: readonly EndedPoint[] },
  readonly boolean[]
> = {
  ...ALONE,
  statement: laneStatement({
    parameters: {
      id: 'text',
      numbers: 'bigint[]',
      tries: 'integer[]',
      outcomes: 'text[]',
      causes: 'text[]',
      messages: 'text[]',
      readValues: 'text[]',
      startedAts: 'bigint[]',
      endedAts: 'bigint[]',
    },
    parts: `
      ended AS (
        UPDATE study_point SET outcome = given.outcome, cause = given.cause, message = given.message,
          read_values = given.read_values, started_at = given.started_at, ended_at = given.ended_at,
          resume_count = study.resume_count
        FROM held, study, (
          SELECT DISTINCT ON (number, tries) *
          FROM unnest(:numbers, :tries, :outcomes, :causes, :messages, :readValues, :startedAts, :endedAts) WITH ORDINALITY
            AS each (number, tries, outcome, cause, message, read_values, started_at, ended_at, place)
          ORDER BY number, tries, place) AS given
        WHERE study.id = :id AND study_point.study_seq = study.seq AND study_point.number = given.number
          AND study_point.tries = given.tries AND study_point.outcome IS NULL AND NOT study_point.is_due
        RETURNING given.place)`,
    outcome: `SELECT coalesce(json_agg(place), '[]') FROM ended`,
  }),
  values: ([call]) => {
    const rows = call?.ended.map(endOfPoint) ?? [];
    return {
      id: call?.id,
      numbers: rows.map(({ number }) => number),
      tries: rows.map(({ tries }) => tries),
      outcomes: rows.map(({ outcome }) => outcome),
      causes: rows.map(({ cause }) => cause),
      messages: rows.map(({ message }) => message),
      readValues: rows.map(({ read_values }) => read_values),
      startedAts: rows.map(({ started_at }) => started_at),
      endedAts: rows.map(({ ended_at }) => ended_at),
    };
  },
  results: ([call], outcome) => [
    call?.ended.map((_, index) => (outcome as readonly number[]).includes(index + 1)) ?? [],
  ],
};

interface Finish {
  readonly id: string;
  readonly retryCount: number;
  readonly atMs: number;
}

/** Both have the deliveries that they made. */
interface ChangeOutcome {
  readonly changed: number;
  readonly made: MadeDeliveries | null;
}

const CHANGE_OUTCOME = `SELECT json_build_object('changed', (SELECT count(*) FROM changed), 'made', ${MADE})`;

const SET_STATE = laneStatement({
  parameters: {
    id: 'text',
    former: 'text[]',
    next: 'text',
    endedAt: 'bigint',
    runningSince: 'bigint',
    since: 'bigint',
    message: 'text',
    ...STUDY_DELIVERY_PARAMETERS,
  },
  parts: `
    changed AS (
      UPDATE study SET state = :next, ended_at = :endedAt, running_since_at = coalesce(:runningSince, running_since_at),
        resume_count = resume_count + CASE :next WHEN 'RUNNING' THEN 1 ELSE 0 END, message = :message, told_count = told_count + CASE WHEN :isTold THEN 1 ELSE 0 END
      FROM held WHERE study.id = :id AND state = ANY (:former)
        AND (:since IS NULL OR coalesce(running_since_at, created_at) = :since)
      RETURNING study.*),
    ${makeStudyDeliveries('changed')}`,
  outcome: CHANGE_OUTCOME,
});

const FINISH = laneStatement({
  parameters: { id: 'text', retryCount: 'bigint', ...STUDY_DELIVERY_PARAMETERS },
  parts: `
    changed AS (
      UPDATE study SET state = 'FINISHED', ended_at = :changedAt, told_count = told_count + 1
      FROM held WHERE study.id = :id AND state IN ${statesBefore('finish')} AND NOT is_open AND begun_count = point_count
        AND retry_count = :retryCount AND ${NO_OPEN_POINT} AND ${NONE_DUE}
      RETURNING study.*),
    ${makeStudyDeliveries('changed')}`,
  outcome: CHANGE_OUTCOME,
});

/** The writes that make deliveries. */
export function stateWrites(outbox: WebhookOutbox): {
  readonly setState: LaneWrite<Change, boolean>;
  readonly finish: LaneWrite<Finish, boolean>;
} {
  const results = (_: unknown, outcome: unknown) => {
    const { changed, made } = outcome as ChangeOutcome;
    outbox.made(made ?? []);
    return [changed !== 0];
  };
  return {
    setState: {
      ...ALONE,
      statement: SET_STATE,
      values: ([call]) => ({
        id: call?.id,
        former: call?.from,
        next: call?.to,
        endedAt: call && endOfChange(call.to, call.atMs),
        runningSince: call && startOfChange(call.to, call.atMs),
        since: call?.runningSinceMs,
        message: call?.message,
        ...outbox.valuesOfStudy(call !== undefined && isTold(call.to, call.message), call?.atMs),
      }),
      results,
    },
    finish: {
      ...ALONE,
      statement: FINISH,
      values: ([call]) => ({
        id: call?.id,
        retryCount: call?.retryCount,
        ...outbox.valuesOfStudy(true, call?.atMs),
      }),
      results,
    },
  };
}
