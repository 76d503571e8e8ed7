/** A store whose server fails, and whose synchronous standby takes over. */

import { openPool } from '@workbench-hub/hub/store/postgres/connection/pool';
import { openPostgresStore } from '@workbench-hub/hub/store/postgres/store';
import { checkDatabase, refuseUnfit } from '@workbench-hub/hub/store/postgres/upkeep/check';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import { memoryLog } from '../support/memory-log.js';
import {
  hasPostgres,
  migratedOn,
  queryAt,
  startPostgres,
  startStandby,
  waitForStandby,
} from '../support/stores/postgres.js';
import { PostgresProxy } from '../support/stores/postgres-proxy.js';
import { newTask } from './store-under-test.js';

describe.skipIf(!hasPostgres)('a store whose server fails over to its synchronous standby', () => {
  const closing: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  /** A store on a server with a synchronous standby. */
  async function openWithStandby() {
    const primary = await startPostgres();
    closing.push(() => primary.end());
    const { name } = await migratedOn(primary);
    const standby = await startStandby(primary);
    closing.push(() => standby.end());
    await waitForStandby(primary);

    const proxy = await PostgresProxy.listen(primary.port);
    closing.push(() => proxy.close());
    const { log, lines } = memoryLog();
    const db = openPool({ url: proxy.through(primary.url(name)), log });
    closing.push(() => db.close());
    const store = await openPostgresStore(db, {
      ...systemRuntime,
      log,
      hub: 'hub',
      incarnation: 'first',
      onBroken: (why) => expect.unreachable(why.message),
    });
    closing.push(() => store.close());
    return { primary, standby, proxy, store, name, lines };
  }

  it('loses nothing that it has acknowledged, and does nothing twice', async () => {
    const { primary, standby, proxy, store, name } = await openWithStandby();
    const acknowledged: string[] = [];
    let isOver = false;
    const working = Array.from({ length: 3 }, async () => {
      while (!isOver) {
        const task = newTask();
        const isInserted = await store.queue.insert([task]).then(
          () => true,
          () => false,
        );
        if (isInserted) acknowledged.push(task.id);
      }
    });
    await eventually(() => acknowledged.length > 20);
    await primary.kill();
    proxy.accept(false);
    proxy.cut();
    const before = acknowledged.length;
    await queryAt(standby.url(name), 'SELECT pg_promote()');
    proxy.target = standby.port;
    proxy.accept(true);
    await eventually(() => acknowledged.length > before + 20);
    isOver = true;
    await Promise.all(working);

    const kept = await queryAt<{ id: string }>(standby.url(name), 'SELECT id FROM task_request');
    expect(kept.map(({ id }) => id)).toEqual(expect.arrayContaining(acknowledged));
    expect(new Set(acknowledged).size).toBe(acknowledged.length);
    const [counted] = await queryAt(standby.url(name), 'SELECT sum(tasks)::int AS tasks FROM task_count');
    expect(counted).toEqual({ tasks: kept.length });
  });

  it('does not begin on a standby, and writes nothing while it is led to one', async () => {
    const { primary, standby, proxy, store, name, lines } = await openWithStandby();
    const database = openPool({ url: standby.url(name), log: null });
    closing.push(() => database.close());
    const why = 'this server is a standby, which cannot be written';
    await expect(refuseUnfit(database)).rejects.toThrow(`cannot be used: writing: ${why}`);
    const findings = await checkDatabase(database, { migrations: [], ...systemRuntime });
    expect(findings).toContainEqual({
      ...{ check: 'writing', state: 'FAULT', message: why, advice: 'name the primary server' },
    });

    const leadTo = ({ port }: { readonly port: number }) => {
      proxy.target = port;
      proxy.cut();
    };
    leadTo(standby);
    const task = newTask();
    const told: string[] = [];
    const inserting = store.queue.insert([task]).then(() => told.push('201'));
    await eventually(() => lines.some(({ msg }) => msg === 'the database cannot be reached; trying again'));
    expect(told).toEqual([]);
    leadTo(primary);
    await inserting;
    expect(await store.archive.find(task.id)).toMatchObject({ status: 'WAITING' });
  });

  it('tells nothing that a restarted server shows before its standby has it', async () => {
    const { primary, standby, store, name } = await openWithStandby();
    const waiting = () =>
      queryAt<{ query: string }>(
        primary.url(name),
        "SELECT query FROM pg_stat_activity WHERE wait_event = 'SyncRep'",
      );
    // From now on the requirement of the tasks is known.
    await store.queue.insert([newTask()]);
    await standby.stop();
    const task = newTask();
    const told: string[] = [];
    const inserting = store.queue.insert([task]).then(() => told.push('201'));
    await eventually(async () => (await waiting()).length > 0);
    await primary.kill();
    await eventually(() => primary.start().then(() => true));
    const [shown] = await queryAt(
      primary.url(name),
      `SELECT status FROM task JOIN task_request ON task_seq = seq
      WHERE id = '${task.id}'`,
    );
    expect(shown).toEqual({ status: 'WAITING' });
    const reading = store.archive.find(task.id).then(
      (found) => told.push(String(found?.status)),
      () => store.archive.find(task.id),
    );
    await eventually(async () => (await waiting()).length > 0);
    expect(told).toEqual([]);
    await standby.start();
    await Promise.all([inserting, reading]);
    expect(told).toContain('201');
    expect(await store.archive.find(task.id)).toMatchObject({ status: 'WAITING' });
  });

  it('tells nothing that a server shows which has recovered without a new start before its standby has it', async () => {
    const { primary, standby, store, name } = await openWithStandby();
    const processes = (condition: string) =>
      queryAt<{ pid: number }>(primary.url(name), `SELECT pid FROM pg_stat_activity WHERE ${condition}`);
    await store.queue.insert([newTask()]);
    await standby.stop();
    const task = newTask();
    const told: string[] = [];
    const inserting = store.queue.insert([task]).then(() => told.push('201'));
    await eventually(async () => (await processes("wait_event = 'SyncRep'")).length > 0);
    const [killed] = await processes("backend_type = 'walwriter'");
    process.kill(Number(killed?.pid), 'SIGKILL');
    await eventually(async () => {
      const query = `SELECT FROM task_request WHERE id = '${task.id}'`;
      return (await queryAt(primary.url(name), query)).length > 0;
    });
    const read = async () => void told.push(`${(await store.archive.find(task.id))?.status}`);
    const reading = read().catch(read);
    const isConfirming = "wait_event = 'SyncRep' AND query LIKE '%pg_logical_emit_message%'";
    await eventually(async () => (await processes(isConfirming)).length > 0);
    expect(told).toEqual([]);
    await standby.start();
    await Promise.all([inserting, reading]);
    expect(told.toSorted()).toEqual(['201', 'WAITING']);
  });
});
