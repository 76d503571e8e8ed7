import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openLog } from '@workbench-hub/shared/runtime/logger';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDatabase, type SqliteDatabase } from './database.js';
import { GroupCommit } from './group-commit.js';

const { log } = await openLog({ name: 'test', level: 'silent', file: null, rotation: null });

let folder: string;
let db: SqliteDatabase;
let commit: GroupCommit;
let soon: (() => void)[];
const timers = {
  soon: (action: () => void) => void soon.push(action),
  after: () => ({ cancel: () => undefined }),
};
let statements: string[];
/** Ends the sync that is under way. */
let syncs: { end(): void; fail(error: Error): void }[];
let syncFailure: unknown;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'workbench-test-'));
  db = openDatabase(join(folder, 'hub.sqlite'));
  db.exec('CREATE TABLE note (text TEXT NOT NULL UNIQUE)');
  soon = [];
  statements = [];
  const prepare = db.prepare.bind(db);
  db.prepare = ((sql: string) => {
    const statement = prepare(sql);
    const run = statement.run.bind(statement);
    statement.run = (...values: unknown[]) => {
      statements.push(sql);
      return run(...values);
    };
    return statement;
  }) as typeof db.prepare;
  syncs = [];
  syncFailure = undefined;
  const sync = () => new Promise<void>((resolve, reject) => syncs.push({ end: resolve, fail: reject }));
  const onSyncFailed = (error: unknown) => {
    syncFailure = error;
  };
  commit = new GroupCommit(db, { timers, log, sync, onSyncFailed });
});
afterEach(async () => {
  db.close();
  await rm(folder, { recursive: true });
});

const add = (text: string) => () => db.prepare('INSERT INTO note VALUES (?)').run(text).lastInsertRowid;
const notes = () => db.prepare('SELECT text FROM note ORDER BY rowid').pluck().all();
/** Writes what waits. */
const write = () => soon.splice(0).forEach((action) => void action());
const settled = () => new Promise((resolve) => setImmediate(resolve));
/** Writes what waits, and syncs it. */
const turn = async () => {
  write();
  await settled();
  for (const { end } of syncs.splice(0)) end();
};
const count = (sql: string) => statements.filter((statement) => statement === sql).length;

describe('a group', () => {
  it('announces written operations before the sync, and no failed ones', async () => {
    const told: unknown[] = [];
    const good = commit.durable(add('a'), (result) => told.push(result, notes()));
    const bad = commit.durable(add('a'), () => told.push('not written'));
    bad.catch(() => undefined);
    write();
    expect(told).toEqual([1, ['a']]);
    await settled();
    for (const { end } of syncs.splice(0)) end();
    await good;
    await expect(bad).rejects.toThrow();
  });

  it('writes the operations of all callers of one turn in one transaction, in order', async () => {
    const all = Promise.all([commit.durable(add('a')), commit.relaxed(add('b')), commit.durable(add('c'))]);
    expect(soon).toHaveLength(1);
    expect(notes()).toEqual([]);
    await turn();
    expect(await all).toEqual([1, 2, 3]);
    expect(notes()).toEqual(['a', 'b', 'c']);
    expect([count('BEGIN IMMEDIATE'), count('COMMIT')]).toEqual([1, 1]);
  });

  it('is followed by another for later operations', async () => {
    const first = commit.durable(add('a'));
    await turn();
    const second = commit.durable(add('b'));
    await turn();
    expect(await Promise.all([first, second])).toEqual([1, 2]);
    expect(count('COMMIT')).toBe(2);
  });

  it('returns to each caller the result of its operation', async () => {
    const results = Promise.all([commit.durable(() => 'text'), commit.relaxed(() => [1, 2])]);
    await turn();
    expect(await results).toEqual(['text', [1, 2]]);
  });

  it('resolves no promise before the commit', async () => {
    let told = false;
    const one = commit.durable(add('a')).then(() => {
      told = true;
    });
    await Promise.resolve();
    expect(told).toBe(false);
    await turn();
    await one;
    expect(told).toBe(true);
  });

  it('is written by a flush, once', async () => {
    const one = commit.durable(add('a'));
    commit.flush();
    await turn();
    expect(await one).toBe(1);
    expect(count('COMMIT')).toBe(1);
  });
});

describe('an operation that fails', () => {
  it('does not affect the others, and leaves nothing behind', async () => {
    const half = () => {
      add('half')();
      throw new Error('no');
    };
    const results = Promise.allSettled([
      commit.durable(add('a')),
      commit.durable(half),
      commit.durable(add('b')),
    ]);
    await turn();
    expect(await results).toMatchObject([
      { status: 'fulfilled' },
      { status: 'rejected', reason: { message: 'no' } },
      { status: 'fulfilled' },
    ]);
    expect(notes()).toEqual(['a', 'b']);
    expect(db.inTransaction).toBe(false);
  });

  it('makes caches of rows forget them', async () => {
    let forgotten = 0;
    commit.onRollback(() => forgotten++);
    const well = commit.durable(add('a'));
    await turn();
    await well;
    expect(forgotten).toBe(0);
    const failed = commit.durable(add('a')).catch((error: unknown) => error);
    await turn();
    await failed;
    expect(forgotten).toBe(1);
  });

  it.each([
    ['SQLITE_FULL', 'STORAGE_FULL', 'the disk of the hub is full; nothing was changed'],
    ['SQLITE_IOERR_WRITE', 'STORE_UNAVAILABLE', 'the hub cannot write its database; nothing was changed'],
  ])('because of %s is %s', async (code, translated, message) => {
    const failed = commit.durable(() => {
      throw new Database.SqliteError('as the system says', code);
    });
    write();
    await expect(failed).rejects.toMatchObject({ name: 'HubError', code: translated, message });
  });

  it('for lack of space is retried with the ballast if it frees space, and no other operation gets it', async () => {
    const told: string[] = [];
    let hasRoom = false;
    const ballast = {
      release: () => {
        told.push('released');
        hasRoom = true;
      },
      take: () => {
        told.push('taken back');
        hasRoom = false;
      },
    };
    const needing = (text: string) => () => {
      if (!hasRoom) throw new Database.SqliteError('database or disk is full', 'SQLITE_FULL');
      told.push(text);
      return `${text} done`;
    };
    const sync = () => Promise.resolve();
    const kept = new GroupCommit(db, { timers, log, sync, ballast, onSyncFailed: () => undefined });
    const results = Promise.allSettled([
      kept.durable(needing('create')),
      kept.freeing(needing('delete')),
      kept.relaxed(needing('put')),
    ]);
    write();
    expect(await results).toMatchObject([
      { status: 'rejected' },
      { status: 'fulfilled', value: 'delete done' },
      { status: 'rejected' },
    ]);
    const alone = kept.freeing(needing('sweep'), { durable: false });
    write();
    expect(await alone).toBe('sweep done');
    expect(told).toEqual(['released', 'delete', 'taken back', 'released', 'sweep', 'taken back']);
  });

  it('because of a defect rejects with the same error', async () => {
    const failed = commit.relaxed(() => {
      throw new TypeError('a defect');
    });
    write();
    await expect(failed).rejects.toBeInstanceOf(TypeError);
  });
});

describe('durability', () => {
  /** Results resolved so far, in order. */
  const told: string[] = [];
  const durable = (text: string) => void commit.durable(add(text)).then(() => told.push(text));
  const relaxed = (text: string) => void commit.relaxed(add(text)).then(() => told.push(text));
  beforeEach(() => told.splice(0));

  it('is confirmed after a sync that began after the write; relaxed operations are confirmed at once', async () => {
    durable('a');
    relaxed('b');
    write();
    await settled();
    expect([told, syncs.length]).toEqual([['b'], 1]);
    syncs[0]?.end();
    await settled();
    expect(told).toEqual(['b', 'a']);
  });

  it('of groups written during a sync comes with the next sync, one for all', async () => {
    durable('a');
    write();
    await settled();
    durable('b');
    write();
    durable('c');
    write();
    await settled();
    expect(syncs).toHaveLength(1);
    syncs[0]?.end();
    await settled();
    expect([told, syncs.length]).toEqual([['a'], 2]);
    syncs[1]?.end();
    await settled();
    expect([told, syncs.length]).toEqual([['a', 'b', 'c'], 2]);
  });

  it('costs nothing if no operation needs it', async () => {
    relaxed('a');
    write();
    await settled();
    expect([told, syncs.length]).toEqual([['a'], 0]);
  });

  it('of an operation is kept when the group is repeated one by one', async () => {
    durable('a');
    commit.relaxed(add('a')).catch(() => told.push('failed'));
    write();
    await settled();
    expect(told).toEqual(['failed']);
    syncs[0]?.end();
    await settled();
    expect(told).toEqual(['failed', 'a']);
  });

  it('is never confirmed after a failed sync: the hub has to stop', async () => {
    durable('a');
    write();
    await settled();
    durable('b');
    write();
    syncs[0]?.fail(new Error('EIO'));
    await settled();
    expect(syncFailure).toMatchObject({ message: 'EIO' });
    expect([told, syncs.length]).toEqual([[], 1]);
  });

  it('is confirmed for the transactions that a sync covered, not for those written during it', async () => {
    const confirmed: number[] = [];
    let counted = 0;
    const watermark = { count: () => ++counted, confirm: (commits: number) => confirmed.push(commits) };
    const sync = () => new Promise<void>((resolve, reject) => syncs.push({ end: resolve, fail: reject }));
    const onSyncFailed = () => undefined;
    const counting = new GroupCommit(db, { timers, log, sync, onSyncFailed, watermark });
    const first = counting.durable(add('a'));
    write();
    await settled();
    const second = counting.durable(add('b'));
    write();
    syncs[0]?.end();
    await first;
    expect(confirmed).toEqual([1]);
    await settled();
    syncs[1]?.end();
    await second;
    expect(confirmed).toEqual([1, 2]);
  });

  it('writes and syncs what waits when it is closed, and refuses what comes later', async () => {
    durable('a');
    write();
    await settled();
    durable('b');
    const all = commit.close().then(() => told.push('closed'));
    await expect(commit.durable(add('c'))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await expect(commit.relaxed(add('d'))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await settled();
    expect(told).toEqual([]);
    syncs[0]?.end();
    await settled();
    commit.syncNow();
    syncs[1]?.end();
    await all;
    expect(told).toEqual(['a', 'b', 'closed']);
    expect(notes()).toEqual(['a', 'b']);
    expect(syncs).toHaveLength(2);
  });
});
