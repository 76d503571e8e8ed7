/** Writes over connections that are cut around their commits: each takes place once, and says so. */

import type { WaitingTask } from '@workbench-hub/hub/core/match-tasks';
import { openPool } from '@workbench-hub/hub/store/postgres/connection/pool';
import { openPostgresStore, type PostgresTaskStore } from '@workbench-hub/hub/store/postgres/store';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { afterEach, describe, expect, it } from 'vitest';
import { memoryLog } from '../support/memory-log.js';
import { seededRandom } from '../support/random.js';
import { hasPostgres, migratedDatabase, type TestDatabase } from '../support/stores/postgres.js';
import {
  CUTS,
  type Cut,
  type StatementCutter,
  startStatementCutter,
} from '../support/stores/statement-cutter.js';
import { fileOf, INSTANCE, newTask, WELL } from './store-under-test.js';
import { newStudy } from './studies-suite.js';

const TASKS = 40;
const AT_ONCE = 5;
const NOTIFY = { url: 'https://ci.example.org/hooks/a', receiver: 'https://ci.example.org' };

/** Clock by which no outage lasts: a row of cuts by chance is longer than the hold of a lane. */
const STILL = { ...systemRuntime.clock, monotonicMs: () => 0 };

describe.skipIf(!hasPostgres)('a store whose connections are cut around commits', () => {
  const closing: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  /** Opens the store of a hub at this address of the database. */
  async function openFor(hub: string, url: string): Promise<PostgresTaskStore> {
    const { log } = memoryLog();
    const db = openPool({ url, log });
    closing.push(() => db.close());
    const store = await openPostgresStore(db, {
      ...systemRuntime,
      clock: STILL,
      log,
      hub,
      incarnation: 'first',
      foldEvery: 5,
      onBroken: (why) => expect.unreachable(why.message),
    });
    closing.push(() => store.close());
    return store;
  }

  /** Opens a store whose statements are cut as chosen from then on. */
  async function openCut(
    choose: () => Cut | undefined,
  ): Promise<[PostgresTaskStore, TestDatabase, StatementCutter]> {
    const database = await migratedDatabase();
    closing.push(() => database.drop());
    let isCutting = false;
    const cutter = await startStatementCutter(database.server.port, () => (isCutting ? choose() : undefined));
    closing.push(() => cutter.close());
    const store = await openFor('hub', cutter.through(database.url));
    isCutting = true;
    return [store, database, cutter];
  }

  function open(seed: number) {
    const random = seededRandom(seed);
    return openCut(() => (random.oneIn(4) ? random.of(CUTS) : undefined));
  }

  /** Reads are not repeated by the store. */
  async function patiently<T>(read: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await read();
      } catch (error) {
        if ((error as { code?: string }).code !== 'STORE_UNAVAILABLE') throw error;
      }
    }
  }

  it.each([1, 2, 3])('performs each transition once (seed %d)', async (seed) => {
    const [store, database, cutter] = await open(seed);
    const { queue, archive } = store;
    const told: WaitingTask[] = [];

    async function live(at: number): Promise<void> {
      const task = newTask({ name: `n${at}`, notify: NOTIFY });
      await queue.insert([task], (waiting) => told.push(...waiting));
      expect(await queue.insertOnce(newTask({ creator: 'anna' }), `key ${at}`)).toMatchObject({});
      const instance = { ...INSTANCE, id: `sim-${at}` };
      for (const attempt of [1, 2]) {
        const claimed = await queue.claim([{ taskId: task.id, instance, startedAtMs: at }]);
        expect(claimed).toMatchObject([
          { agentId: 'agent-1', task: { status: 'RUNNING', startedAtMs: at, instance }, job: task.job },
        ]);
        const ref = { taskId: task.id, attempt, instanceId: instance.id };
        expect(claimed[0]?.ref).toEqual(ref);
        if (attempt === 1) expect(await queue.requeue([{ ref, loss: 'CRASH' }])).toEqual([true]);
        else {
          const files = { outputFiles: [{ path: 'a', ...fileOf('a') }], log: fileOf('log') };
          expect(await queue.end([{ ref, ending: { ...WELL, files }, endedAtMs: at }])).toEqual([true]);
        }
      }
      if (at % 2 === 0) expect(await archive.remove([task.id])).toEqual([true]);
    }

    const next = Array.from({ length: TASKS }, (_, at) => at);
    const liveInTurn = async () => {
      for (let at = next.shift(); at !== undefined; at = next.shift()) await live(at);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, liveInTurn));
    for (const cut of CUTS) expect(cutter.cuts[cut], cut).toBeGreaterThan(5);

    expect(told).toHaveLength(TASKS);
    expect(new Set(told.map(({ sequence }) => sequence)).size).toBe(TASKS);
    const one = async (text: string) => Object.values((await database.query(text))[0] ?? {}).map(Number);
    const left = TASKS / 2;
    expect(await one('SELECT count(*) FROM task')).toEqual([left + TASKS]);
    expect(await one('SELECT count(*), sum(tries) FROM webhook_delivery')).toEqual([TASKS, 0]);
    expect(await one('SELECT count(*) FROM former_attempt')).toEqual([left]);
    expect(await one('SELECT count(*) FROM task_file')).toEqual([2 * left]);
    expect(await one('SELECT count(*) FROM dropped_content')).toEqual([2 * left]);
    const ofKind = (kind: string) => `sum(tasks) FILTER (WHERE kind ${kind})`;
    expect(
      await one(
        `SELECT ${ofKind('= 2')} AS waiting, ${ofKind('= 18')} AS finished, sum(tasks) AS "all" FROM task_count`,
      ),
    ).toEqual([TASKS, left, left + TASKS]);
    const page = await patiently(() => archive.list({ page: 0, size: 1, statuses: ['FINISHED'] }));
    expect(page.totalElements).toBe(left);
  });

  it('makes each webhook of a study once, and counts it once', async () => {
    const [{ studies, webhooks }, database, cutter] = await open(5);
    const why = { atMs: 1, message: null };
    const live = async () => {
      const study = newStudy({ notify: NOTIFY, pointCount: 0 });
      const { id } = study;
      await studies.create(study);
      expect(await studies.setState(id, ['RUNNING'], 'STOPPED', why)).toBe(true);
      expect(await studies.setState(id, ['STOPPED'], 'RUNNING', why)).toBe(true);
      expect(await studies.finish(id, 0, 2)).toBe(true);
    };
    for (let at = 0; at < TASKS; at++) await live();
    for (const cut of CUTS) expect(cutter.cuts[cut], cut).toBeGreaterThan(2);
    const told = await database.query('SELECT count(*) AS count, max(told_of) AS last FROM webhook_delivery');
    expect(Object.values(told[0] ?? {}).map(Number)).toEqual([2 * TASKS, 2]);
    const waiting = await patiently(() => webhooks.waiting());
    expect(waiting.map(({ deliveries }) => deliveries)).toEqual([2 * TASKS]);
  });

  it.each([
    ['waits again', 'requeue'],
    ['was canceled', 'cancel'],
  ] as const)(
    'does not give out a claimed task that %s when the lost response is made up for',
    async (_, change) => {
      const next: Cut[] = [];
      const [store, database, cutter] = await openCut(() => next.shift());
      const task = newTask({});
      await store.queue.insert([task]);
      const other = await openFor('other', database.url);
      // The response is lost; then nothing is sent until the task has changed.
      next.push('AFTER', ...Array<Cut>(10_000).fill('BEFORE'));
      const claiming = store.queue.claim([{ taskId: task.id, instance: INSTANCE, startedAtMs: 1 }]);
      const ref = { taskId: task.id, attempt: 1, instanceId: INSTANCE.id };
      await expect.poll(() => cutter.cuts.AFTER).toBe(1);
      if (change === 'requeue')
        await expect.poll(() => other.queue.requeue([{ ref, loss: 'LOSS' }])).toEqual([true]);
      else await expect.poll(() => other.queue.cancel([task.id], ['RUNNING'], 9)).toEqual([true]);
      next.length = 0;
      expect(await claiming).toEqual([]);
      const claims = [{ taskId: task.id, instance: INSTANCE, startedAtMs: 2 }];
      expect(await store.queue.claim(claims)).toHaveLength(change === 'requeue' ? 1 : 0);
    },
  );

  it('adds statistics and bytes of uploads once', async () => {
    const [store, database] = await open(4);
    const none = { created: 0, finished: 0, failed: 0, canceled: 0, lost: 0, ranMs: 0, runs: [] };
    const waits = [{ class: 27, count: 1, totalMs: 10 }];
    for (let at = 0; at < 30; at++)
      await store.statistics.add([{ startMs: 0, started: 1, waitedMs: 10, waits, ...none }]);
    expect(await database.query("SELECT started FROM task_statistics WHERE step = 'HOUR'")).toEqual([
      { started: '30' },
    ]);
    expect(await database.query("SELECT count FROM task_duration WHERE step = 'HOUR'")).toEqual([
      { count: '30' },
    ]);
    const upload = {
      hubId: null,
      id: 'a',
      name: 'a',
      owner: null,
      overwrite: false,
      encrypt: false,
      sizeBytes: 100,
      receivedBytes: 0,
      announcedDigest: null,
      digest: null,
      metadata: '',
      createdAtMs: 1,
      expiresAtMs: 1000,
      isStored: false,
    };
    const terms = { overwrite: false, quotaBytes: null, maxFiles: 10, maxUploads: 10 };
    expect(await store.uploads.create(upload, terms)).toEqual({ kind: 'CREATED' });
    for (let at = 0; at < 30; at++) {
      expect(await store.uploads.advance('a', at, at + 1, 1000)).toBe(true);
    }
    const object = { area: 'INPUT' as const, storedAtMs: 1, expiresAtMs: 9, ...fileOf('a') };
    const named = { ...object, name: 'a', owner: null };
    expect(await store.uploads.finish('a', named, terms, 1000)).toEqual({ kind: 'NAMED' });
  });
});
