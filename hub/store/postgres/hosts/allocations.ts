import type { Allocation, AllocationState } from '../../../core/hosts/allocation.js';
import type { Allocations, RecipeNoteChange } from '../../../core/ports/allocations.js';
import {
  ALLOCATION_COLUMNS,
  type AllocationRow,
  allocationOfRow,
  IS_OPEN_ALLOCATION,
  LATEST_ALLOCATIONS,
  LONGEST_ALLOCATION,
  noteOfRow,
  type RanForUserRow,
  type RanInPeriodRow,
  type RecipeNoteRow,
  ranForUserOfRow,
  ranInPeriodOfRow,
  rowOfAllocation,
  valuesOfNote,
} from '../../rows/allocation-row.js';
import type { Database } from '../connection/pool.js';
import { rowOf, rowsOf, sql } from '../connection/statement.js';
import { type LaneWrite, laneStatement, SCHEDULER_OF_TERM } from '../lanes/lane-statements.js';
import type { Lanes } from '../lanes/lanes.js';

/** A write of the hub that has the role of the scheduler. */
interface Write {
  readonly allocation: Allocation;
  /** State before; null for a new one. */
  readonly from: AllocationState | null;
  readonly term: number;
}

const ROW_PARAMETERS = {
  id: 'text',
  recipe: 'text',
  state: 'text',
  jobId: 'text',
  reason: 'text',
  forUser: 'text',
  cause: 'text',
  message: 'text',
  wantedAt: 'bigint',
  startedAt: 'bigint',
  joinedAt: 'bigint',
  endsAt: 'bigint',
  endedAt: 'bigint',
} as const;

function valuesOf({ allocation, from, term }: Write) {
  const row = rowOfAllocation(allocation);
  const { id, recipe, state, job_id: jobId, reason, for_user: forUser, cause, message } = row;
  return {
    ...{ id, recipe, state, jobId, reason, forUser, cause, message, from, term },
    wantedAt: row.wanted_at,
    startedAt: row.started_at,
    joinedAt: row.joined_at,
    endsAt: row.ends_at,
    endedAt: row.ended_at,
  };
}

/** One call in a batch. */
const ALONE = {
  isDurable: true,
  keys: () => ['all'],
  values: ([write]: readonly Write[]) => (write ? valuesOf(write) : {}),
  results: (_: readonly Write[], outcome: unknown) => [outcome !== 0],
} as const;

const ADD: LaneWrite<Write, boolean> = {
  ...ALONE,
  statement: laneStatement({
    parameters: { ...ROW_PARAMETERS, from: 'text', term: 'bigint' },
    parts: `${SCHEDULER_OF_TERM},
      changed AS (
        INSERT INTO allocation (${ALLOCATION_COLUMNS})
        SELECT :id, :recipe, :state, :jobId, :reason, :forUser, :cause, :message, :wantedAt, :startedAt, :joinedAt, :endsAt, :endedAt
        FROM scheduler WHERE :from::text IS NULL RETURNING seq)`,
    outcome: 'SELECT to_json(count(*)) FROM changed',
  }),
};

const CHANGE: LaneWrite<Write, boolean> = {
  ...ALONE,
  statement: laneStatement({
    parameters: { ...ROW_PARAMETERS, from: 'text', term: 'bigint' },
    parts: `${SCHEDULER_OF_TERM},
      changed AS (
        UPDATE allocation SET state = :state, job_id = :jobId, cause = :cause, message = :message, started_at = :startedAt,
          joined_at = :joinedAt, ends_at = :endsAt, ended_at = :endedAt
        FROM scheduler
        WHERE allocation.id = :id AND allocation.state = :from AND allocation.recipe = :recipe
          AND allocation.reason = :reason AND allocation.for_user IS NOT DISTINCT FROM :forUser AND allocation.wanted_at = :wantedAt
        RETURNING seq)`,
    outcome: 'SELECT to_json(count(*)) FROM changed',
  }),
};

const REMOVE: LaneWrite<{ readonly before: number; readonly limit: number }, number> = {
  isDurable: true,
  keys: () => ['all'],
  statement: laneStatement({
    parameters: { before: 'bigint', limit: 'bigint' },
    parts: `
      removed AS (
        DELETE FROM allocation USING held
        WHERE seq IN (SELECT seq FROM allocation WHERE ended_at < :before LIMIT :limit) RETURNING seq)`,
    outcome: 'SELECT to_json(count(*)) FROM removed',
  }),
  values: ([call]) => ({ ...call }),
  results: (_, outcome) => [Number(outcome)],
};

interface NewNote {
  readonly recipe: string;
  readonly change: RecipeNoteChange;
}

const NOTE: LaneWrite<NewNote, null> = {
  isDurable: true,
  keys: () => ['all'],
  statement: laneStatement({
    parameters: {
      recipe: 'text',
      pausedAt: 'bigint',
      pausedBy: 'text',
      resumedAt: 'bigint',
      drainedAt: 'bigint',
      drainedBy: 'text',
      fault: 'text',
      hasPause: 'integer',
      hasResumption: 'integer',
      hasDrain: 'integer',
      hasFault: 'integer',
    },
    parts: `
      noted_recipe AS (
        INSERT INTO host_recipe AS known (recipe, paused_at, paused_by, resumed_at, drained_at, drained_by, fault)
        SELECT :recipe, :pausedAt, :pausedBy, :resumedAt, :drainedAt, :drainedBy, :fault FROM held
        ON CONFLICT (recipe) DO UPDATE SET
          paused_at = CASE :hasPause WHEN 1 THEN excluded.paused_at ELSE known.paused_at END,
          paused_by = CASE :hasPause WHEN 1 THEN excluded.paused_by ELSE known.paused_by END,
          resumed_at = CASE :hasResumption WHEN 1 THEN excluded.resumed_at ELSE known.resumed_at END,
          drained_at = CASE :hasDrain WHEN 1 THEN excluded.drained_at ELSE known.drained_at END,
          drained_by = CASE :hasDrain WHEN 1 THEN excluded.drained_by ELSE known.drained_by END,
          fault = CASE :hasFault WHEN 1 THEN excluded.fault ELSE known.fault END)`,
    outcome: "'null'",
  }),
  values: ([call]) => (call ? { recipe: call.recipe, ...valuesOfNote(call.change) } : {}),
  results: () => [null],
};

const NOTES = sql(
  {},
  'SELECT recipe, paused_at, paused_by, resumed_at, drained_at, drained_by, fault FROM host_recipe ORDER BY recipe',
);
const OPEN = sql({}, `SELECT ${ALLOCATION_COLUMNS} FROM allocation WHERE ${IS_OPEN_ALLOCATION} ORDER BY seq`);
const FIND = sql({ id: 'text' }, `SELECT ${ALLOCATION_COLUMNS} FROM allocation WHERE id = :id`);
const LATEST = sql({ recipe: 'text', limit: 'bigint', now: 'bigint' }, LATEST_ALLOCATIONS);
/** Time until which an allocation ran. Its end may have been noticed long after that of its time. */
const RAN_UNTIL = 'least(coalesce(ended_at, :now), ends_at)';
const RAN = sql(
  { since: 'bigint', now: 'bigint' },
  `SELECT recipe, sum(greatest(0, ${RAN_UNTIL} - greatest(started_at, :since)))::bigint AS ran FROM (
     SELECT recipe, started_at, ends_at, ended_at FROM allocation WHERE ended_at > :since
     UNION ALL SELECT recipe, started_at, ends_at, ended_at FROM allocation WHERE ${IS_OPEN_ALLOCATION}) AS known
   WHERE started_at IS NOT NULL GROUP BY recipe`,
);
const RAN_FOR_USERS = sql(
  { since: 'bigint', now: 'bigint' },
  `SELECT recipe, for_user, sum(greatest(0, ${RAN_UNTIL} - greatest(started_at, :since)))::bigint AS ran FROM (
     SELECT recipe, for_user, started_at, ends_at, ended_at FROM allocation WHERE ended_at > :since
     UNION ALL SELECT recipe, for_user, started_at, ends_at, ended_at FROM allocation WHERE ${IS_OPEN_ALLOCATION}) AS known
   WHERE started_at IS NOT NULL AND for_user IS NOT NULL
   GROUP BY recipe, for_user ORDER BY recipe, for_user`,
);
const RAN_IN = sql(
  { since: 'bigint[]', until: 'bigint[]', now: 'bigint' },
  `WITH period AS (
     SELECT at - 1 AS at, since, until FROM unnest(:since, :until) WITH ORDINALITY AS asked (since, until, at))
   SELECT at, recipe, sum(greatest(0, least(${RAN_UNTIL}, until) - greatest(started_at, since)))::bigint AS ran FROM (
     SELECT at, since, until, recipe, started_at, ends_at, ended_at FROM period JOIN allocation
       ON ended_at > since AND ended_at < until + (${LONGEST_ALLOCATION})
     UNION ALL SELECT at, since, until, recipe, started_at, ends_at, ended_at FROM period JOIN allocation
       ON ${IS_OPEN_ALLOCATION} AND :now > since) AS known
   WHERE started_at < until GROUP BY at, recipe ORDER BY at, recipe`,
);
// An allocation that came and went between two looks has raised the highest number.
const VERSION = sql(
  {},
  `SELECT (SELECT coalesce(max(seq), 0) FROM allocation) || '/' || coalesce(string_agg(seq::text, ',' ORDER BY seq), '') AS version
   FROM allocation WHERE ${IS_OPEN_ALLOCATION}`,
);

export function postgresAllocations(db: Database, { change }: Lanes): Allocations {
  return {
    notes: async () => (await rowsOf<RecipeNoteRow, never>(db, NOTES, {})).map(noteOfRow),
    note: async (recipe, noted) => void (await change.write(NOTE, { recipe, change: noted })),
    add: (allocation, term) => change.write(ADD, { allocation, from: null, term }),
    change: (allocation, from, term) => change.write(CHANGE, { allocation, from, term }),
    open: async () => (await rowsOf<AllocationRow, never>(db, OPEN, {})).map(allocationOfRow),
    find: async (id) => {
      const row = await rowOf<AllocationRow, 'id'>(db, FIND, { id });
      return row && allocationOfRow(row);
    },
    latest: async ({ recipe, limit, nowMs: now }) =>
      (await rowsOf<AllocationRow, 'recipe' | 'limit' | 'now'>(db, LATEST, { recipe, limit, now })).map(
        allocationOfRow,
      ),
    ranSince: async (since, now) => {
      const rows = await rowsOf<{ recipe: string; ran: number }, 'since' | 'now'>(db, RAN, { since, now });
      return new Map(rows.map(({ recipe, ran }) => [recipe, Number(ran)]));
    },
    ranForUsersSince: async (since, now) =>
      (await rowsOf<RanForUserRow, 'since' | 'now'>(db, RAN_FOR_USERS, { since, now })).map(ranForUserOfRow),
    ranIn: async (periods, now) => {
      const values = {
        since: periods.map(({ fromMs }) => fromMs),
        until: periods.map(({ untilMs }) => untilMs),
        now,
      };
      const rows = await rowsOf<RanInPeriodRow, keyof typeof values>(db, RAN_IN, values);
      return rows.map(ranInPeriodOfRow);
    },
    version: async () => (await rowOf<{ version: string }, never>(db, VERSION, {}))?.version ?? '',
    removeBefore: (before, limit) => change.write(REMOVE, { before, limit }),
  };
}
