/**
 * The log of the changes of tasks, in the transactions that make them (decision 0042). Each lane numbers its own changes, since
 * lanes commit at the same time: what has a lower number in a lane can be read no later. So a place is a number for each lane.
 * Changes of several lanes are told in the order of their transactions (decision 0055).
 */
import type { Timer, Timers } from '@workbench-hub/shared/runtime/runtime';
import type { ChangePage, TaskChange, TaskChanges } from '../../core/ports/task-changes.js';
import type { ClaimLog } from './claim-log.js';
import { type LaneWrite, laneStatement } from './lane-statements.js';
import type { Lanes } from './lanes.js';
import type { Database } from './pool.js';
import { rowsOf, sql } from './statement.js';
import { type RowWithTask, TASK_JOINS, TASK_JSON, taskOfRow } from './task-row.js';

/** Minimum number of kept changes of each lane: some minutes of the highest load, days of a usual one. */
const KEPT_CHANGES = 131_072;

/** Time in which claims are gathered before they are logged by a batch of their own. */
const LOG_AFTER_MS = 20;

/** Batches after which old changes are removed. */
const REMOVE_EVERY = 4096;

/** The `seq` of a changed task, or the id of a removed one. */
type Change = number | string;

/** Numbers of changes by the id of their lane, in the order of the lanes. */
type Place = ReadonlyMap<number, number>;

const LATEST = sql({}, 'SELECT id, changes FROM lane WHERE changes > 0 ORDER BY id');

/** Rows of each lane after a place, from one moment. `oldest` is the first change that is kept. */
const SINCE = sql(
  { laneIds: 'smallint[]', afters: 'bigint[]', limit: 'bigint' },
  `SELECT lane.id, lane.changes AS latest, (SELECT min(first) FROM task_change WHERE lane_id = lane.id) AS oldest,
     logged.first, logged.changes::json AS changes, logged.transaction
   FROM lane LEFT JOIN unnest(:laneIds, :afters) AS place (lane_id, after) ON place.lane_id = lane.id
   LEFT JOIN LATERAL (
     SELECT first, changes, transaction FROM task_change WHERE lane_id = lane.id AND first <= coalesce(place.after, 0) + :limit
       AND first >= coalesce((SELECT max(first) FROM task_change WHERE lane_id = lane.id AND first <= coalesce(place.after, 0) + 1), 0)
   ) AS logged ON lane.changes > coalesce(place.after, 0)
   WHERE lane.changes > 0 ORDER BY lane.id, logged.first`,
);

interface SinceRow {
  readonly id: number;
  readonly latest: number;
  readonly oldest: number | null;
  readonly first: number | null;
  readonly changes: readonly Change[] | null;
  readonly transaction: number | null;
}

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
        DELETE FROM task_change USING held, lane WHERE task_change.lane_id = lane.id
          AND task_change.first <= lane.changes - :kept)`,
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
    parameters: { laneIds: 'smallint[]', batches: 'bigint[]' },
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
  readonly laneId: number;
  readonly number: number;
  readonly change: Change;
}

export interface ChangeLogOptions {
  readonly db: Database;
  readonly lanes: Lanes;
  readonly claims: ClaimLog;
  readonly timers: Timers;
  readonly history: string;
  readonly keptChanges?: number;
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
    const rows = await rowsOf<{ id: number; changes: number }>(this.#options.db, LATEST, {});
    return this.#cursorAt(new Map(rows.map(({ id, changes }) => [id, changes])));
  }

  async since(cursor: string, limit: number): Promise<ChangePage | null> {
    const after = this.#placeOf(cursor);
    if (!after) return null;
    const { db } = this.#options;
    const values = { laneIds: [...after.keys()], afters: [...after.values()], limit };
    const rows = await rowsOf<SinceRow, keyof typeof values>(db, SINCE, values);
    if (!isKept(rows, after)) return null;
    const all = loggedAfter(rows, after);
    const logged = all.slice(0, limit);
    const tasks = await this.#tasksOf(logged);
    const settled = this.#settled(logged, tasks);
    const { changes, place } = this.#changesOf(settled, tasks, after);
    const isRead = rows.every(({ id, latest }) => latest === (place.get(id) ?? 0));
    // Changes after an unsettled one come when it is durable.
    return { changes, cursor: this.#cursorAt(place), isLast: isRead || settled.length < logged.length };
  }

  watch(onChanges: () => void): () => void {
    this.#watchers.add(onChanges);
    this.#logClaimsSoon();
    return () => void this.#watchers.delete(onChanges);
  }

  /** A durable batch took place. */
  written(): void {
    for (const onChanges of [...this.#watchers]) onChanges();
    if (++this.#batches % REMOVE_EVERY === 0) {
      const { lanes, keptChanges = KEPT_CHANGES } = this.#options;
      // The next time does what a failure leaves.
      lanes.side.write(REMOVE_OLD, keptChanges).catch(() => undefined);
    }
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
    const at = logged.findIndex(({ change }) => claims.isUndurable(tasks.get(change)?.task[0] ?? ''));
    return at < 0 ? logged : logged.slice(0, at);
  }

  /** Each task once, at its last change. A task that was removed since is left out: its removal follows. */
  #changesOf(logged: readonly Logged[], tasks: ReadonlyMap<Change, RowWithTask>, after: Place) {
    const last = new Map(logged.map((each) => [each.change, each]));
    const place = new Map(after);
    const changes = logged.flatMap((each): TaskChange[] => {
      const { laneId, number, change } = each;
      place.set(laneId, number);
      if (last.get(change) !== each) return [];
      const cursor = this.#cursorAt(place);
      if (typeof change === 'string') return [{ cursor, taskId: change, task: null }];
      const row = tasks.get(change);
      if (!row) return [];
      const task = taskOfRow(row.task);
      return [{ cursor, taskId: task.id, task }];
    });
    return { changes, place };
  }

  #cursorAt(place: Place): string {
    const numbers = [...place].sort(([a], [b]) => a - b).map(([lane, number]) => `${lane}_${number}`);
    return `${this.#options.history}.${numbers.join('-') || '0'}`;
  }

  #placeOf(cursor: string): Place | undefined {
    const [, history, numbers = ''] = /^(\w+)\.(0|(?:\d+_\d{1,15})(?:-\d+_\d{1,15})*)$/.exec(cursor) ?? [];
    if (history !== this.#options.history) return undefined;
    const place = new Map<number, number>();
    for (const each of numbers === '0' ? [] : numbers.split('-')) {
      const [lane = 0, number = 0] = each.split('_').map(Number);
      place.set(lane, number);
    }
    return this.#cursorAt(place) === cursor ? place : undefined;
  }
}

/** Whether all changes after a place are there, and the place is no later than the latest change. */
function isKept(rows: readonly SinceRow[], after: Place): boolean {
  const latest = new Map(rows.map((row) => [row.id, row.latest]));
  if ([...after].some(([lane, number]) => number > (latest.get(lane) ?? 0))) return false;
  return rows.every((row) => {
    const from = after.get(row.id) ?? 0;
    return row.latest === from || (row.oldest !== null && row.oldest <= from + 1);
  });
}

/** Changes in the order of their transactions. Those of a lane stay in their order, also in a database that was moved to another
 *  server, whose transactions have lower numbers. */
function loggedAfter(rows: readonly SinceRow[], after: Place): Logged[] {
  const lanes = [...new Set(rows.map(({ id }) => id))].map((id) => rows.filter((row) => row.id === id));
  const sorted: SinceRow[] = [];
  for (let left = lanes; left.length > 0; left = left.filter((lane) => lane.length > 0)) {
    const first = left.reduce((a, b) => (transactionOf(b) < transactionOf(a) ? b : a));
    sorted.push(...first.splice(0, 1));
  }
  return sorted.flatMap(({ id, first, changes }) =>
    (changes ?? [])
      .map((change, at) => ({ laneId: id, number: (first ?? 0) + at, change }))
      .filter(({ number }) => number > (after.get(id) ?? 0)),
  );
}

function transactionOf([row]: readonly SinceRow[]): number {
  return row?.transaction ?? 0;
}
