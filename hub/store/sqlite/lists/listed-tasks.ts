/**
 * Keeps the table `listed_task` in step with the tasks. It is written before a list is read, and whenever many tasks have changed,
 * all of these at once: so a task that comes and ends in between costs one row, not three changes of it. After a crash, rows may be
 * older than their tasks, or missing; the first write looks for them, a part at a time, so that it does not delay the hub.
 */
import type { Timers } from '@workbench-hub/shared/runtime/runtime';
import type { Statement } from 'better-sqlite3';
import { LONG_SEARCHED_COLUMNS, SEARCHED_COLUMNS } from '../../rows/searched-texts.js';
import { ENDED_NUMBERS, STATUS_NUMBERS, TYPE_NUMBERS } from '../../rows/task-kinds.js';
import type { SqliteDatabase } from '../connection/database.js';
import type { GroupCommit } from '../connection/group-commit.js';
import type { ChangedTasks } from '../rows/changed-tasks.js';

/** Changed tasks that are written without waiting for a list: a few milliseconds of work. */
const MANY = 1024;

/** Tasks that are looked at in one transaction to find rows that are older than their tasks, or missing: some milliseconds. */
const PART = 2048;

const numbered = (column: string, numbers: Readonly<Record<string, number>>) =>
  `CASE ${column} ${Object.entries(numbers)
    .map(([name, number]) => `WHEN '${name}' THEN ${number}`)
    .join(' ')} END`;

const TEXTS = SEARCHED_COLUMNS.map(({ column }) => column);

/** Statements that keep the table; each gets or gives numbers of tasks as JSON. */
export const LISTED_STATEMENTS = {
  write: `
    INSERT INTO listed_task (seq, kind, requested_at, instance_id, study_id, ${TEXTS.join(', ')})
    SELECT task.seq, task.priority + 8 * ${numbered('task.status', STATUS_NUMBERS)} + 64 * ${numbered('task.type', TYPE_NUMBERS)},
           task.requested_at, task.instance_id, task.study_id, ${TEXTS.map((field) => `searched_${field}(task.${field})`).join(', ')}
    FROM json_each(?) AS changed CROSS JOIN task ON task.seq = changed.value WHERE true
    ON CONFLICT (seq) DO UPDATE SET kind = excluded.kind, instance_id = excluded.instance_id`,
  /** Long texts never change. */
  writeLong: LONG_SEARCHED_COLUMNS.map(
    ({ column }) => `
    INSERT OR IGNORE INTO listed_${column} (seq, ${column})
    SELECT task.seq, searched_${column}(task.${column})
    FROM json_each(?) AS changed CROSS JOIN task ON task.seq = changed.value WHERE task.${column} IS NOT NULL`,
  ),
  /** Rows that are older than their tasks. Rows of ended tasks cannot be: an ended task changes no more. */
  outdated: `
    SELECT json_group_array(listed.seq) FROM listed_task AS listed JOIN task ON task.seq = listed.seq
    WHERE listed.seq BETWEEN ? AND ? AND (listed.kind >> 3) & 7 NOT IN (${ENDED_NUMBERS.join(', ')})
      AND ((listed.kind >> 3) & 7 <> ${numbered('task.status', STATUS_NUMBERS)} OR listed.instance_id IS NOT task.instance_id)`,
  tasks: 'SELECT json_group_array(seq) FROM task WHERE seq BETWEEN ? AND ?',
  nextListed: 'SELECT min(seq) FROM listed_task WHERE seq >= ?',
  nextTask: 'SELECT min(seq) FROM task WHERE seq >= ?',
};

/** Tasks whose rows may be old or missing. */
interface Doubtful {
  /** The first of the tasks from a number on; null for none. */
  readonly next: Statement<[number], number | null>;
  readonly seqs: Statement<[number, number], string>;
  from: number;
  readonly to: number;
}

export interface ListedTasksOptions {
  readonly db: SqliteDatabase;
  readonly commit: Pick<GroupCommit, 'freeing' | 'relaxed'>;
  readonly timers: Pick<Timers, 'soon'>;
  /** Called when the rows of these tasks were written, or removed. */
  readonly onWritten: (seqs: readonly number[]) => void;
}

export class ListedTasks implements ChangedTasks {
  readonly #options: ListedTasksOptions;
  /** Statements that write the rows of tasks. */
  readonly #writes;
  /** Tasks whose rows are to be written. */
  readonly #changed = new Set<number>();
  /** The write in progress, or the last one. */
  #latest: Promise<void> = Promise.resolve();
  /** Number of changed tasks that are written without waiting for a list: twice as many as there are after each write that failed. */
  #many = MANY;
  /** Whether such a write has not ended. */
  #isWriting = false;
  readonly #doubtful: Doubtful[];

  constructor(options: ListedTasksOptions) {
    this.#options = options;
    const { db } = options;
    addTextFunctions(db);
    const plucked = <Values extends unknown[], Value>(sql: string) => db.prepare<Values, Value>(sql).pluck();
    const highest = (table: string) =>
      plucked<[], number>(`SELECT coalesce(max(seq), 0) FROM ${table}`).get() ?? 0;
    const [listed, newest] = [highest('listed_task'), highest('task')];
    this.#writes = [LISTED_STATEMENTS.write, ...LISTED_STATEMENTS.writeLong].map((sql) =>
      db.prepare<[string]>(sql),
    );
    this.#doubtful = [
      {
        next: plucked(LISTED_STATEMENTS.nextListed),
        seqs: plucked(LISTED_STATEMENTS.outdated),
        from: 0,
        to: listed,
      },
      {
        next: plucked(LISTED_STATEMENTS.nextTask),
        seqs: plucked(LISTED_STATEMENTS.tasks),
        from: listed + 1,
        to: newest,
      },
    ];
  }

  added(seq: number): void {
    this.changed(seq);
  }

  changed(seq: number): void {
    this.#changed.add(seq);
    if (this.#changed.size < this.#many || this.#isWriting) return;
    this.#isWriting = true;
    this.#options.timers.soon(() => {
      // The next list tries again, and tells of the fault.
      const written = this.upToDate().catch(() => undefined);
      void written.then(() => {
        this.#isWriting = false;
      });
    });
  }

  taskEnded(seq: number): void {
    this.changed(seq);
  }

  /** The row goes with its task. The transaction may yet fail: earlier changes stay to be written. */
  removed(seq: number): void {
    this.#options.onWritten([seq]);
  }

  /** Resolves when all changes that are committed now are in the table. Rejects as the store does. */
  upToDate(): Promise<void> {
    this.#latest = this.#latest
      .catch(() => undefined)
      .then(() => this.#writeAll())
      .then(
        () => {
          this.#many = MANY;
        },
        (error: unknown) => {
          this.#many = Math.max(MANY, 2 * this.#changed.size);
          throw error;
        },
      );
    return this.#latest;
  }

  async #writeAll(): Promise<void> {
    for (let range = this.#doubtful[0]; range !== undefined; range = this.#doubtful[0]) {
      await this.#writePart(range);
      if (range.from > range.to) this.#doubtful.shift();
    }
    const changed = [...this.#changed];
    if (changed.length === 0) return;
    this.#changed.clear();
    try {
      const { commit, onWritten } = this.#options;
      // On a full disk, it may use what is held for deletions, which need lists.
      onWritten(await commit.freeing(() => this.#writeRows(JSON.stringify(changed)), { durable: false }));
    } catch (error) {
      for (const seq of changed) this.#changed.add(seq);
      throw error;
    }
  }

  async #writePart(range: Doubtful): Promise<void> {
    const { commit, onWritten } = this.#options;
    let first = range.from;
    const written = await commit.relaxed(() => {
      first = range.next.get(range.from) ?? Number.MAX_SAFE_INTEGER;
      return this.#writeRows(range.seqs.get(first, Math.min(first + PART - 1, range.to)) ?? '[]');
    });
    onWritten(written);
    range.from = first + PART;
    await new Promise<void>((resolve) => this.#options.timers.soon(resolve));
  }

  /** Writes the rows of these tasks, within a transaction that needs no sync: they can be made again. */
  #writeRows(seqs: string): readonly number[] {
    if (seqs !== '[]') for (const write of this.#writes) write.run(seqs);
    return JSON.parse(seqs) as number[];
  }
}

/** SQL functions that write texts as lists search them. */
export function addTextFunctions(db: SqliteDatabase): void {
  for (const { column, searched } of [...SEARCHED_COLUMNS, ...LONG_SEARCHED_COLUMNS]) {
    db.function(`searched_${column}`, { deterministic: true }, (text: unknown) =>
      typeof text === 'string' ? searched(text) : null,
    );
  }
}
