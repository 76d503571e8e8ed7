/** Writes of two schedulers, of which one does not know yet that its term is over: what one has claimed, the next one sees, and what the
 *  former one takes back late has no effect. */
import { allocationWith } from '@workbench-hub/hub/core/hosts/fixtures/allocation';
import { openPool } from '@workbench-hub/hub/store/postgres/connection/pool';
import { openPostgresStore } from '@workbench-hub/hub/store/postgres/store';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import { memoryLog } from '../support/memory-log.js';
import { hasPostgres, holdLocks } from '../support/stores/postgres.js';
import { joinAgent, type TestHub, TestHubs } from '../support/stores/postgres-cluster.js';
import { newTask } from './store-under-test.js';

const A = 'aaaaaaaaaaaa';
const B = 'bbbbbbbbbbbb';
const INSTANCE = { id: 'sim-1', version: '9.1', revision: '4711', agentId: 'agent-1' };

describe.skipIf(!hasPostgres)('two schedulers on PostgreSQL', () => {
  let hubs: TestHubs;
  let first: TestHub;
  let second: TestHub;
  const closing: (() => Promise<unknown>)[] = [];
  beforeEach(async () => {
    hubs = await TestHubs.open();
    closing.push(() => hubs.end());
    [first, second] = [await hubs.start(A), await hubs.start(B)];
    await first.roles.contend({ gained: async () => undefined, lost: async () => undefined });
  });
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  async function openStore(hub: string) {
    const db = openPool({ url: hubs.database.url, log: null });
    closing.push(() => db.close());
    const store = await openPostgresStore(db, {
      ...systemRuntime,
      log: memoryLog().log,
      hub,
      incarnation: systemRuntime.newId(),
      onBroken: (why) => expect.unreachable(why.message),
    });
    closing.push(() => store.close());
    return store;
  }

  const waitingForLocks = async () => {
    const [row] = await hubs.database.query<{ count: number }>(
      "SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
    );
    return row?.count ?? 0;
  };

  it('have one after the other: a term begins when the claims of the one before are there for all', async () => {
    const [store, next] = [await openStore(A), await openStore(B)];
    const task = newTask();
    await store.queue.insert([task]);
    const release = await holdLocks(hubs.database.url, 'SELECT FROM task FOR UPDATE');
    const claiming = store.queue.claim([{ taskId: task.id, instance: INSTANCE, startedAtMs: 1 }], 1);
    await eventually(async () => (await waitingForLocks()) === 1);

    first.proxy.isHanging = true;
    const seen: unknown[] = [];
    await second.roles.contend({
      gained: async () => void seen.push(...(await next.queue.running())),
      lost: async () => undefined,
    });
    await eventually(async () => {
      const [row] = await hubs.database.query('SELECT until < clock_timestamp() AS over FROM scheduler_term');
      return row?.['over'] === true && (await waitingForLocks()) === 2;
    });
    expect(seen).toEqual([]);
    await release();
    const [claimed] = await claiming;
    expect(claimed?.ref).toEqual({ taskId: task.id, attempt: 1, instanceId: INSTANCE.id });
    await eventually(() => seen.length > 0);
    expect(seen).toEqual([{ agentId: INSTANCE.agentId, ref: claimed?.ref }]);
  });

  it('claim nothing by a statement that was under way before the next term began', async () => {
    const [store, next] = [await openStore(A), await openStore(B)];
    const [late, current] = [newTask(), newTask()];
    await store.queue.insert([late, current]);
    const release = await holdLocks(hubs.database.url, `SELECT FROM lane WHERE hub = '${A}' FOR UPDATE`);
    const claiming = store.queue.claim([{ taskId: late.id, instance: INSTANCE, startedAtMs: 1 }], 1);
    await eventually(async () => (await waitingForLocks()) === 1);

    first.proxy.isHanging = true;
    const terms: number[] = [];
    await second.roles.contend({
      gained: async (term) => void terms.push(term),
      lost: async () => undefined,
    });
    await eventually(() => terms.length === 1);
    const [claimed] = await next.queue.claim(
      [{ taskId: current.id, instance: INSTANCE, startedAtMs: 1 }],
      terms[0],
    );
    await release();
    expect(await claiming).toEqual([]);
    expect(await next.queue.running()).toEqual([{ agentId: INSTANCE.agentId, ref: claimed?.ref }]);
    expect(await next.archive.find(late.id)).toMatchObject({ status: 'WAITING', attempt: 0 });
  });

  it('change no allocation in a term that is over', async () => {
    const [store, next] = [await openStore(A), await openStore(B)];
    const wanted = allocationWith();
    expect(await store.allocations.add(wanted, 1)).toBe(true);
    first.proxy.isHanging = true;
    let term = 0;
    await second.roles.contend({
      gained: async (gained) => {
        term = gained;
      },
      lost: async () => undefined,
    });
    await eventually(() => term === 2);
    const submitted = allocationWith({ state: 'SUBMITTED', jobId: '17' });
    expect(await store.allocations.change(submitted, 'WANTED', 1)).toBe(false);
    expect(await store.allocations.add(allocationWith({ id: 'late' }), 1)).toBe(false);
    expect(await next.allocations.open()).toEqual([wanted]);
    expect(await next.allocations.change(submitted, 'WANTED', term)).toBe(true);
  });

  /** Begins to take a running task back, as a lease of the first term does at its end; the row of its lane is locked. */
  async function endLeaseLate() {
    const store = await openStore(A);
    const task = newTask();
    await store.queue.insert([task]);
    const claims = [{ taskId: task.id, instance: INSTANCE, startedAtMs: 1 }];
    const [claimed] = await store.queue.claim(claims, 1);
    if (!claimed) throw new Error('the task was not claimed');
    const release = await holdLocks(hubs.database.url, `SELECT FROM lane WHERE hub = '${A}' FOR UPDATE`);
    const fence = { term: 1, awayAgentId: INSTANCE.agentId };
    const requeued = store.queue.requeue([{ ref: claimed.ref, loss: 'LOSS', fence }]);
    await eventually(async () => (await waitingForLocks()) === 1);
    return { store, taskId: task.id, requeued, release };
  }

  it('take nothing back by a statement that was under way before the next term began', async () => {
    const { store, taskId, requeued, release } = await endLeaseLate();
    first.proxy.isHanging = true;
    let term = 0;
    await second.roles.contend({
      gained: async (gained) => {
        term = gained;
      },
      lost: async () => undefined,
    });
    await eventually(() => term === 2);
    await release();
    expect(await requeued).toEqual([false]);
    expect(await store.archive.find(taskId)).toMatchObject({ status: 'RUNNING', attempt: 1 });
    const ref = { taskId, attempt: 1, instanceId: INSTANCE.id };
    expect(await store.queue.requeue([{ ref, loss: 'LOSS', fence: { term } }])).toEqual([true]);
  });

  it('take nothing from an agent that joins meanwhile', async () => {
    const epoch = await joinAgent(first, INSTANCE.agentId);
    await first.presence.leave(INSTANCE.agentId, epoch, 6);
    const { store, taskId, requeued, release } = await endLeaseLate();
    await joinAgent(second, INSTANCE.agentId);
    await release();
    expect(await requeued).toEqual([false]);
    expect(await store.archive.find(taskId)).toMatchObject({ status: 'RUNNING', attempt: 1 });
  });

  it('adopt nothing for an agent that has joined again meanwhile', async () => {
    const epoch = await joinAgent(first, INSTANCE.agentId);
    const [store, next] = [await openStore(A), await openStore(B)];
    const task = newTask();
    await store.queue.insert([task]);
    const [claimed] = await store.queue.claim([{ taskId: task.id, instance: INSTANCE, startedAtMs: 1 }], 1);
    if (!claimed) throw new Error('the task was not claimed');
    const { ref } = claimed;
    const held = { ref, instance: INSTANCE, startedAtMs: 1, isProven: true };
    expect(await store.queue.adopt([{ ...held, epoch }])).toEqual([{ dequeuedFrom: null }]);

    const release = await holdLocks(hubs.database.url, `SELECT FROM lane WHERE hub = '${A}' FOR UPDATE`);
    const adopting = store.queue.adopt([{ ...held, epoch }]);
    await eventually(async () => (await waitingForLocks()) === 1);
    await first.presence.leave(INSTANCE.agentId, epoch, 6);
    const latest = await joinAgent(second, INSTANCE.agentId);
    expect(await next.queue.requeue([{ ref, loss: 'LOSS' }])).toEqual([true]);
    await release();
    expect(await adopting).toEqual([null]);
    expect(await store.archive.find(task.id)).toMatchObject({ status: 'WAITING', attempt: 1 });
    expect(await next.queue.adopt([{ ...held, epoch: latest }])).toEqual([
      { dequeuedFrom: expect.any(Number) },
    ]);
  });

  it('have the next one soon when the clock of the server was set back', async () => {
    first.proxy.isHanging = true;
    await hubs.database.query("UPDATE scheduler_term SET until = clock_timestamp() + interval '1 hour'");
    let term = 0;
    await second.roles.contend({
      gained: async (gained) => {
        term = gained;
      },
      lost: async () => undefined,
    });
    await eventually(() => term === 2);
  });
});
