import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type TaskRow, taskOfRow } from '../../rows/task-row.js';
import { MIGRATIONS, migrate, type SqliteDatabase } from '../connection/database.js';
import { CHUNK_TASKS } from './chunks.js';
import { ListReader } from './list-reader.js';
import { addTextFunctions, LISTED_STATEMENTS } from './listed-tasks.js';
import type { ListPage, ListQuery } from './thread-messages.js';

let db: SqliteDatabase;
let nowMs: number;
let reader: ListReader;
beforeEach(() => {
  db = new Database(':memory:');
  migrate(db, ':memory:', MIGRATIONS);
  addTextFunctions(db);
  db.exec("INSERT INTO requirement VALUES (1, '[null,[]]')");
  nowMs = 0;
  reader = new ListReader(db, { monotonicMs: () => nowMs });
});
afterEach(() => db.close());

function insert(seq: number, name = `task ${seq}`): void {
  db.prepare(
    `INSERT INTO task (seq, id, type, status, priority, requirement_id, requested_at, name, classifiers, job)
     VALUES (?, ?, 'SIMULATE_WORK', 'WAITING', 2, 1, 0, ?, '[]', '{}')`,
  ).run(seq, `id-${seq}`, name);
  list(seq);
}

/** Writes the row that lists read. */
function list(seq: number): void {
  db.prepare(LISTED_STATEMENTS.write).run(JSON.stringify([seq]));
}

function setStatus(seq: number, status: string): void {
  db.prepare('UPDATE task SET status = ? WHERE seq = ?').run(status, seq);
  list(seq);
}

const queryOf = (query: Partial<ListQuery>): ListQuery => ({ page: 0, size: 3, statuses: [], ...query });

function read(query: Partial<ListQuery> = {}): ListPage {
  const list = reader.begin(queryOf(query));
  for (;;) {
    const page = reader.goOn(list);
    if (page) return page;
    nowMs += 1000;
  }
}

const namesOf = ({ rows }: ListPage) => (JSON.parse(rows) as TaskRow[]).map((row) => taskOfRow(row).name);

describe('a list', () => {
  it('takes turns, and reads its page when all chunks are counted', () => {
    for (let chunk = 0; chunk < 4; chunk++) insert(chunk * CHUNK_TASKS + 1);
    const list = reader.begin(queryOf({}));
    const slow = list.matches.count;
    const counted: number[] = [];
    const counting = {
      ...list,
      matches: {
        ...list.matches,
        count: (chunk: number) => {
          nowMs += 30;
          counted.push(chunk);
          return slow(chunk);
        },
      },
    };
    expect(reader.goOn(counting)).toBeUndefined();
    expect(counted).toEqual([3, 2]);
    expect(reader.goOn(counting)).toMatchObject({ totalElements: 4 });
    expect(counted).toEqual([3, 2, 1, 0]);
  });

  it('skips the chunks whose tasks were all removed', () => {
    insert(1, 'old');
    insert(10_000_000 * CHUNK_TASKS, 'new');
    expect(namesOf(read())).toEqual(['new', 'old']);
  });

  it('finds tasks in chunks that were empty before', () => {
    insert(1, 'old');
    insert(5 * CHUNK_TASKS, 'new');
    expect(namesOf(read())).toEqual(['new', 'old']);
    insert(2 * CHUNK_TASKS, 'late');
    insert(7 * CHUNK_TASKS, 'newest');
    reader.forget([2, 7]);
    expect(namesOf(read({ size: 9 }))).toEqual(['newest', 'new', 'late', 'old']);
    db.prepare('DELETE FROM listed_task WHERE seq >= ?').run(5 * CHUNK_TASKS);
    reader.forget([5, 7]);
    expect(reader.begin(queryOf({})).chunks).toEqual([2, 0]);
    insert(5 * CHUNK_TASKS + 1, 'again');
    reader.forget([5]);
    expect(namesOf(read())).toEqual(['again', 'late', 'old']);
  });

  it('counts the chunks again that have changed, and no others', () => {
    insert(1, 'old');
    insert(CHUNK_TASKS, 'new');
    expect(read({ statuses: ['WAITING'] }).totalElements).toBe(2);
    setStatus(1, 'CANCELED');
    setStatus(CHUNK_TASKS, 'CANCELED');
    reader.forget([0]);
    expect(reader.begin(queryOf({ statuses: ['WAITING'] })).counts).toEqual(new Map([[1, [1]]]));
    reader.forget('MANY');
    expect(read({ statuses: ['WAITING'] }).totalElements).toBe(0);
  });

  it('shows no task that has changed since its row was written', () => {
    for (const seq of [1, 2, CHUNK_TASKS, CHUNK_TASKS + 1, CHUNK_TASKS + 2]) insert(seq);
    read({ statuses: ['WAITING'] });
    db.prepare("UPDATE task SET status = 'RUNNING' WHERE seq = ?").run(CHUNK_TASKS + 1);
    const names = [`task ${CHUNK_TASKS + 2}`, `task ${CHUNK_TASKS}`, 'task 2'];
    const waiting = read({ statuses: ['WAITING'] });
    expect(namesOf(waiting)).toEqual(names);
    expect(waiting.totalElements).toBe(4);
    const below = Number.MAX_SAFE_INTEGER;
    expect(namesOf(read({ statuses: ['WAITING'], below }))).toEqual(names);
  });

  it('keeps the counts of 64 filters', () => {
    insert(1);
    const countsOf = (filter: number) => reader.begin(queryOf({ name: `${filter}*` })).counts.size;
    for (let filter = 0; filter < 65; filter++) read({ name: `${filter}*` });
    expect(countsOf(1)).toBe(1);
    expect(countsOf(0)).toBe(0);
  });
});

describe('a window', () => {
  it('goes on below a task, also within a chunk, and counts all statuses', () => {
    for (const seq of [1, 2, 3, CHUNK_TASKS, CHUNK_TASKS + 1]) insert(seq);
    setStatus(2, 'CANCELED');
    const first = read({ below: Number.MAX_SAFE_INTEGER, statuses: ['WAITING'] });
    expect(namesOf(first)).toEqual([`task ${CHUNK_TASKS + 1}`, `task ${CHUNK_TASKS}`, 'task 3']);
    expect(first.window).toEqual({
      next: 3,
      counts: { WAITING: 4, RUNNING: 0, FINISHED: 0, FAILED: 0, CANCELED: 1 },
    });
    const second = read({ below: 3, statuses: ['WAITING'] });
    expect(namesOf(second)).toEqual(['task 1']);
    expect(second.window?.next).toBeNull();
  });
});
