import type { CreatedStudy, Studies } from '../../../core/ports/studies.js';
import type { PlannedPart } from '../../../core/studies/study.js';
import { placeOf } from '../../rows/list-place.js';
import {
  activeStudyOfRow,
  OPEN_POINT_COLUMNS,
  type OpenPointRow,
  openPointOfRow,
  POINT_COLUMNS,
  type PointRow,
  pointOfRow,
  STUDY_COLUMNS,
  type StudyRow,
  studyOfRow,
  studyWindowOf,
  wholeStudyOfRow,
} from '../../rows/study-row.js';
import { FAILED } from '../../rows/study-sql.js';
import type { Database } from '../connection/pool.js';
import { rowOf, rowsOf, sql } from '../connection/statement.js';
import type { Lanes } from '../lanes/lanes.js';
import { countsOf } from '../rows/point-counts.js';
import type { WebhookOutbox } from '../tasks/webhook-outbox.js';
import {
  BEGIN,
  BEGIN_AGAIN,
  CREATE,
  END,
  EXTEND,
  MAY_BE_REMOVED,
  OPEN,
  REMOVE,
  RETRY,
  type Retried,
  stateWrites,
  UNBUNDLE,
} from './study-writes.js';

const SEQ_OF_STUDY = '(SELECT seq FROM study WHERE id = :id)';

const FIND = sql({ id: 'text' }, `SELECT ${STUDY_COLUMNS}, definition FROM study WHERE id = :id`);
const RECORD = sql({ id: 'text' }, `SELECT ${STUDY_COLUMNS} FROM study WHERE id = :id`);
const LIST = sql(
  { name: 'text', below: 'bigint', limit: 'bigint' },
  `SELECT seq, ${STUDY_COLUMNS} FROM study
   WHERE (:name IS NULL OR (name_digest = md5(:name) AND name = :name)) AND seq < :below
   ORDER BY seq DESC LIMIT :limit`,
);
const STATES = sql({}, 'SELECT state, count(*) AS count FROM study GROUP BY state');
const PART = sql(
  { id: 'text', point: 'bigint' },
  `SELECT first, count, plan FROM study_part WHERE study_seq = ${SEQ_OF_STUDY} AND first <= :point
   ORDER BY first DESC LIMIT 1`,
);
const PART_BY_KEY = sql(
  { id: 'text', key: 'text' },
  `SELECT first, count, plan FROM study_part WHERE study_seq = ${SEQ_OF_STUDY} AND key = :key`,
);
const COUNTS = sql({ id: 'text' }, countsOf(SEQ_OF_STUDY));
const FAILED_SINCE_RESUME = sql(
  { id: 'text' },
  `SELECT count(*) AS count FROM study_point WHERE study_seq = ${SEQ_OF_STUDY} AND outcome IN ${FAILED}
     AND resume_count = (SELECT resume_count FROM study WHERE id = :id)`,
);
const ID_BY_KEY = sql(
  { creator: 'text', key: 'text' },
  `SELECT id FROM study WHERE coalesce(creator, '') = :creator AND key = :key`,
);
const WITH_FILE = sql(
  { digest: 'text', limit: 'bigint' },
  `SELECT id, created_at AS "createdAtMs" FROM study
   WHERE seq IN (SELECT study_seq FROM study_file WHERE digest = :digest) ORDER BY seq DESC LIMIT :limit`,
);
const POINTS = sql(
  { id: 'text', after: 'bigint', limit: 'bigint', outcomes: 'text[]' },
  `SELECT ${POINT_COLUMNS} FROM study_point WHERE study_seq = ${SEQ_OF_STUDY} AND number > :after
     AND (:outcomes = '{}' OR coalesce(outcome, 'OPEN') = ANY (:outcomes))
   ORDER BY number LIMIT :limit`,
);
const ENDED_BEFORE = sql(
  { time: 'bigint', limit: 'bigint' },
  `SELECT id FROM study WHERE ended_at < :time AND ${MAY_BE_REMOVED} ORDER BY ended_at LIMIT :limit`,
);
const ACTIVE = sql(
  {},
  `SELECT ${STUDY_COLUMNS} FROM study WHERE seq IN (
     SELECT seq FROM study WHERE state = 'RUNNING' UNION SELECT study_seq FROM study_point WHERE ${OPEN})
   ORDER BY seq`,
);
const OPEN_POINTS = sql(
  { id: 'text', limit: 'bigint' },
  `SELECT ${OPEN_POINT_COLUMNS} FROM study_point WHERE study_seq = ${SEQ_OF_STUDY} AND ${OPEN}
   ORDER BY number LIMIT :limit`,
);
const DUE_POINTS = sql(
  { id: 'text', limit: 'bigint' },
  `SELECT ${OPEN_POINT_COLUMNS} FROM study_point WHERE study_seq = ${SEQ_OF_STUDY} AND is_due
   ORDER BY number LIMIT :limit`,
);

export function postgresStudies(db: Database, { change }: Lanes, outbox: WebhookOutbox): Studies {
  const { setState, finish } = stateWrites(outbox);
  return {
    ...studyReads(db),
    create: (study) => change.write(CREATE, study),
    extend: (id, part, nowMs) => change.write(EXTEND, { id, part, nowMs }),
    setState: (id, from, to, why) => change.write(setState, { id, from, to, ...why }),
    retry: async (id, outcomes, nowMs) => {
      let retried = 0;
      for (let after: number | null = 0; after !== null; ) {
        const part: Retried = await change.write(RETRY, { id, outcomes, nowMs, after });
        retried += part.count;
        after = part.next;
      }
      return retried;
    },
    remove: (id) => change.write(REMOVE, id),
    begin: (id, begunCount, points) => change.write(BEGIN, { id, begunCount, points }),
    unbundle: (id, bundle) => change.write(UNBUNDLE, { id, bundle }),
    end: async (id, ended) => [...(await change.write(END, { id, ended }))],
    beginAgain: (id, numbers) => change.write(BEGIN_AGAIN, { id, numbers }),
    finish: (id, retryCount, atMs) => change.write(finish, { id, retryCount, atMs }),
  };
}

interface PartRow {
  readonly first: number;
  readonly count: number;
  readonly plan: string;
}

function partOfRow(row: PartRow | undefined): PlannedPart | undefined {
  return row && { ...row, plan: JSON.parse(row.plan) };
}

function studyReads(
  db: Database,
): Pick<
  Studies,
  | 'find'
  | 'record'
  | 'idByKey'
  | 'list'
  | 'states'
  | 'partWith'
  | 'partByKey'
  | 'counts'
  | 'failedSinceResume'
  | 'withFile'
  | 'points'
  | 'endedBefore'
  | 'active'
  | 'open'
  | 'due'
> {
  const pointsOf = (statement: typeof OPEN_POINTS, id: string, limit: number) =>
    rowsOf<OpenPointRow, 'id' | 'limit'>(db, statement, { id, limit });
  return {
    find: async (id) => {
      const row = await rowOf<StudyRow & { definition: string }, 'id'>(db, FIND, { id });
      return row && wholeStudyOfRow(row);
    },
    record: async (id) => {
      const row = await rowOf<StudyRow, 'id'>(db, RECORD, { id });
      return row && studyOfRow(row);
    },
    list: async ({ name, after, limit }) => {
      const values = { name, below: placeOf(after), limit: limit + 1 };
      const rows = await rowsOf<StudyRow & { seq: number }, keyof typeof values>(db, LIST, values);
      return studyWindowOf(rows, limit);
    },
    states: async () => {
      const rows = await rowsOf<{ state: string; count: number }, never>(db, STATES, {});
      return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
    },
    partWith: async (id, point) => {
      const values = { id, point };
      return partOfRow(await rowOf<PartRow, keyof typeof values>(db, PART, values));
    },
    partByKey: async (id, key) => {
      const values = { id, key };
      return partOfRow(await rowOf<PartRow, keyof typeof values>(db, PART_BY_KEY, values));
    },
    counts: async (id) => {
      const rows = await rowsOf<{ outcome: string; count: number }, 'id'>(db, COUNTS, { id });
      return Object.fromEntries(rows.map(({ outcome, count }) => [outcome, count]));
    },
    failedSinceResume: async (id) =>
      (await rowOf<{ count: number }, 'id'>(db, FAILED_SINCE_RESUME, { id }))?.count ?? 0,
    idByKey: async (creator, key) => {
      const values = { creator: creator ?? '', key };
      return (await rowOf<{ id: string }, keyof typeof values>(db, ID_BY_KEY, values))?.id;
    },
    withFile: async ({ digest }, limit) => {
      const values = { digest, limit };
      return rowsOf<CreatedStudy, keyof typeof values>(db, WITH_FILE, values);
    },
    points: async (id, { after, limit, outcomes }) => {
      const values = { id, after, limit, outcomes };
      return (await rowsOf<PointRow, keyof typeof values>(db, POINTS, values)).map(pointOfRow);
    },
    endedBefore: async (timeMs, limit) => {
      const values = { time: timeMs, limit };
      return (await rowsOf<{ id: string }, keyof typeof values>(db, ENDED_BEFORE, values)).map(
        ({ id }) => id,
      );
    },
    active: async () => (await rowsOf<StudyRow, never>(db, ACTIVE, {})).map(activeStudyOfRow),
    open: async (id, limit) => (await pointsOf(OPEN_POINTS, id, limit)).map(openPointOfRow),
    due: async (id, limit) => (await pointsOf(DUE_POINTS, id, limit)).map(openPointOfRow),
  };
}
