/**
 * The log of the changes of tasks, in the transactions that make them (decision 0042). Changes are numbered in their order, and
 * a transaction adds one row with all of its changes. A number is told only when it is durable: a power failure undoes the last
 * claims, and their numbers are used again.
 */
import type { Timer, Timers } from '@workbench-hub/shared/runtime/runtime';
import type { ChangePage, TaskChange, TaskChanges } from '../../../core/ports/task-changes.js';
import { type TaskRow, taskOfRow } from '../../rows/task-row.js';
import type { SqliteDatabase } from '../connection/database.js';
import type { GroupCommit } from '../connection/group-commit.js';
import type { ChangedTasks } from '../rows/changed-tasks.js';
import { TASK_COLUMNS } from '../rows/task-columns.js';

/** Minimum number of kept changes: some minutes of the highest load, days of a usual one. */
const KEPT_CHANGES = 262_144;

/** Number of new changes after which old ones are removed. */
const REMOVE_EVERY = 4096;

/** Time in which relaxed changes are gathered before a sync of their own. */
const SYNC_AFTER_MS = 20;

/** The `seq` of a changed task, or the id of a removed one. */
type Change = number | string;

interface LogRow {
  first: number;
  changes: string;
}

interface NumberedChange {
  readonly number: number;
  readonly change: Change;
}

export interface ChangeLogOptions {
  readonly db: SqliteDatabase;
  readonly commit: GroupCommit;
  readonly timers: Timers;
  readonly keptChanges?: number;
}

export class ChangeLog implements ChangedTasks, TaskChanges {
  readonly #commit: GroupCommit;
  readonly #timers: Timers;
  readonly #keptChanges: number;
  readonly #history: string;
  readonly #statements;
  readonly #watchers = new Set<() => void>();
  /** Changes of the open transaction. */
  #noted: Change[] = [];
  /** Number of the last committed change, and of the last durable one. */
  #latest: number;
  #durable: number;
  #removedUpTo: number;
  /** Changed tasks whose changes are committed, but not durable yet: since the latest sync began, and before. */
  #notDurable = new Set<Change>();
  #syncing = new Set<Change>();
  #syncTimer: Timer | undefined;

  constructor({ db, commit, timers, keptChanges = KEPT_CHANGES }: ChangeLogOptions) {
    this.#commit = commit;
    this.#timers = timers;
    this.#keptChanges = keptChanges;
    this.#statements = prepare(db);
    this.#history = this.#statements.history.get() ?? '';
    this.#latest = lastNumberOf(this.#statements.last.get());
    this.#durable = this.#latest;
    this.#removedUpTo = this.#latest;
    commit.onTransaction({
      beforeCommit: () => this.#write(),
      committed: () => this.#committed(),
      rolledBack: () => {
        this.#noted = [];
      },
    });
    commit.onSync(() => {
      const latest = this.#latest;
      this.#syncing = this.#notDurable;
      this.#notDurable = new Set();
      return () => this.#synced(latest);
    });
  }

  added(seq: number): void {
    this.#noted.push(seq);
  }

  changed(seq: number): void {
    this.#noted.push(seq);
  }

  taskEnded(seq: number): void {
    this.changed(seq);
  }

  removed(_: number, taskId: string): void {
    this.#noted.push(taskId);
  }

  async latest(): Promise<string> {
    return this.#cursorAt(this.#durable);
  }

  async since(cursor: string, limit: number): Promise<ChangePage | null> {
    const after = this.#numberOf(cursor);
    if (after === undefined || after > this.#durable) return null;
    if (after === this.#durable) return { changes: [], cursor, isLast: true };
    const logged = this.#read(after, limit);
    if (!logged) return null;
    const settled = this.#settled(logged);
    const end = settled.at(-1)?.number ?? after;
    return {
      changes: this.#withTasks(settled),
      cursor: this.#cursorAt(end),
      // Changes after these come with the next sync.
      isLast: end === this.#durable || settled.length < logged.length,
    };
  }

  watch(onChanges: () => void): () => void {
    this.#watchers.add(onChanges);
    this.#syncSoon();
    return () => void this.#watchers.delete(onChanges);
  }

  /** Ends the timer. */
  close(): void {
    this.#watchers.clear();
    this.#syncTimer?.cancel();
    this.#syncTimer = undefined;
  }

  #write(): void {
    if (this.#noted.length === 0) return;
    this.#statements.insert.run(this.#latest + 1, JSON.stringify(this.#noted));
    if (this.#latest - this.#removedUpTo < REMOVE_EVERY) return;
    this.#removedUpTo = this.#latest;
    this.#statements.removeUpTo.run(this.#latest - this.#keptChanges);
  }

  #committed(): void {
    if (this.#noted.length === 0) return;
    for (const change of this.#noted) this.#notDurable.add(change);
    this.#latest += this.#noted.length;
    this.#noted = [];
    this.#syncSoon();
  }

  #synced(latest: number): void {
    this.#syncing.clear();
    if (latest === this.#durable) return;
    this.#durable = latest;
    for (const onChanges of [...this.#watchers]) onChanges();
  }

  /** Makes changes durable that no other operation does, while somebody watches. */
  #syncSoon(): void {
    if (this.#watchers.size === 0 || this.#syncTimer || this.#durable === this.#latest) return;
    this.#syncTimer = this.#timers.after(SYNC_AFTER_MS, () => {
      this.#syncTimer = undefined;
      if (this.#durable < this.#latest) this.#commit.syncNow();
    });
  }

  /** Durable changes after a number; undefined when some of them are no longer kept. */
  #read(after: number, limit: number): NumberedChange[] | undefined {
    const end = Math.min(this.#durable, after + limit);
    const rows = this.#statements.rows.all({ from: after + 1, to: end });
    if (rows[0] === undefined || rows[0].first > after + 1) return undefined;
    return rows
      .flatMap(({ first, changes }) =>
        (JSON.parse(changes) as Change[]).map((change, at) => ({ number: first + at, change })),
      )
      .filter(({ number }) => number > after && number <= end);
  }

  /** The changes up to the first whose task has changed again in a way that a power failure may still undo: shown now, its task
   *  would be shown as it may never have been. */
  #settled(logged: readonly NumberedChange[]): readonly NumberedChange[] {
    if (this.#notDurable.size + this.#syncing.size === 0) return logged;
    const at = logged.findIndex(({ change }) => this.#notDurable.has(change) || this.#syncing.has(change));
    return at < 0 ? logged : logged.slice(0, at);
  }

  /** Each task once, at its last change. A task that was removed since is left out: its removal follows. */
  #withTasks(logged: readonly NumberedChange[]): TaskChange[] {
    const last = new Map<Change, number>();
    for (const { change, number } of logged) last.set(change, number);
    const seqs = [...last.keys()].filter((change) => typeof change === 'number');
    const tasks = new Map(this.#tasksOf(seqs));
    return logged.flatMap(({ change, number }): TaskChange[] => {
      if (last.get(change) !== number) return [];
      const cursor = this.#cursorAt(number);
      if (typeof change === 'string') return [{ cursor, taskId: change, task: null }];
      const row = tasks.get(change);
      if (!row) return [];
      const task = taskOfRow(row);
      return [{ cursor, taskId: task.id, task }];
    });
  }

  #tasksOf(seqs: readonly number[]): [seq: number, row: TaskRow][] {
    if (seqs.length === 0) return [];
    const rows = JSON.parse(this.#statements.tasks.get(JSON.stringify(seqs)) ?? '[]') as [
      number,
      ...TaskRow,
    ][];
    return rows.map(([seq, ...row]) => [seq, row]);
  }

  #cursorAt(number: number): string {
    return `${this.#history}.${number}`;
  }

  #numberOf(cursor: string): number | undefined {
    const [, history, number] = /^(\w+)\.(\d{1,15})$/.exec(cursor) ?? [];
    return history === this.#history ? Number(number) : undefined;
  }
}

/** Begins another history, in which no cursor of the former one is known. */
export function beginHistory(db: SqliteDatabase): void {
  db.exec('UPDATE change_history SET name = lower(hex(randomblob(6))) WHERE id = 0');
}

function prepare(db: SqliteDatabase) {
  return {
    history: db.prepare<[], string>('SELECT name FROM change_history WHERE id = 0').pluck(),
    last: db.prepare<[], LogRow>('SELECT first, changes FROM task_change ORDER BY first DESC LIMIT 1'),
    insert: db.prepare<[number, string]>('INSERT INTO task_change (first, changes) VALUES (?, ?)'),
    // The row that has the last number stays, so that no number is used again.
    removeUpTo: db.prepare<[number]>('DELETE FROM task_change WHERE first <= ?'),
    rows: db.prepare<[{ from: number; to: number }], LogRow>(`
      SELECT first, changes FROM task_change
      WHERE first >= coalesce((SELECT max(first) FROM task_change WHERE first <= @from), 0) AND first <= @to
      ORDER BY first`),
    tasks: db
      .prepare<[string], string>(`
        SELECT json_group_array(json_array(task.seq, ${TASK_COLUMNS})) FROM (SELECT value FROM json_each(?)) AS wanted
        CROSS JOIN task ON task.seq = wanted.value JOIN requirement ON requirement.id = task.requirement_id`)
      .pluck(),
  };
}

function lastNumberOf(row: LogRow | undefined): number {
  return row ? row.first + (JSON.parse(row.changes) as Change[]).length - 1 : 0;
}
