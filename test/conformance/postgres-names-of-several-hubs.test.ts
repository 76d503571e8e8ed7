/** Names of the storage, and keys of tasks, that several hubs take at the same time. */
import type { NamedObject } from '@workbench-hub/hub/core/ports/named-objects';
import { type Database, openPool } from '@workbench-hub/hub/store/postgres/connection/pool';
import { openPostgresStore, type PostgresTaskStore } from '@workbench-hub/hub/store/postgres/store';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '../support/eventually.js';
import { memoryLog } from '../support/memory-log.js';
import { hasPostgres, holdLocks, migratedDatabase } from '../support/stores/postgres.js';
import { newTask } from './store-under-test.js';

const TERMS = { overwrite: false, quotaBytes: null, maxFiles: 10 };
const HUBS = 4;

const objectOf = (name: string, digest: string): NamedObject => ({
  area: 'INPUT',
  ...{ name, digest, sizeBytes: 1, owner: 'ulla', storedAtMs: 1000, expiresAtMs: 2000 },
});

async function openHubs() {
  const database = await migratedDatabase();
  const opened: { readonly pool: Database; readonly store: PostgresTaskStore }[] = [];
  for (let at = 0; at < HUBS; at++) {
    const { log } = memoryLog();
    const pool = openPool({ url: database.url, log });
    const options = {
      ...systemRuntime,
      log,
      hub: `hub-${at}`,
      incarnation: systemRuntime.newId(),
      onBroken: (why: Error) => {
        throw why;
      },
    };
    opened.push({ pool, store: await openPostgresStore(pool, options) });
  }
  onTestFinished(async () => {
    for (const { pool, store } of opened) {
      await store.close();
      await pool.close();
    }
    await database.drop();
  });
  return { database, hubs: opened.map(({ store }) => store) };
}

describe.skipIf(!hasPostgres)('a name that several hubs give at the same time', () => {
  it('goes to one of them, unless each may overwrite it', async () => {
    const hubs = (await openHubs()).hubs.map(({ namedObjects }) => namedObjects);
    for (let round = 0; round < 10; round++) {
      const put = (overwrite: boolean) =>
        Promise.all(
          hubs.map((names, at) =>
            names.put(objectOf(`name ${round}`, `digest ${at}`), { ...TERMS, overwrite }),
          ),
        );
      const outcomes = (await put(false)).map(({ kind }) => kind).sort();
      expect(outcomes).toEqual([...Array(HUBS - 1).fill('EXISTS'), 'NAMED']);
      expect((await put(true)).map(({ kind }) => kind)).toEqual(Array(HUBS).fill('NAMED'));
    }
  });

  it('is free again when it has expired', async () => {
    const [names] = (await openHubs()).hubs.map(({ namedObjects }) => namedObjects);
    await names?.put(objectOf('old', 'a'), TERMS);
    const later = { ...objectOf('old', 'b'), storedAtMs: 2000, expiresAtMs: 3000 };
    expect(await names?.put(later, TERMS)).toEqual({ kind: 'NAMED' });
  });
});

describe.skipIf(!hasPostgres)('a key with which several hubs insert at the same time', () => {
  it('is that of one task, and no other insertion fails', async () => {
    const hubs = (await openHubs()).hubs.map(({ queue }) => queue);
    for (let round = 0; round < 10; round++) {
      const inserted = await Promise.all(
        hubs.map(async (queue) => {
          const others = queue.insert([newTask()]);
          const { taskId } = await queue.insertOnce(newTask(), `key ${round}`);
          await others;
          return taskId;
        }),
      );
      expect(new Set(inserted).size).toBe(1);
    }
  });

  it('is that of the task of another hub, whose statement ends while one waits that inserts nothing else', async () => {
    const { database, hubs } = await openHubs();
    const waiting = async (count: number) => {
      const found = await database.query(
        "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
      );
      return found.length === count;
    };
    const release = await holdLocks(database.url, 'SELECT pg_advisory_xact_lock(1)');
    const other = database.query(
      `INSERT INTO idempotency_key (creator, key, task_seq, task_id, used_at) VALUES ('', 'key', 0, 'of another', 1);
       SELECT pg_advisory_xact_lock(1)`,
    );
    await eventually(() => waiting(1));
    const inserted = hubs[0]?.queue.insertOnce(newTask(), 'key');
    await eventually(() => waiting(2));
    await release();
    await other;
    expect(await inserted).toEqual({ taskId: 'of another' });
    expect(await database.query('SELECT FROM task')).toEqual([]);
  });
});
