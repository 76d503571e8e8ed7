/** Statements of lanes: one batch each, with the condition by which it takes place once. */
import type { Database } from '../connection/pool.js';
import { type NamedStatement, type SqlType, sql, type Values } from '../connection/statement.js';

/** Lanes of a hub with the latest batches that it knows to have taken place. */
const WRITTEN_PARAMETERS = { ownLanes: 'integer[]', writtenBatches: 'bigint[]' } as const;
/** Parameters that name a batch. */
const BATCH_PARAMETERS = { laneId: 'integer', incarnation: 'text', batch: 'bigint' } as const;
/** Parameters of every batch. */
const LANE_PARAMETERS = { ...BATCH_PARAMETERS, ...WRITTEN_PARAMETERS } as const;
/** Parameters of batches that log changes: claims that no durable batch has logged yet. */
const LOG_PARAMETERS = { notedSeqs: 'bigint[]', notedBatch: 'bigint' } as const;

/** The term `:term` of the scheduler, whose row is locked until the commit: the next term begins after it (decision 0070). */
export const SCHEDULER_OF_TERM = `
  scheduler AS (SELECT FROM held, scheduler_term WHERE scheduler_term.term = :term FOR KEY SHARE OF scheduler_term)`;

/** Writes of one kind. The calls of a batch are independent of each other: none has a key of another. */
export interface LaneWrite<Call, Result, Parameter extends string = string> {
  readonly statement: NamedStatement;
  /** Whether it survives a crash of the server; otherwise only a crash of the hub. */
  readonly isDurable: boolean;
  keys(call: Call): readonly string[];
  /** Size of a call in characters; small when left out. */
  weight?(call: Call): number;
  /** May read and add what its calls refer to; called once for a batch, or again after a fault. */
  values(calls: readonly Call[]): Values<Parameter> | Promise<Values<Parameter>>;
  /** Called when the batch conflicted with another hub's; then its values are read again. */
  conflicted?(): void;
  /** Results of the calls by the outcome, which the statement has written to the lane, and returns as the column `outcome` of its
   *  first row. */
  results(calls: readonly Call[], outcome: unknown, rows: readonly object[]): readonly Result[];
  /** Results of a batch whose response was lost, for writes that return more than their outcome. */
  recall?(calls: readonly Call[], outcome: unknown, db: Database): Promise<readonly Result[]>;
}

export interface LaneSql<Parameter extends string> {
  readonly parameters: Readonly<Record<Parameter, SqlType>>;
  /** Common table expressions, separated by commas, all of which must read from `held`: it has no row in a batch that has taken
   *  place. */
  readonly parts: string;
  /** Expression of the outcome as JSON. */
  readonly outcome: string;
  /** Changes of tasks: a query of JSON values, `seq` for a changed one and id for a removed one. Batches without it log no
   *  changes. */
  readonly changes?: string;
  readonly isDurable?: boolean;
  /** Main query when more than the outcome is returned. Reads from `saved`, which has one row with `outcome`. */
  readonly returned?: string;
}

/** Condition that a lane of the hub is behind one of these batches, whose effects a crash or a standby has lost. */
function isAnyBehind(batches: string): string {
  return `EXISTS (SELECT FROM unnest(:ownLanes, ${batches}) AS known (id, batch) JOIN lane AS other USING (id)
      WHERE other.batch < known.batch)`;
}

/** A durable statement by default. */
export function laneStatement<Parameter extends string>({
  parameters,
  parts,
  outcome,
  changes,
  isDurable = true,
  returned = 'SELECT outcome FROM saved',
}: LaneSql<Parameter>): NamedStatement {
  const relaxed = isDurable ? '' : ", set_config('synchronous_commit', 'off', true) AS relaxed";
  const log = `
    noted AS (
      SELECT count(*) AS changes, json_agg(change) AS list
      FROM (SELECT to_json(seq) FROM held, unnest(:notedSeqs) AS seq UNION ALL ${changes ?? 'SELECT NULL::json WHERE false'}) AS logged (change)),
    logged AS (
      INSERT INTO task_change (lane_id, first, changes, transaction)
      SELECT held.id, held.changes + 1, noted.list::text, pg_current_xact_id()::text::bigint
      FROM held, noted WHERE noted.changes > 0),`;
  const advance = isDurable
    ? `, changes = lane.changes + noted.changes, logged = greatest(lane.logged, :notedBatch) FROM held, noted`
    : ' FROM held';
  const text = `
    WITH held AS (
      SELECT id, changes${relaxed} FROM lane
      WHERE id = :laneId AND incarnation = :incarnation AND batch = :batch - 1 AND NOT ${isAnyBehind(':writtenBatches')}
      FOR UPDATE),
    ${parts === '' ? '' : `${parts},`}${isDurable ? log : ''}
    saved AS (
      UPDATE lane SET batch = :batch, outcome = (${outcome})::text${advance}
      WHERE lane.id = held.id RETURNING lane.outcome::json AS outcome)
    ${returned}`;
  const all = { ...LANE_PARAMETERS, ...(isDurable ? LOG_PARAMETERS : {}), ...parameters };
  return sql(all as Readonly<Record<string, SqlType>>, text);
}

/** State of a lane, and whether any lane of the hub has lost batches. */
export const LANE_ROW = sql(
  { laneId: 'integer', ...WRITTEN_PARAMETERS, durableBatches: 'bigint[]' },
  `SELECT incarnation, batch, outcome::json AS outcome, ${isAnyBehind(':writtenBatches')} AS "hasLost",
     ${isAnyBehind(':durableBatches')} AS "hasLostDurable" FROM lane WHERE id = :laneId`,
);

/** Changes nothing, durably: when it has been committed, so has every batch that was visible before, on a synchronous standby, too.
 *  Returns no row when the lane is not at this batch. */
export const CONFIRM_BATCH = sql(
  BATCH_PARAMETERS,
  `UPDATE lane SET batch = lane.batch WHERE id = :laneId AND incarnation = :incarnation AND batch = :batch RETURNING batch`,
);

/** Takes the lanes of a hub over: whatever a former incarnation has under way ends before, or changes nothing. Only lanes that are
 *  missing get an id. */
export const OPEN_LANES = sql(
  { hub: 'text', names: 'text[]', incarnation: 'text' },
  `WITH known AS (
     INSERT INTO lane_hub (hub) VALUES (:hub) ON CONFLICT (hub) DO UPDATE SET seen_at = excluded.seen_at),
   taken AS (
     UPDATE lane SET incarnation = :incarnation WHERE hub = :hub AND name = ANY (:names) RETURNING id, name, batch, logged),
   added AS (
     INSERT INTO lane (hub, name, incarnation) SELECT :hub, given.name, :incarnation FROM unnest(:names) AS given (name)
     WHERE NOT EXISTS (SELECT FROM lane WHERE lane.hub = :hub AND lane.name = given.name)
     RETURNING id, name, batch, logged)
   SELECT * FROM taken UNION ALL SELECT * FROM added`,
);
