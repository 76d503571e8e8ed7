/** Cursors of the log of changes on PostgreSQL: their length, and what they name while transactions are under way. */
import type { TaskChange } from '@workbench-hub/hub/core/ports/task-changes';
import { openPool } from '@workbench-hub/hub/store/postgres/connection/pool';
import {
  openPostgresStore,
  type PostgresTaskStore,
  type PostgresTaskStoreOptions,
} from '@workbench-hub/hub/store/postgres/store';
import { cursorAt, placeOf } from '@workbench-hub/hub/store/postgres/tasks/change-place';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import { memoryLog } from '../support/memory-log.js';
import { hasPostgres, holdLocks, migratedDatabase, type TestDatabase } from '../support/stores/postgres.js';
import { newTask } from './store-under-test.js';

/** Greatest length of a cursor by contract 12.29. */
const MAX_LENGTH = 250;

describe.skipIf(!hasPostgres)('a cursor on PostgreSQL', () => {
  let database: TestDatabase;
  let store: PostgresTaskStore;
  const closing: (() => Promise<unknown>)[] = [];
  beforeEach(async () => {
    database = await migratedDatabase();
    closing.push(() => database.drop());
    store = await open('hub');
  });
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  async function open(
    hub: string,
    settings: Partial<PostgresTaskStoreOptions> = {},
  ): Promise<PostgresTaskStore> {
    const { log } = memoryLog();
    const db = openPool({ url: database.url, log });
    closing.push(() => db.close());
    const opened = await openPostgresStore(db, {
      ...systemRuntime,
      log,
      hub,
      incarnation: systemRuntime.newId(),
      onBroken: (why) => expect.unreachable(why.message),
      ...settings,
    });
    closing.push(() => opened.close());
    return opened;
  }

  async function insert(into = store): Promise<string> {
    const task = newTask();
    await into.queue.insert([task]);
    return task.id;
  }

  /** All changes since a cursor, and the cursor after them. */
  async function told(cursor: string, limit = 1000): Promise<[changes: TaskChange[], cursor: string]> {
    const page = await store.changes.since(cursor, limit);
    if (!page) throw new Error(`nothing is known since ${cursor}`);
    if (page.isLast) return [[...page.changes], page.cursor];
    const [changes, end] = await told(page.cursor, limit);
    return [[...page.changes, ...changes], end];
  }
  const idsSince = async (cursor: string, limit?: number) =>
    (await told(cursor, limit))[0].map(({ taskId }) => taskId);

  /** Begins a transaction that logs changes of tasks, as a lane's does. */
  async function underWay(taskIds: readonly string[]): Promise<{ commit(): Promise<void> }> {
    const { log } = memoryLog();
    const db = openPool({ url: database.url, log });
    let commit: () => void = () => undefined;
    const isOver = new Promise<void>((resolve) => {
      commit = resolve;
    });
    let begun: () => void = () => undefined;
    const hasBegun = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const list = taskIds.map((id) => `'${id}'`).join(', ');
    const lane = ++lanes;
    const done = db.transaction(async (queries) => {
      await queries.script(
        `INSERT INTO task_change (lane_id, first, changes, transaction)
         SELECT ${lane}, 1, json_agg(seq)::text, pg_current_xact_id()::text::bigint FROM task
         JOIN task_request ON task_request.task_seq = task.seq WHERE task_request.id IN (${list})`,
      );
      begun();
      await isOver;
    });
    closing.push(async () => {
      commit();
      await done;
      await db.close();
    });
    await hasBegun;
    return {
      commit: async () => {
        commit();
        await done;
      },
    };
  }
  let lanes = 1000;

  it('has the same length for any number of hubs, each of which continues at it', async () => {
    const start = await store.changes.latest();
    const stores = [store];
    for (let at = 0; at < 12; at++) stores.push(await open(`hub ${at}`));
    const ids: string[] = [];
    for (const each of stores) {
      const id = await insert(each);
      await each.queue.cancel([id], ['WAITING'], 1);
      ids.push(id);
    }
    const cursor = await store.changes.latest();
    expect(cursor.length).toBeLessThan(60);
    const later = await insert(stores[5]);
    for (const each of stores) {
      const found = await each.changes.since(cursor, 100);
      expect(found?.changes.map(({ taskId }) => taskId)).toEqual([later]);
    }
    expect(await idsSince(start)).toEqual([...ids, later]);
    expect(await idsSince(start, 3)).toEqual(expect.arrayContaining([...ids, later]));
  });

  it('names transactions under way, whose changes are told once they have ended', async () => {
    const [first, second] = [await insert(), await insert()];
    const start = await store.changes.latest();
    const held = await underWay([first, second]);
    const third = await insert();
    const [changes, cursor] = await told(start);
    expect(changes.map(({ taskId }) => taskId)).toEqual([third]);
    expect((await told(cursor))[0]).toEqual([]);
    expect(await idsSince(await store.changes.latest())).toEqual([]);
    const fromLatest = await store.changes.latest();
    await held.commit();
    for (const each of [cursor, fromLatest, changes[0]?.cursor ?? '']) {
      expect(await idsSince(each)).toEqual([first, second]);
      expect(await idsSince(each, 1)).toEqual([first, second]);
    }
    expect(await idsSince(start)).toEqual([first, second, third]);
  });

  it('stays short, and lets changes wait, while many transactions are under way', async () => {
    const ids: string[] = [];
    for (let at = 0; at < 12; at++) ids.push(await insert());
    const start = await store.changes.latest();
    const held: { commit(): Promise<void> }[] = [];
    const between: string[] = [];
    for (const id of ids) {
      held.push(await underWay([id]));
      between.push(await insert());
    }
    const [changes, cursor] = await told(start);
    // Eight are named, and those after the ninth wait.
    expect(changes.map(({ taskId }) => taskId)).toEqual(between.slice(0, 8));
    const latest = await store.changes.latest();
    for (const each of [cursor, latest]) expect(each.length).toBeLessThanOrEqual(MAX_LENGTH);
    for (const each of held) await each.commit();
    expect(new Set(await idsSince(cursor))).toEqual(new Set([...ids, ...between.slice(8)]));
    expect(new Set(await idsSince(latest))).toEqual(new Set([...ids, ...between.slice(8)]));
  });

  it('is at most 180 characters long', () => {
    const most = Number.MAX_SAFE_INTEGER;
    const place = { transaction: most, told: 9_999_999_999, underWay: [1, 2, 3, 4, 5, 6, 7, 8] };
    const cursor = cursorAt('0123456789ab', place);
    expect(placeOf(cursor)).toEqual({ history: '0123456789ab', place });
    expect(cursor.length).toBeLessThanOrEqual(180);
  });

  it('does not name transactions that log no changes', async () => {
    const start = await store.changes.latest();
    const release = await holdLocks(database.url, "INSERT INTO key_file VALUES ('other', '')");
    try {
      const id = await insert();
      const [changes, cursor] = await told(start);
      expect(changes.map(({ taskId }) => taskId)).toEqual([id]);
      expect(cursor).toMatch(/^\w+\.t\d+_0$/);
    } finally {
      await release();
    }
  });

  it('of an earlier version is unknown, and so are one of the future and one that lacks removed changes', async () => {
    await insert();
    const [history] = (await store.changes.latest()).split('.');
    for (const place of ['0', '1_5', '1_20-3_7', 't99999999_0', 't1_0-1-2-3-4-5-6-7-8-9'])
      expect(await store.changes.since(`${history}.${place}`, 10), place).toBeNull();
    const start = await store.changes.latest();
    await insert();
    const middle = await store.changes.latest();
    await insert();
    await database.query(
      'DELETE FROM task_change WHERE transaction < (SELECT max(transaction) FROM task_change)',
    );
    expect(await store.changes.since(start, 10)).toBeNull();
    expect(await idsSince(middle)).toHaveLength(1);
    await database.query('DELETE FROM task_change');
    expect(await store.changes.since(middle, 10)).toBeNull();
    expect(await idsSince(await store.changes.latest())).toEqual([]);
  });

  it('is unknown when it is older than the changes that are kept, also of hubs that are gone', async () => {
    const gone = await open('gone');
    const start = await store.changes.latest();
    await insert(gone);
    const keeping = await open('keeping', { keptChanges: 3, removeEvery: 5 });
    const ids: string[] = [];
    for (let at = 0; at < 9; at++) ids.push(await insert(keeping));
    const left = await eventually(async () => {
      const rows = await database.query('SELECT lane_id FROM task_change');
      return rows.length < 10 && rows;
    });
    expect(new Set(left.map(({ lane_id: id }) => id)).size).toBe(1);
    expect(await store.changes.since(start, 10)).toBeNull();
    const latest = await store.changes.latest();
    const id = await insert();
    expect(await idsSince(latest)).toEqual([id]);
  });

  it('is unknown after the database was moved to a server whose transactions have lower numbers', async () => {
    const start = await store.changes.latest();
    await insert();
    const before = await store.changes.latest();
    await database.query('UPDATE task_change SET transaction = transaction + 1000000000');
    await insert();
    expect(await store.changes.since(start, 10)).toBeNull();
    expect(await store.changes.since(before, 10)).toBeNull();
    const after = await store.changes.latest();
    const id = await insert();
    expect(await idsSince(after)).toEqual([id]);
  });
});
