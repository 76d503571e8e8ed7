import { filesOfJob } from '@workbench-hub/shared/domain/job';
import type { CreatedStudy, Studies } from '../../../core/ports/studies.js';
import { endOfChange, isTold, type NewStudy, startOfChange } from '../../../core/studies/study.js';
import { placeOf } from '../../rows/list-place.js';
import {
  activeStudyOfRow,
  begunPointAsColumns,
  endOfPoint,
  type NewStudyRow,
  OPEN_POINT_COLUMNS,
  type OpenPointRow,
  openPointOfRow,
  POINT_COLUMNS,
  type PointRow,
  pointOfRow,
  rowOfStudy,
  STUDY_COLUMNS,
  type StudyRow,
  studyOfRow,
  studyWindowOf,
  wholeStudyOfRow,
} from '../../rows/study-row.js';
import { FAILED, GROWING, runAgain, statesBefore } from '../../rows/study-sql.js';
import type { SqliteDatabase } from '../connection/database.js';
import type { GroupCommit } from '../connection/group-commit.js';
import { countsOf } from '../rows/point-counts.js';
import type { WebhookOutbox } from '../tasks/webhook-outbox.js';

/** `outbox` makes the deliveries that tell of changes. */
export function sqliteStudies(
  db: SqliteDatabase,
  commit: GroupCommit,
  outbox: Pick<WebhookOutbox, 'studyChanged'>,
): Studies {
  const sql = statements(db);
  const insert = (study: NewStudy) => {
    const { is_open, ...row } = rowOfStudy(study);
    const seq = sql.insert.get({ ...row, is_open: Number(is_open) });
    if (seq === undefined) return false;
    if (study.pointCount > 0) {
      const plan = JSON.stringify(study.plan);
      sql.insertPart.run({ seq, first: 1, count: study.pointCount, plan, key: null });
    }
    filesOfJob(study.definition.job).forEach(({ digest, sizeBytes, encrypted }, position) => {
      sql.insertFile.run({ seq, position, digest, sizeBytes, encrypted: encrypted ? 1 : 0 });
    });
    return true;
  };
  return {
    create: (study) => commit.durable(() => insert(study)),
    ...studyReads(sql),
    extend: (id, { first, count, plan, key }, now) =>
      commit.durable(() => {
        const seq = sql.extend.get({ id, first, count, now });
        if (seq !== undefined) sql.insertPart.run({ seq, first, count, plan: JSON.stringify(plan), key });
        return seq !== undefined;
      }),
    setState: (id, from, to, { atMs, runningSinceMs: since = null, message }) =>
      commit.durable(() => {
        const times = { endedAtMs: endOfChange(to, atMs), runningSinceMs: startOfChange(to, atMs) };
        const seq = sql.setState.get({ id, from: JSON.stringify(from), to, since, ...times, message });
        if (seq !== undefined && isTold(to, message)) outbox.studyChanged(seq, atMs);
        return seq !== undefined;
      }),
    retry: (id, outcomes, now) =>
      commit.durable(() => {
        const { changes } = sql.retry.run({ id, outcomes: JSON.stringify(outcomes) });
        if (changes > 0) sql.runAgain.run({ id, now });
        return changes;
      }),
    remove: (id) => commit.freeing(() => sql.remove.run(id).changes > 0),
    begin: (id, begunCount, points) =>
      commit.durable(() => {
        const seq = sql.begin.get({ id, begunCount, count: points.length });
        if (seq === undefined) return false;
        for (const [index, point] of points.entries()) {
          sql.insertPoint.run({ seq, number: begunCount + index + 1, ...begunPointAsColumns(point) });
        }
        return true;
      }),
    beginAgain: (id, numbers) =>
      commit.durable(
        () => sql.beginAgain.run({ id, numbers: JSON.stringify(numbers) }).changes === numbers.length,
      ),
    unbundle: (id, bundle) =>
      commit.durable(() => {
        if (sql.unbundle.run({ id, bundle }).changes > 0) sql.countRetry.run(id);
      }),
    end: (id, ended) =>
      commit.durable(() => ended.map((point) => sql.end.run({ id, ...endOfPoint(point) }).changes > 0)),
    finish: (id, retryCount, atMs) =>
      commit.durable(() => {
        const seq = sql.finish.get({ id, retryCount, atMs });
        if (seq !== undefined) outbox.studyChanged(seq, atMs);
        return seq !== undefined;
      }),
  };
}

interface Change {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly endedAtMs: number | null;
  readonly runningSinceMs: number | null;
  readonly since: number | null;
  readonly message: string | null;
}

interface PartRow {
  readonly first: number;
  readonly count: number;
  readonly plan: string;
}

function studyReads(sql: ReturnType<typeof statements>) {
  return {
    find: async (id) => {
      const row = sql.select.get(id);
      return row && wholeStudyOfRow(row);
    },
    record: async (id) => {
      const row = sql.selectRecord.get(id);
      return row && studyOfRow(row);
    },
    list: async ({ name, after, limit }) =>
      studyWindowOf(sql.list.all({ name, below: placeOf(after), limit: limit + 1 }), limit),
    partWith: async (id, point) => {
      const row = sql.part.get({ id, point });
      return row && { ...row, plan: JSON.parse(row.plan) };
    },
    partByKey: async (id, key) => {
      const row = sql.partByKey.get({ id, key });
      return row && { ...row, plan: JSON.parse(row.plan) };
    },
    states: async () => Object.fromEntries(sql.states.all().map(({ state, count }) => [state, count])),
    failedSinceResume: async (id) => sql.failedSinceResume.get({ id }) ?? 0,
    counts: async (id) =>
      Object.fromEntries(sql.counts.all({ id }).map(({ outcome, count }) => [outcome, count])),
    idByKey: async (creator, key) => sql.idByKey.get({ creator: creator ?? '', key }),
    withFile: async ({ digest }, limit) => sql.withFile.all({ digest, limit }),
    points: async (id, { after, limit, outcomes }) =>
      sql.points.all({ id, after, limit, outcomes: JSON.stringify(outcomes) }).map(pointOfRow),
    endedBefore: async (timeMs, limit) => sql.endedBefore.all({ timeMs, limit }),
    active: async () => sql.active.all().map(activeStudyOfRow),
    open: async (id, limit) => sql.open.all({ id, limit }).map(openPointOfRow),
    due: async (id, limit) => sql.due.all({ id, limit }).map(openPointOfRow),
  } satisfies Partial<Studies>;
}

const IN_STUDY = 'study_seq = (SELECT seq FROM study WHERE id = @id)';
const OPEN = 'outcome IS NULL AND is_due = 0';
/** Points by indexes that have only the few of them; SQLite itself would take the primary key, and read all points of the study. */
const OPEN_POINTS = 'study_point INDEXED BY study_point_open';
const DUE_POINTS = 'study_point INDEXED BY study_point_due';
const NO_OPEN_POINT = `NOT EXISTS (SELECT 1 FROM ${OPEN_POINTS} WHERE study_seq = seq AND ${OPEN})`;
const NONE_DUE = `NOT EXISTS (SELECT 1 FROM ${DUE_POINTS} WHERE study_seq = seq AND is_due = 1)`;

/** The statements, prepared once. */
function statements(db: SqliteDatabase) {
  return { ...studyStatements(db), ...pointStatements(db) };
}

function studyStatements(db: SqliteDatabase) {
  return {
    insert: db
      .prepare<[Omit<NewStudyRow, 'is_open'> & { is_open: number }], number>(`
        INSERT INTO study (${STUDY_COLUMNS}, definition, key, notify_url, notify_receiver) VALUES (@id, @name, @note, @creator, @state,
          @message, @created_at, @running_since_at, @ended_at, @point_count, @begun_count, @retry_count, @is_open, @definition,
          @key, @notify_url, @notify_receiver)
        ON CONFLICT DO NOTHING RETURNING seq`)
      .pluck(),
    insertPart: db.prepare<[PartRow & { seq: number; key: string | null }]>(
      'INSERT INTO study_part (study_seq, first, count, plan, key) VALUES (@seq, @first, @count, @plan, @key)',
    ),
    insertFile: db.prepare<
      [{ seq: number; position: number; digest: string; sizeBytes: number; encrypted: number }]
    >(`
      INSERT INTO study_file (study_seq, position, digest, size_bytes, encrypted)
      VALUES (@seq, @position, @digest, @sizeBytes, @encrypted)`),
    select: db.prepare<[string], StudyRow & { definition: string }>(
      `SELECT ${STUDY_COLUMNS}, definition FROM study WHERE id = ?`,
    ),
    selectRecord: db.prepare<[string], StudyRow>(`SELECT ${STUDY_COLUMNS} FROM study WHERE id = ?`),
    list: db.prepare<[{ name: string | null; below: number; limit: number }], StudyRow & { seq: number }>(`
      SELECT seq, ${STUDY_COLUMNS} FROM study WHERE (@name IS NULL OR name = @name) AND seq < @below
      ORDER BY seq DESC LIMIT @limit`),
    states: db.prepare<[], { state: string; count: number }>(
      'SELECT state, count(*) AS count FROM study GROUP BY state',
    ),
    idByKey: db
      .prepare<[{ creator: string; key: string }], string>(
        "SELECT id FROM study WHERE coalesce(creator, '') = @creator AND key = @key",
      )
      .pluck(),
    withFile: db.prepare<[{ digest: string; limit: number }], CreatedStudy>(`
      SELECT id, created_at AS createdAtMs FROM study WHERE seq IN (SELECT study_seq FROM study_file WHERE digest = @digest)
      ORDER BY seq DESC LIMIT @limit`),
    part: db.prepare<[{ id: string; point: number }], PartRow>(`
      SELECT first, count, plan FROM study_part WHERE ${IN_STUDY} AND first <= @point ORDER BY first DESC LIMIT 1`),
    partByKey: db.prepare<[{ id: string; key: string }], PartRow>(
      `SELECT first, count, plan FROM study_part WHERE ${IN_STUDY} AND key = @key`,
    ),
    extend: db
      .prepare<[{ id: string; first: number; count: number; now: number }], number>(`
        UPDATE study SET point_count = point_count + @count,
          ${runAgain('@now')}
        WHERE id = @id AND point_count = @first - 1 AND state IN ${GROWING} RETURNING seq`)
      .pluck(),
    setState: db
      .prepare<[Change], number>(`
        UPDATE study SET state = @to, ended_at = @endedAtMs, running_since_at = coalesce(@runningSinceMs, running_since_at),
          resume_count = resume_count + (@to = 'RUNNING'), message = @message
        WHERE id = @id AND state IN (SELECT value FROM json_each(@from))
          AND (@since IS NULL OR coalesce(running_since_at, created_at) = @since)
        RETURNING seq`)
      .pluck(),
    runAgain: db.prepare<[{ id: string; now: number }]>(`
      UPDATE study SET retry_count = retry_count + 1, ${runAgain('@now')} WHERE id = @id`),
    remove: db.prepare<[string]>(
      `DELETE FROM study WHERE id = ? AND state IN ${statesBefore('remove')} AND ${NO_OPEN_POINT}`,
    ),
    endedBefore: db
      .prepare<[{ timeMs: number; limit: number }], string>(`
        SELECT id FROM study WHERE ended_at < @timeMs AND state IN ${statesBefore('remove')} AND ${NO_OPEN_POINT}
        ORDER BY ended_at LIMIT @limit`)
      .pluck(),
    active: db.prepare<[], StudyRow>(`
      SELECT ${STUDY_COLUMNS} FROM study WHERE seq IN (
        SELECT seq FROM study WHERE state = 'RUNNING'
        UNION SELECT study_seq FROM ${OPEN_POINTS} WHERE ${OPEN})
      ORDER BY seq`),
    finish: db
      .prepare<[{ id: string; retryCount: number; atMs: number }], number>(`
        UPDATE study SET state = 'FINISHED', ended_at = @atMs
        WHERE id = @id AND state IN ${statesBefore('finish')} AND is_open = 0 AND begun_count = point_count AND retry_count = @retryCount
          AND ${NO_OPEN_POINT} AND ${NONE_DUE}
        RETURNING seq`)
      .pluck(),
  };
}

function pointStatements(db: SqliteDatabase) {
  return {
    counts: db.prepare<[{ id: string }], { outcome: string; count: number }>(
      countsOf('(SELECT seq FROM study WHERE id = @id)'),
    ),
    failedSinceResume: db
      .prepare<[{ id: string }], number>(`
        SELECT count(*) FROM study_point WHERE ${IN_STUDY} AND outcome IN ${FAILED}
          AND resume_count = (SELECT resume_count FROM study WHERE id = @id)`)
      .pluck(),
    points: db.prepare<[{ id: string; after: number; limit: number; outcomes: string }], PointRow>(`
      SELECT ${POINT_COLUMNS} FROM study_point WHERE ${IN_STUDY} AND number > @after
        AND (@outcomes = '[]' OR coalesce(outcome, 'OPEN') IN (SELECT value FROM json_each(@outcomes)))
      ORDER BY number LIMIT @limit`),
    open: db.prepare<[{ id: string; limit: number }], OpenPointRow>(`
      SELECT ${OPEN_POINT_COLUMNS} FROM ${OPEN_POINTS} WHERE ${IN_STUDY} AND ${OPEN} ORDER BY number LIMIT @limit`),
    due: db.prepare<[{ id: string; limit: number }], OpenPointRow>(`
      SELECT ${OPEN_POINT_COLUMNS} FROM ${DUE_POINTS} WHERE ${IN_STUDY} AND is_due = 1 ORDER BY number LIMIT @limit`),
    beginAgain: db.prepare<[{ id: string; numbers: string }]>(`
      UPDATE study_point SET is_due = 0, bundle = NULL
      WHERE study_seq = (SELECT seq FROM study WHERE id = @id AND state = 'RUNNING') AND is_due = 1
        AND number IN (SELECT value FROM json_each(@numbers))`),
    begin: db
      .prepare<[{ id: string; begunCount: number; count: number }], number>(`
        UPDATE study SET begun_count = begun_count + @count
        WHERE id = @id AND state = 'RUNNING' AND begun_count = @begunCount AND begun_count + @count <= point_count
        RETURNING seq`)
      .pluck(),
    insertPoint: db.prepare<[{ seq: number; number: number } & ReturnType<typeof begunPointAsColumns>]>(`
      INSERT INTO study_point (study_seq, number, tries, is_due, variables, bundle, not_reused, source, outcome, cause, message, read_values,
        started_at, ended_at, resume_count)
      VALUES (@seq, @number, 1, 0, @variables, @bundle, @not_reused, @source, @outcome, @cause, @message, @read_values, @started_at,
        @ended_at, (SELECT resume_count FROM study WHERE seq = @seq))`),
    unbundle: db.prepare<[{ id: string; bundle: number }]>(`
      UPDATE ${OPEN_POINTS} SET bundle = NULL, is_due = 1 WHERE ${IN_STUDY} AND ${OPEN} AND bundle = @bundle`),
    countRetry: db.prepare<[string]>('UPDATE study SET retry_count = retry_count + 1 WHERE id = ?'),
    end: db.prepare<[{ id: string } & ReturnType<typeof endOfPoint>]>(`
      UPDATE study_point SET outcome = @outcome, cause = @cause, message = @message, read_values = @read_values,
        started_at = @started_at, ended_at = @ended_at, resume_count = (SELECT resume_count FROM study WHERE id = @id)
      WHERE ${IN_STUDY} AND number = @number AND tries = @tries AND ${OPEN}`),
    retry: db.prepare<[{ id: string; outcomes: string }]>(`
      UPDATE study_point SET tries = tries + 1, is_due = 1, bundle = NULL, outcome = NULL, cause = NULL, message = NULL, read_values = NULL,
        source = NULL, not_reused = NULL, started_at = NULL, ended_at = NULL
      WHERE ${IN_STUDY} AND outcome IN (SELECT value FROM json_each(@outcomes))`),
  };
}
