import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { MIGRATIONS, migrate, type SqliteDatabase } from '../connection/database.js';
import { ListedTasks } from './listed-tasks.js';

let db: SqliteDatabase;
/** Numbers of tasks by write. */
let written: (readonly number[])[];
let fault: Error | undefined;
beforeEach(() => {
  db = new Database(':memory:');
  migrate(db, ':memory:', MIGRATIONS);
  db.pragma('foreign_keys = ON');
  db.exec("INSERT INTO requirement VALUES (1, '[null,[]]')");
  written = [];
  fault = undefined;
});
afterEach(() => db.close());

const freeing = async <T>(work: () => T): Promise<T> => {
  if (fault) throw fault;
  return work();
};

const start = () =>
  new ListedTasks({
    db,
    commit: { freeing, relaxed: freeing },
    timers: { soon: setImmediate },
    onWritten: (seqs) => written.push(seqs),
  });

function insert(seq: number): void {
  db.prepare(
    `INSERT INTO task (seq, id, type, status, priority, requirement_id, requested_at, name, classifiers, job)
     VALUES (?, ?, 'EXECUTE_BATCH_JOB', 'WAITING', 1, 1, ?, 'GEAR 🚀', '[]', '{}')`,
  ).run(seq, `id-${seq}`, 10 * seq);
}

const end = (seq: number) =>
  db.prepare("UPDATE task SET status = 'FINISHED', instance_id = 's' WHERE seq = ?").run(seq);
const rows = () => db.prepare<[], unknown[]>('SELECT * FROM listed_task ORDER BY seq').raw().all();
const kinds = () => db.prepare<[], number>('SELECT kind FROM listed_task ORDER BY seq').pluck().all();

const WAITING = 1 + 64;
const FINISHED = 1 + 2 * 8 + 64;

it('rows are written before a list, once for all changes of a task', async () => {
  const listed = start();
  insert(7);
  listed.added(7);
  end(7);
  listed.taskEnded(7);
  expect(rows()).toEqual([]);
  await listed.upToDate();
  expect(rows()).toEqual([[7, FINISHED, 70, 's', 'id-7', 'gear \u{f003d}\u{f0680}', null, null]]);
  await listed.upToDate();
  expect(written.flat()).toEqual([7]);
});

it('rows are written when 1,024 tasks have changed, without a list', async () => {
  const listed = start();
  for (let seq = 1; seq <= 1024; seq++) {
    insert(seq);
    listed.added(seq);
  }
  while (written.flat().length === 0) await new Promise((resolve) => setImmediate(resolve));
  expect(written.flat()).toHaveLength(1024);
});

it('rows that are older than their tasks after a crash, or missing, are found by the first list', async () => {
  const before = start();
  for (const seq of [1, 2, 50_000]) {
    insert(seq);
    before.added(seq);
  }
  end(2);
  await before.upToDate();
  expect(kinds()).toEqual([WAITING, FINISHED, WAITING]);
  end(50_000);
  insert(900_000_000);
  written = [];
  const after = start();
  await after.upToDate();
  expect(kinds()).toEqual([WAITING, FINISHED, FINISHED, WAITING]);
  expect(written.filter((seqs) => seqs.length > 0)).toEqual([[50_000], [900_000_000]]);
});

it('a write that fails is tried again when there are twice as many changes, without a list', async () => {
  const listed = start();
  const add = (from: number, to: number) => {
    for (let seq = from; seq <= to; seq++) {
      insert(seq);
      listed.added(seq);
    }
  };
  add(1, 1023);
  fault = new Error('the disk is full');
  await expect(listed.upToDate()).rejects.toThrow('the disk is full');
  fault = undefined;
  add(1024, 2045);
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(rows()).toHaveLength(0);
  add(2046, 2046);
  while (rows().length === 0) await new Promise((resolve) => setImmediate(resolve));
  expect(rows()).toHaveLength(2046);
});

it('changes that could not be written are written the next time', async () => {
  const listed = start();
  insert(1);
  listed.added(1);
  fault = new Error('the disk is full');
  await expect(listed.upToDate()).rejects.toThrow('the disk is full');
  fault = undefined;
  await listed.upToDate();
  expect(kinds()).toEqual([WAITING]);
});

it('a task whose removal failed is written with its earlier changes', async () => {
  const listed = start();
  insert(1);
  listed.added(1);
  await listed.upToDate();
  end(1);
  listed.taskEnded(1);
  db.exec('BEGIN; DELETE FROM task');
  listed.removed(1);
  db.exec('ROLLBACK');
  await listed.upToDate();
  expect(kinds()).toEqual([FINISHED]);
});

it('a removed task takes its row along', async () => {
  const listed = start();
  insert(1);
  listed.added(1);
  await listed.upToDate();
  db.exec('DELETE FROM task');
  listed.removed(1);
  await listed.upToDate();
  expect(rows()).toEqual([]);
  expect(written.flat()).toEqual([1, 1]);
});
