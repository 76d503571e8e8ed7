/** Lanes whose database is out of reach, was taken by another hub, or has lost changes. */
import type { PointEnd } from '@workbench-hub/hub/core/studies/study';
import { type DatabaseSettings, openPool } from '@workbench-hub/hub/store/postgres/connection/pool';
import { openPostgresStore, type PostgresTaskStore } from '@workbench-hub/hub/store/postgres/store';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import { memoryLog } from '../support/memory-log.js';
import { hasPostgres, migratedDatabase, type TestDatabase } from '../support/stores/postgres.js';
import { PostgresProxy } from '../support/stores/postgres-proxy.js';
import { claim, INSTANCE, newTask } from './store-under-test.js';
import { newStudy } from './studies-suite.js';

describe.skipIf(!hasPostgres)('the lanes of a store', () => {
  let database: TestDatabase;
  let proxy: PostgresProxy;
  let broken: string[];
  let aheadMs: number;
  let lines: ReturnType<typeof memoryLog>['lines'];
  const closing: (() => Promise<unknown>)[] = [];
  beforeEach(async () => {
    database = await migratedDatabase();
    proxy = await PostgresProxy.listen(database.server.port);
    broken = [];
    aheadMs = 0;
  });
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
    await proxy.close();
    await database.drop();
  });

  async function open(
    incarnation: string,
    settings: Partial<DatabaseSettings> = {},
  ): Promise<PostgresTaskStore> {
    const { log, lines: logged } = memoryLog();
    lines = logged;
    const db = openPool({ url: proxy.through(database.url), log, ...settings });
    closing.push(() => db.close());
    const { clock, timers } = systemRuntime;
    const store = await openPostgresStore(db, {
      clock: { ...clock, monotonicMs: () => clock.monotonicMs() + aheadMs },
      timers,
      log,
      hub: 'hub',
      incarnation,
      onBroken: (why) => broken.push(why.message),
    });
    closing.push(() => store.close());
    return store;
  }
  const setBack = (lane: string) =>
    database.query('UPDATE lane SET batch = batch - 1 WHERE name = $1', [lane]);
  const tasks = async () =>
    (await database.query('SELECT id FROM task_request ORDER BY id')).map(({ id }) => id);

  it('belong to the latest start of the hub: what is left of a former one changes nothing', async () => {
    const former = await open('former');
    const task = newTask();
    await former.queue.insert([task]);
    const latter = await open('latter');
    await expect(former.queue.insert([newTask()])).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: 'another hub uses this database, and this one may no longer write to it; restart the hub',
    });
    await expect(former.queue.insert([newTask()])).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(broken).toHaveLength(1);
    expect(await latter.queue.cancel([task.id], ['WAITING'], 1)).toEqual([true]);
    expect(await tasks()).toEqual([task.id]);
  });

  it('write what else there is between the parts of a retry of very many points', async () => {
    const store = await open('hub');
    const pointCount = 2500;
    const end: PointEnd = {
      ...{ outcome: 'CANCELED', cause: null, message: null, values: [], source: null },
      ...{ startedAtMs: null, endedAtMs: 1 },
    };
    const study = newStudy({ pointCount });
    await store.studies.create(study);
    const points = Array.from({ length: pointCount }, () => ({
      ...{ variables: [1], bundle: null, notReused: null, end },
    }));
    await store.studies.begin(study.id, 0, points);
    const written: string[] = [];
    const retried = store.studies.retry(study.id, ['CANCELED'], 2);
    const other = store.studies.create(newStudy());
    await Promise.all([retried.then(() => written.push('retry')), other.then(() => written.push('other'))]);
    expect(await retried).toBe(pointCount);
    expect(written).toEqual(['other', 'retry']);
  });

  it('get their ids once, of which a start needs none, and more than those of 16 bits', async () => {
    const before = await open('first');
    await before.queue.insert([newTask()]);
    const drawn = () =>
      database.query("SELECT last_value FROM pg_sequences WHERE sequencename = 'lane_id_seq'");
    const [used] = await drawn();
    for (const incarnation of ['second', 'third']) await open(incarnation);
    expect(await drawn()).toEqual([used]);

    await database.query("SELECT setval('lane_id_seq', 32767)");
    await database.query("UPDATE lane SET hub = 'another'");
    const store = await open('fourth');
    const cursor = await store.changes.latest();
    const task = newTask();
    await store.queue.insert([task]);
    await claim(store, task.id);
    await store.queue.cancel([task.id], ['RUNNING'], 1);
    expect(await store.changes.since(cursor, 10)).toMatchObject({ changes: [{ taskId: task.id }] });
    expect(await database.query('SELECT FROM lane WHERE id > 32767')).toHaveLength(5);
  });

  it('end when the database has lost what was confirmed', async () => {
    const store = await open('first');
    const task = newTask();
    await store.queue.insert([task]);
    await setBack('insert');
    await expect(store.queue.insert([newTask()])).rejects.toMatchObject({
      message: 'the database has lost changes that it had confirmed; restart the hub',
    });
    expect(broken).toEqual(['the database has lost changes that it had confirmed; restart the hub']);
    expect(await tasks()).toEqual([task.id]);
  });

  it('end when the server has lost the latest claims in a crash, so that the next start takes the tasks from the rows', async () => {
    const store = await open('first');
    const [first, second] = [newTask(), newTask()];
    await store.queue.insert([first, second]);
    await claim(store, first.id);
    await setBack('claim');
    const message =
      'the database server has crashed and lost claims that had not reached its disk; restart the hub';
    await expect(claim(store, second.id)).rejects.toMatchObject({ message });
    expect(broken).toEqual([message]);
    const restarted = await open('second');
    expect(await claim(restarted, second.id)).toMatchObject({ taskId: second.id, attempt: 1 });
  });

  it('end with the next batch of any lane when the server has lost a claim, so that no task waits unknown', async () => {
    const store = await open('first');
    const [lost, other] = [newTask(), newTask()];
    await store.queue.insert([lost, other]);
    await claim(store, lost.id);
    // The crash undoes the claim, and no other follows.
    await setBack('claim');
    await database.query(`UPDATE task SET status = 'WAITING', attempt = 0`);
    const message =
      'the database server has crashed and lost claims that had not reached its disk; restart the hub';
    await expect(store.queue.cancel([other.id], ['WAITING'], 1)).rejects.toMatchObject({ message });
    expect(broken).toEqual([message]);
    expect(await store.archive.find(other.id)).toMatchObject({ status: 'WAITING' });
  });

  it('end with the next batch of any lane when the database has lost what another had confirmed', async () => {
    const store = await open('first');
    const [kept, lost] = [newTask(), newTask()];
    await store.queue.insert([kept]);
    await store.queue.insert([lost]);
    await setBack('insert');
    const message = 'the database has lost changes that it had confirmed; restart the hub';
    await expect(store.queue.cancel([kept.id], ['WAITING'], 1)).rejects.toMatchObject({ message });
    expect(broken).toEqual([message]);
  });

  it('claim nothing for a scheduler whose term has ended', async () => {
    const store = await open('first');
    const task = newTask();
    await store.queue.insert([task]);
    const claims = [{ taskId: task.id, instance: INSTANCE, startedAtMs: 1 }];
    await database.query('UPDATE scheduler_term SET term = 8');
    expect(await store.queue.claim(claims, 7)).toEqual([]);
    expect(await store.archive.find(task.id)).toMatchObject({ status: 'WAITING' });
    expect(await store.queue.claim(claims, 8)).toMatchObject([{ task: { id: task.id, status: 'RUNNING' } }]);
  });

  it('hold calls while the database is out of reach, refuse them after a while, and go on', async () => {
    const store = await open('first');
    await store.queue.insert([newTask()]);
    const before = await tasks();
    proxy.accept(false);
    proxy.cut();
    const held = [store.queue.insert([newTask()])];
    await eventually(() => lines.some(({ msg }) => msg === 'the database cannot be reached; trying again'));
    held.push(store.queue.insert([newTask()]));
    aheadMs = 10_000;
    const refused = { code: 'STORE_UNAVAILABLE', retryAfterS: 2 };
    for (const each of held) await expect(each).rejects.toMatchObject(refused);
    await expect(store.queue.insert([newTask()])).rejects.toMatchObject(refused);
    expect(await tasks()).toEqual(before);
    proxy.accept(true);
    await store.queue.insert([newTask()]);
    expect(await tasks()).toHaveLength(before.length + 1);
    expect(broken).toEqual([]);
  });

  it('refuse reads as writes while the database is out of reach', async () => {
    const store = await open('first');
    const task = newTask();
    await store.queue.insert([task]);
    proxy.accept(false);
    proxy.cut();
    const refused = {
      code: 'STORE_UNAVAILABLE',
      message: 'the hub cannot use its database; nothing was changed',
      retryAfterS: 2,
    };
    const { archive, queue, namedObjects, inlineBlobs, changes } = store;
    const reads = [
      archive.find(task.id),
      archive.list({ page: 0, size: 1, statuses: [] }),
      queue.heads([{ groupId: 1, limit: 1 }]),
      namedObjects.find('INPUT', 'a', 0),
      inlineBlobs.find('00'),
      changes.latest(),
    ];
    await Promise.all(reads.map((read) => expect(read).rejects.toMatchObject(refused)));
    proxy.accept(true);
    expect(await archive.find(task.id)).toMatchObject({ id: task.id });
  });

  it('write a call that is held once the database is back', async () => {
    const store = await open('first');
    proxy.accept(false);
    proxy.cut();
    const task = newTask();
    const held = store.queue.insert([task]);
    proxy.accept(true);
    await held;
    expect(await tasks()).toEqual([task.id]);
  });

  it('write once what a server that hung had committed', async () => {
    const store = await open('first', { statementTimeoutMs: 100 });
    await store.queue.insert([newTask()]);
    proxy.isHanging = true;
    const task = newTask();
    const held = store.queue.insert([task]);
    await eventually(async () => (await tasks()).includes(task.id));
    proxy.isHanging = false;
    await held;
    expect(await tasks()).toHaveLength(2);
    expect(broken).toEqual([]);
  });

  it('give up what they do not know when the hub stops and the database stays away', async () => {
    const store = await open('first');
    await store.queue.insert([newTask()]);
    proxy.isHanging = true;
    const task = newTask();
    const refused = expect(store.queue.insert([task])).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: 'the hub is stopping without its database; whether anything was changed is not known',
    });
    await eventually(async () => (await tasks()).includes(task.id));
    proxy.accept(false);
    proxy.cut();
    await eventually(() => lines.some(({ msg }) => msg === 'the database cannot be reached; trying again'));
    store.beginStop();
    aheadMs = 11_000;
    await refused;
    expect(broken).toEqual([]);
  });

  it('write a call once a lock is gone for which its statement waited in vain', async () => {
    const store = await open('first', { statementTimeoutMs: 200 });
    const locker = openPool({ url: database.url, log: null });
    closing.push(() => locker.close());
    const task = newTask();
    let held: Promise<void> | undefined;
    await locker.transaction(async (queries) => {
      await queries.script('LOCK TABLE task_request');
      held = store.queue.insert([task]);
      await eventually(() => lines.some(({ msg }) => msg === 'the database cannot be reached; trying again'));
    });
    await held;
    expect(await tasks()).toEqual([task.id]);
    expect(broken).toEqual([]);
  });

  it('refuse what does not fit on the disk of the server, and go on when there is room', async () => {
    const store = await open('first');
    // An error of PostgreSQL, at a place where it occurs.
    await database.query(`CREATE FUNCTION is_full() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      RAISE 'could not extend file "base/1/2": No space left on device' USING ERRCODE = 'disk_full'; END $$`);
    await database.query(
      'CREATE TRIGGER is_full BEFORE INSERT ON task_request FOR EACH STATEMENT EXECUTE FUNCTION is_full()',
    );
    const refused = await Promise.allSettled(
      [newTask(), newTask()].map((task) => store.queue.insert([task])),
    );
    const full = {
      code: 'STORAGE_FULL',
      message: "the disk of the hub's database is full; nothing was changed",
    };
    expect(refused).toMatchObject([{ reason: full }, { reason: full }]);
    expect(await tasks()).toEqual([]);
    await database.query('DROP TRIGGER is_full ON task_request');
    const task = newTask();
    await store.queue.insert([task]);
    expect(await tasks()).toEqual([task.id]);
    expect(broken).toEqual([]);
  });
});
