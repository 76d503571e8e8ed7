/**
 * The log of the changes of tasks, in the transactions that make them (decision 0042). Lanes commit at the same time, and their
 * changes are told in the order of the numbers of their transactions (decision 0055), to which cursors refer (decision 0067).
 */
import type { Timer, Timers } from '@workbench-hub/shared/runtime/runtime';
import type { ChangePage, TaskChange, TaskChanges } from '../../../core/ports/task-changes.js';
import { taskIdOfRow, taskOfRow } from '../../rows/task-row.js';
import type { Database } from '../connection/pool.js';
import { rowsOf, sql } from '../connection/statement.js';
import type { ClaimLog } from '../lanes/claim-log.js';
import { type LaneWrite, laneStatement } from '../lanes/lane-statements.js';
import type { Lanes } from '../lanes/lanes.js';
import { type RowWithTask, TASK_JOINS, TASK_JSON } from '../rows/task-columns.js';
import { cursorAt, MAX_UNDER_WAY, type Place, placeOf } from './change-place.js';

/** Number of changes of a lane after which what is older is removed: some minutes of the highest load, days of a usual one. */
const KEPT_CHANGES = 262_144;

/** Batches that are read at a time. */
const MAX_BATCHES = 256;

/** Looks until those transactions that ended during a look have ended before it. */
const MAX_LOOKS = 3;

/** Time in which claims are gathered before they are logged by a batch of their own. */
const LOG_AFTER_MS = 20;

/** Batches after which old changes are removed. */
const REMOVE_EVERY = 4096;

/** The `seq` of a changed task, or the id of a removed one. */
type Change = number | string;

/**
 * Common table expressions with the state of the log, and the transactions that were under way and may yet log changes: those of
 * sessions that use its table. A session has locked that before its transaction gets a number, so what is in progress after the look
 * at the locks, and does not use the table, logs nothing.
 */
const LOG_STATE = `
  log AS (
    SELECT name AS history, removed, greatest(removed, (SELECT max(transaction) FROM task_change)) AS latest,
      pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS next
    FROM change_history WHERE id = 0),
  unfinished AS MATERIALIZED (
    SELECT xid, xid::text::bigint AS transaction FROM pg_snapshot_xip(pg_current_snapshot()) AS xid, log
    WHERE xid::text::bigint <= log.latest),
  session AS MATERIALIZED (
    SELECT max(transactionid::text::bigint) FILTER (WHERE locktype = 'transactionid' AND mode = 'ExclusiveLock') AS number,
      bool_or(locktype = 'relation' AND relation = 'task_change'::regclass
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())) AS uses_log
    FROM pg_locks WHERE granted AND EXISTS (SELECT FROM unfinished) GROUP BY virtualtransaction),
  under_way AS MATERIALIZED (
    SELECT transaction, pg_xact_status(xid) = 'in progress' AS is_running FROM unfinished
    WHERE CASE WHEN EXISTS (SELECT FROM session WHERE number = transaction % 4294967296 AND uses_log IS NOT TRUE)
      THEN pg_xact_status(xid) <> 'in progress' ELSE true END),
  state AS (
    SELECT log.*, coalesce((SELECT json_agg(transaction ORDER BY transaction) FROM under_way), '[]') AS under_way,
      EXISTS (SELECT FROM under_way WHERE is_running IS NOT TRUE) AS has_ended
    FROM log)`;

interface LogState {
  readonly history: string;
  /** Highest number of a transaction whose changes were removed. */
  readonly removed: number;
  readonly latest: number;
  /** Number that no transaction had yet. */
  readonly next: number;
  readonly under_way: readonly number[];
  /** Whether one of these has ended meanwhile. */
  readonly has_ended: boolean;
}

const LATEST = sql({}, `WITH ${LOG_STATE} SELECT * FROM state`);

/** Batches since a transaction, and of some earlier ones, in the order of their transactions. */
const SINCE = sql(
  { transaction: 'bigint', earlier: 'bigint[]', limit: 'bigint' },
  `WITH ${LOG_STATE},
   logged AS (
     SELECT transaction, changes FROM task_change WHERE transaction = ANY (:earlier)
     UNION ALL
     (SELECT transaction, changes FROM task_change WHERE transaction >= :transaction ORDER BY transaction LIMIT :limit))
   SELECT state.*, logged.transaction, logged.changes::json AS changes
   FROM state LEFT JOIN logged ON true ORDER BY logged.transaction`,
);

interface SinceRow extends LogState {
  /** Null in the only row of a page without batches. */
  readonly transaction: number | null;
  readonly changes: readonly Change[] | null;
}

/** Begins a new history in a database that was moved to another server, whose transactions have lower numbers. */
const BEGIN_AGAIN = sql(
  {},
  `WITH moved AS (
     UPDATE change_history SET name = substr(replace(gen_random_uuid()::text, '-', ''), 1, 12), removed = 0
     WHERE id = 0 AND greatest(removed, (SELECT max(transaction) FROM task_change))
       >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint
     RETURNING id)
   UPDATE task_change SET transaction = 0 FROM moved WHERE transaction > 0`,
);

const TASKS = sql(
  { seqs: 'bigint[]' },
  `SELECT task.seq, ${TASK_JSON} AS task FROM task ${TASK_JOINS} WHERE task.seq = ANY (:seqs)`,
);

/** Logs claims that no other batch has logged. */
const LOG_CLAIMS: LaneWrite<null, null> = {
  statement: laneStatement({
    parameters: {},
    parts: '',
    changes: 'SELECT NULL::json WHERE false',
    outcome: "'null'",
  }),
  isDurable: true,
  keys: () => [],
  values: () => ({}),
  results: (calls) => calls.map(() => null),
};

const REMOVE_OLD: LaneWrite<number, null> = {
  statement: laneStatement({
    isDurable: false,
    parameters: { kept: 'bigint' },
    parts: `
      removed AS (
        DELETE FROM task_change USING held WHERE transaction <= (
          SELECT max(old.transaction) FROM lane CROSS JOIN LATERAL (
            SELECT transaction FROM task_change WHERE lane_id = lane.id AND first <= lane.changes - :kept
            ORDER BY first DESC LIMIT 1) AS old))`,
    outcome: "'null'",
  }),
  isDurable: false,
  keys: () => ['all'],
  values: ([kept]) => ({ kept }),
  results: () => [null],
};

/** Batches of a lane of claims. */
export interface ClaimBatches {
  /** Id of the lane. */
  readonly id: number;
  /** Number of the latest one. */
  readonly batch: number;
}

/** Logs all running tasks at once, and that the claims up to these batches are logged. */
const LOG_RUNNING: LaneWrite<readonly ClaimBatches[], null> = {
  statement: laneStatement({
    parameters: { laneIds: 'integer[]', batches: 'bigint[]' },
    parts: `
      claimed AS (
        UPDATE lane SET logged = greatest(lane.logged, given.batch)
        FROM held, unnest(:laneIds, :batches) AS given (id, batch) WHERE lane.id = given.id)`,
    changes: `(SELECT to_json(seq) FROM held, task WHERE status = 'RUNNING' ORDER BY seq)`,
    outcome: "'null'",
  }),
  isDurable: true,
  keys: () => ['all'],
  values: ([lanes = []]) => ({
    laneIds: lanes.map(({ id }) => id),
    batches: lanes.map(({ batch }) => batch),
  }),
  results: () => [null],
};

interface Logged {
  readonly change: Change;
  /** Place after it. */
  readonly place: Place;
}

export interface ChangeLogOptions {
  readonly db: Database;
  readonly lanes: Lanes;
  readonly claims: ClaimLog;
  readonly timers: Timers;
  readonly keptChanges?: number;
  readonly removeEvery?: number;
  /** Whether other hubs may follow the changes. */
  readonly isShared?: () => boolean;
}

export class ChangeLog implements TaskChanges {
  readonly #options: ChangeLogOptions;
  readonly #watchers = new Set<() => void>();
  #timer: Timer | undefined;
  #batches = 0;

  constructor(options: ChangeLogOptions) {
    this.#options = options;
  }

  async latest(): Promise<string> {
    const [state] = await this.#read<LogState>(() => rowsOf(this.#options.db, LATEST, {}));
    const { history, latest, under_way: underWay } = state;
    const transaction = underWay[MAX_UNDER_WAY] ?? latest + 1;
    return cursorAt(history, { transaction, told: 0, underWay: underWay.slice(0, MAX_UNDER_WAY) });
  }

  async since(cursor: string, limit: number): Promise<ChangePage | null> {
    const asked = placeOf(cursor);
    if (!asked) return null;
    const { transaction, underWay } = asked.place;
    const values = { transaction, earlier: underWay, limit: Math.min(limit, MAX_BATCHES) };
    const rows = await this.#read<SinceRow>(() => rowsOf(this.#options.db, SINCE, values));
    const [state] = rows;
    if (asked.history !== state.history || !isKept(state, asked.place)) return null;
    const { logged, end, isRead } = loggedAfter(asked.place, rows, { changes: limit, batches: values.limit });
    const tasks = await this.#tasksOf(logged);
    const settled = this.#settled(logged, tasks);
    const isSettled = settled.length === logged.length;
    return {
      changes: changesOf(state.history, settled, tasks),
      cursor: cursorAt(state.history, isSettled ? end : (settled.at(-1)?.place ?? asked.place)),
      // Changes after an unsettled one come when it is durable.
      isLast: isRead || !isSettled,
    };
  }

  watch(onChanges: () => void): () => void {
    this.#watchers.add(onChanges);
    this.#logClaimsSoon();
    return () => void this.#watchers.delete(onChanges);
  }

  /** A durable batch took place. */
  written(): void {
    for (const onChanges of [...this.#watchers]) onChanges();
    const { lanes, keptChanges = KEPT_CHANGES, removeEvery = REMOVE_EVERY } = this.#options;
    if (++this.#batches % removeEvery > 0) return;
    // The next time does what a failure leaves.
    lanes.side.write(REMOVE_OLD, keptChanges).catch(() => undefined);
  }

  /** A batch of claims took place. */
  claimed(): void {
    this.#logClaimsSoon();
  }

  /** Logs the running tasks, whose claims a former incarnation or an ended hub may not have logged, and that those of the lanes of
   *  ended hubs are. */
  async logRunning(lanes: readonly ClaimBatches[]): Promise<void> {
    await this.#options.lanes.change.write(LOG_RUNNING, lanes);
  }

  /** Logs what is noted, and ends the timer. */
  async close(): Promise<void> {
    this.#watchers.clear();
    this.#timer?.cancel();
    if (!this.#options.claims.isEmpty) await this.#logClaims();
  }

  #logClaimsSoon(): void {
    const { timers, claims, isShared } = this.#options;
    const isFollowed = this.#watchers.size > 0 || isShared?.();
    if (!isFollowed || this.#timer || claims.isEmpty) return;
    this.#timer = timers.after(LOG_AFTER_MS, () => {
      this.#timer = undefined;
      if (!claims.isEmpty) void this.#logClaims();
    });
  }

  /** The next batch logs what a failure leaves. */
  async #logClaims(): Promise<void> {
    await this.#options.lanes.change.write(LOG_CLAIMS, null).catch(() => undefined);
  }

  async #tasksOf(logged: readonly Logged[]): Promise<ReadonlyMap<Change, RowWithTask>> {
    const seqs = [
      ...new Set(logged.map(({ change }) => change).filter((change) => typeof change === 'number')),
    ];
    if (seqs.length === 0) return new Map();
    const rows = await rowsOf<RowWithTask & { seq: number }, 'seqs'>(this.#options.db, TASKS, { seqs });
    return new Map(rows.map((row) => [row.seq, row]));
  }

  /** The changes up to the first whose task was claimed in a way that a crash of the server may still undo: shown now, its task
   *  would be shown as it may never have been. */
  #settled(logged: readonly Logged[], tasks: ReadonlyMap<Change, RowWithTask>): readonly Logged[] {
    const { claims } = this.#options;
    const at = logged.findIndex(({ change }) => {
      const row = tasks.get(change)?.task;
      return row !== undefined && claims.isNotDurable(taskIdOfRow(row));
    });
    return at < 0 ? logged : logged.slice(0, at);
  }

  /** Reads the state of the log, and what else a statement reads; again when transactions ended meanwhile. */
  async #read<Row extends LogState>(read: () => Promise<Row[]>): Promise<readonly [Row, ...Row[]]> {
    for (let looks = 1; ; looks++) {
      const [state, ...rest] = await read();
      if (!state) throw new Error('the log of changes has no history');
      if (state.latest >= state.next) await rowsOf(this.#options.db, BEGIN_AGAIN, {});
      else if (!state.has_ended || looks === MAX_LOOKS) return [state, ...rest];
    }
  }
}

/** Whether all changes after a place are there, and the place is no later than the latest change. */
function isKept({ removed, latest }: LogState, { transaction, underWay }: Place): boolean {
  return transaction <= latest + 1 && [transaction, ...underWay].every((each) => each > removed);
}

/** The most to read. */
interface PageLimits {
  readonly changes: number;
  readonly batches: number;
}

/** Changes after a place, the place after them, and whether there are no more now. */
function loggedAfter(after: Place, rows: readonly [SinceRow, ...SinceRow[]], limits: PageLimits) {
  const known = new Set(after.underWay);
  const underWay = rows[0].under_way.filter((each) => each >= after.transaction || known.has(each));
  const held = underWay[MAX_UNDER_WAY] ?? Number.POSITIVE_INFINITY;
  const batches = batchesOf(rows).filter(({ transaction }) => transaction < held);
  const earlier = batches.filter(({ transaction }) => transaction < after.transaction);
  const later = batches.slice(earlier.length);
  const places = openPlaces(after, underWay, earlier);
  const logged = loggedEarlier(after, earlier, places);
  let end = places.at(after.transaction, after.told);
  for (const batch of later) {
    const from = batch.transaction === after.transaction ? after.told : 0;
    for (const [at, change] of batch.changes.entries()) {
      if (at < from) continue;
      if (logged.length >= limits.changes) return { logged, end, isRead: false };
      end = placeIn(batch, at + 1, places);
      logged.push({ change, place: end });
    }
  }
  // Changes that are held back come when a transaction before it has ended.
  return { logged, end, isRead: held < Number.POSITIVE_INFINITY || later.length < limits.batches };
}

/** Places after a page or a part of it, with the transactions that are open at them. */
interface OpenPlaces {
  at(transaction: number, told: number): Place;
  /** The changes of an earlier transaction are told: it is open at no place from now on. */
  told(transaction: number): void;
}

/** Open are the transactions that are under way, and those of `earlier` batches until they are told. */
function openPlaces(after: Place, underWay: readonly number[], earlier: readonly Batch[]): OpenPlaces {
  const untold = new Set(earlier.map(({ transaction }) => transaction));
  const open = [...new Set([...after.underWay, ...underWay])].sort((a, b) => a - b);
  const isOpen = (each: number) => untold.has(each) || underWay.includes(each);
  return {
    at: (transaction, told) => ({
      ...{ transaction, told },
      underWay: open.filter((each) => each < transaction && isOpen(each)),
    }),
    told: (transaction) => void untold.delete(transaction),
  };
}

/** The place after the first changes of a batch, as many as are `told`. */
function placeIn({ transaction, changes }: Batch, told: number, places: OpenPlaces): Place {
  return told === changes.length ? places.at(transaction + 1, 0) : places.at(transaction, told);
}

/** Changes of transactions before a place; all of them, since a place does not say how much of them was told. */
function loggedEarlier(after: Place, earlier: readonly Batch[], places: OpenPlaces): Logged[] {
  const logged: Logged[] = [];
  for (const { transaction, changes } of earlier) {
    for (const [at, change] of changes.entries()) {
      if (at === changes.length - 1) places.told(transaction);
      logged.push({ change, place: places.at(after.transaction, after.told) });
    }
  }
  return logged;
}

/** Changes of one transaction. */
interface Batch {
  readonly transaction: number;
  readonly changes: readonly Change[];
}

function batchesOf(rows: readonly SinceRow[]): Batch[] {
  return rows.flatMap(({ transaction, changes }) =>
    transaction === null || changes === null ? [] : [{ transaction, changes }],
  );
}

/** Each task once, at its last change. A task that was removed since is left out: its removal follows. */
function changesOf(
  history: string,
  logged: readonly Logged[],
  tasks: ReadonlyMap<Change, RowWithTask>,
): TaskChange[] {
  const last = new Map(logged.map((each) => [each.change, each]));
  return logged.flatMap((each): TaskChange[] => {
    const { change, place } = each;
    if (last.get(change) !== each) return [];
    const cursor = cursorAt(history, place);
    if (typeof change === 'string') return [{ cursor, taskId: change, task: null }];
    const row = tasks.get(change);
    if (!row) return [];
    const task = taskOfRow(row.task);
    return [{ cursor, taskId: task.id, task }];
  });
}
