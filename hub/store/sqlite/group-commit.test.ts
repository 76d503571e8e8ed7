import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { openLog } from '@workbench-hub/shared/runtime/logger';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDatabase, type SqliteDatabase } from './database.js';
import { GroupCommit } from './group-commit.js';

const log: Logger = openLog({ name: 'test', level: 'silent', file: null }).log;

let folder: string;
let db: SqliteDatabase;
let commit: GroupCommit;
let soon: (() => void)[];
let statements: string[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'workbench-test-'));
  db = openDatabase(join(folder, 'hub.sqlite'));
  db.exec('CREATE TABLE note (text TEXT NOT NULL UNIQUE)');
  soon = [];
  const timers = {
    soon: (action: () => void) => void soon.push(action),
    after: () => ({ cancel: () => undefined }),
  };
  commit = new GroupCommit(db, timers, log);
  statements = [];
  const exec = db.exec.bind(db);
  db.exec = (sql: string) => {
    statements.push(sql);
    return exec(sql);
  };
});
afterEach(async () => {
  db.close();
  await rm(folder, { recursive: true });
});

const add = (text: string) => () => db.prepare('INSERT INTO note VALUES (?)').run(text).lastInsertRowid;
const notes = () => db.prepare('SELECT text FROM note ORDER BY rowid').pluck().all();
const turn = () => soon.splice(0).forEach((action) => void action());
const count = (sql: string) => statements.filter((statement) => statement === sql).length;

describe('a group', () => {
  it('writes what all callers of one turn want in one transaction, in order', async () => {
    const all = Promise.all([commit.durable(add('a')), commit.relaxed(add('b')), commit.durable(add('c'))]);
    expect(soon).toHaveLength(1);
    expect(notes()).toEqual([]);
    turn();
    expect(await all).toEqual([1, 2, 3]);
    expect(notes()).toEqual(['a', 'b', 'c']);
    expect([count('BEGIN IMMEDIATE'), count('COMMIT')]).toEqual([1, 1]);
  });

  it('is followed by another for what comes later', async () => {
    const first = commit.durable(add('a'));
    turn();
    const second = commit.durable(add('b'));
    turn();
    expect(await Promise.all([first, second])).toEqual([1, 2]);
    expect(count('COMMIT')).toBe(2);
  });

  it('gives each caller what its work gives', async () => {
    const results = Promise.all([commit.durable(() => 'text'), commit.relaxed(() => [1, 2])]);
    turn();
    expect(await results).toEqual(['text', [1, 2]]);
  });

  it('tells nobody before it is committed', async () => {
    let told = false;
    const one = commit.durable(add('a')).then(() => {
      told = true;
    });
    await Promise.resolve();
    expect(told).toBe(false);
    turn();
    await one;
    expect(told).toBe(true);
  });

  it('is written by a flush, once', async () => {
    const one = commit.durable(add('a'));
    commit.flush();
    turn();
    expect(await one).toBe(1);
    expect(count('COMMIT')).toBe(1);
  });
});

describe('an operation that fails', () => {
  it('does not take its neighbours down, and leaves nothing of itself', async () => {
    const half = () => {
      add('half')();
      throw new Error('no');
    };
    const results = Promise.allSettled([
      commit.durable(add('a')),
      commit.durable(half),
      commit.durable(add('b')),
    ]);
    turn();
    expect(await results).toMatchObject([
      { status: 'fulfilled' },
      { status: 'rejected', reason: { message: 'no' } },
      { status: 'fulfilled' },
    ]);
    expect(notes()).toEqual(['a', 'b']);
    expect(db.inTransaction).toBe(false);
  });

  it('lets those who remember rows forget them', async () => {
    let forgotten = 0;
    commit.onRollback(() => forgotten++);
    const well = commit.durable(add('a'));
    turn();
    await well;
    expect(forgotten).toBe(0);
    const failed = commit.durable(add('a')).catch((error: unknown) => error);
    turn();
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
    turn();
    await expect(failed).rejects.toMatchObject({ name: 'HubError', code: translated, message });
  });

  it('because of a defect stays what it is', async () => {
    const failed = commit.relaxed(() => {
      throw new TypeError('a defect');
    });
    turn();
    await expect(failed).rejects.toBeInstanceOf(TypeError);
  });
});

describe('durability', () => {
  const synchronous = () => db.pragma('synchronous', { simple: true });

  it('is FULL for a group in which one asks for it, and NORMAL for one in which nobody does', async () => {
    const seen: unknown[] = [];
    const look = () => seen.push(synchronous());
    for (const group of [
      () => [commit.relaxed(look)],
      () => [commit.relaxed(() => undefined), commit.durable(look)],
      () => [commit.relaxed(look)],
    ]) {
      const all = Promise.all(group());
      turn();
      await all;
    }
    expect(seen).toEqual([1, 2, 1]);
  });

  it('of one who asks for it is kept when the group is done again one by one', async () => {
    const seen: unknown[] = [];
    const results = Promise.allSettled([
      commit.durable(() => seen.push(synchronous())),
      commit.relaxed(() => {
        throw new Error('no');
      }),
    ]);
    turn();
    await results;
    expect(seen).toEqual([2, 2]);
  });
});
