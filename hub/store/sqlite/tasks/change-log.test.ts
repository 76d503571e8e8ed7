import { requirementKey } from '@workbench-hub/shared/domain/classifier';
import { openLog } from '@workbench-hub/shared/runtime/logger';
import Database from 'better-sqlite3';
import { beforeEach, describe, expect, it } from 'vitest';
import { MIGRATIONS, migrate, type SqliteDatabase } from '../connection/database.js';
import { GroupCommit } from '../connection/group-commit.js';
import { beginHistory, ChangeLog } from './change-log.js';

const { log } = await openLog({ name: 'test', level: 'silent', file: null, rotation: null });

let db: SqliteDatabase;
let commit: GroupCommit;
let changes: ChangeLog;
let soon: (() => void)[];
let later: (() => void)[];
let syncs: (() => void)[];

const timers = {
  soon: (action: () => void) => void soon.push(action),
  after: (_: number, action: () => void) => {
    later.push(action);
    return { cancel: () => void later.splice(later.indexOf(action), 1) };
  },
};

function open(keptChanges?: number): void {
  soon = [];
  later = [];
  syncs = [];
  const sync = () => new Promise<void>((resolve) => syncs.push(resolve));
  commit = new GroupCommit(db, { timers, log, sync, onSyncFailed: () => undefined });
  changes = new ChangeLog({ db, commit, timers, ...(keptChanges === undefined ? {} : { keptChanges }) });
}

beforeEach(() => {
  db = new Database(':memory:');
  migrate(db, ':memory:', MIGRATIONS);
  const key = requirementKey({ version: null, labels: [] });
  db.prepare('INSERT INTO requirement VALUES (1, ?)').run(key);
  const insert = db.prepare(`
    INSERT INTO task (seq, id, type, status, priority, requirement_id, requested_at, classifiers, job)
    VALUES (?, ?, 'SIMULATE_WORK', 'WAITING', 2, 1, 5, '[]', '{}')`);
  for (const seq of [1, 2, 3]) insert.run(seq, `task-${seq}`);
  open();
});

const settled = () => new Promise((resolve) => setImmediate(resolve));
const write = () => soon.splice(0).forEach((action) => void action());
const sync = async () => {
  await settled();
  for (const end of syncs.splice(0)) end();
  await settled();
};
/** Changes tasks in one transaction. */
const change = (kind: 'durable' | 'relaxed', ...seqs: number[]) => {
  const done = commit[kind](() => {
    for (const seq of seqs) changes.changed(seq);
  });
  write();
  return done;
};
const ids = async (cursor: string, limit = 100) =>
  (await changes.since(cursor, limit))?.changes.map(({ taskId }) => taskId);

describe('the log of changes', () => {
  it('tells nothing before it is durable', async () => {
    const start = await changes.latest();
    void change('durable', 1, 2);
    await settled();
    expect(await ids(start)).toEqual([]);
    expect(await changes.latest()).toBe(start);
    await sync();
    expect(await ids(start)).toEqual(['task-1', 'task-2']);
  });

  it('holds a change back while its task has changed again, and the later change may still be undone', async () => {
    const start = await changes.latest();
    void change('durable', 1, 2, 3);
    await sync();
    await change('relaxed', 2);
    const page = await changes.since(start, 100);
    expect(page?.changes.map(({ taskId }) => taskId)).toEqual(['task-1']);
    expect(page?.isLast).toBe(true);
    void change('durable', 3);
    await sync();
    expect(await ids(page?.cursor ?? '')).toEqual(['task-2', 'task-3']);
  });

  it('is synced for relaxed changes only while somebody watches', async () => {
    await change('relaxed', 1);
    expect(later).toEqual([]);
    const start = await changes.latest();
    const told: string[] = [];
    const unwatch = changes.watch(() => told.push('told'));
    expect(later).toHaveLength(1);
    for (const action of later.splice(0)) action();
    await settled();
    await sync();
    expect(told).toEqual(['told']);
    expect(await ids(start)).toEqual(['task-1']);
    unwatch();
    await change('relaxed', 2);
    expect(later).toEqual([]);
  });

  it('has no change of a transaction that was rolled back', async () => {
    const start = await changes.latest();
    const failed = commit.durable(() => {
      changes.changed(1);
      throw new Error('no');
    });
    const other = commit.durable(() => changes.changed(2));
    write();
    await expect(failed).rejects.toThrow('no');
    await sync();
    await other;
    expect(await ids(start)).toEqual(['task-2']);
  });

  it('continues its numbers at the next start, and a new history does not', async () => {
    const start = await changes.latest();
    void change('durable', 1);
    await sync();
    const latest = await changes.latest();
    open();
    expect(await changes.latest()).toBe(latest);
    expect(await ids(start)).toEqual(['task-1']);
    beginHistory(db);
    open();
    expect(await ids(start)).toBeUndefined();
    expect((await changes.latest()).split('.')[1]).toBe(latest.split('.')[1]);
  });

  it('forgets the oldest changes, and says so', async () => {
    open(5000);
    const start = await changes.latest();
    const marks: string[] = [];
    for (let at = 0; at < 100; at++) {
      void change('durable', ...Array.from({ length: 200 }, () => 1));
      await settled();
      await sync();
      marks.push(await changes.latest());
    }
    expect(db.prepare('SELECT count(*) FROM task_change').pluck().get()).toBeLessThan(60);
    expect(await changes.since(start, 10)).toBeNull();
    expect(await ids(marks.at(-20) ?? '')).toEqual(['task-1']);
    expect(await ids(marks.at(-1) ?? '')).toEqual([]);
  });

  it('begins a page within a transaction', async () => {
    const start = await changes.latest();
    void change('durable', 1, 2, 3);
    await sync();
    const [first] = (await changes.since(start, 1))?.changes ?? [];
    expect(first?.taskId).toBe('task-1');
    expect(await ids(first?.cursor ?? '')).toEqual(['task-2', 'task-3']);
  });
});
