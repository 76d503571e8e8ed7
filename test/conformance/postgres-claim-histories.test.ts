/**
 * Random histories of claims on PostgreSQL, while batches of other calls are under way and hubs are killed: whoever follows the
 * changes knows each task as it is. `WORKBENCH_TEST_SEED` and `WORKBENCH_TEST_RUNS` choose others.
 */

import { type Database, openPool } from '@workbench-hub/hub/store/postgres/connection/pool';
import { ClaimLog } from '@workbench-hub/hub/store/postgres/lanes/claim-log';
import { openPostgresStore, type PostgresTaskStore } from '@workbench-hub/hub/store/postgres/store';
import type { TaskStatus } from '@workbench-hub/shared/domain/task';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { memoryLog } from '../support/memory-log.js';
import { hasPostgres, migratedDatabase, type TestDatabase } from '../support/stores/postgres.js';
import { INSTANCE, newTask, WELL } from './store-under-test.js';

const seed = Number(process.env['WORKBENCH_TEST_SEED'] ?? 20261123);
const numRuns = Number(process.env['WORKBENCH_TEST_RUNS'] ?? 40);

/** Time after which no further history begins. */
const TIME_LIMIT_MS = 60_000;

const TASKS = 2;
const taskNumber = fc.nat(TASKS - 1);

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('claim' as const), at: taskNumber }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('requeue' as const), at: taskNumber }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('end' as const), at: taskNumber }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('insert' as const) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('hold' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('release' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('follow' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('kill' as const, 'replace' as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer Each> ? Each : never;

/** Replaces the connections of a hub, to put a defect into it. */
type Broken = (db: Database) => Database;

/** A hub's store, one of whose batches may be held before it is sent. */
class Hub {
  readonly store: PostgresTaskStore;
  readonly #db: Database;
  readonly #gate: BatchGate;
  readonly #unwatch: () => void;

  private constructor(db: Database, gate: BatchGate, store: PostgresTaskStore) {
    this.#db = db;
    this.#gate = gate;
    this.store = store;
    this.#unwatch = store.changes.watch(() => undefined);
  }

  static async start({ url }: TestDatabase, hub: string, broken: Broken): Promise<Hub> {
    const { log } = memoryLog();
    const db = openPool({ url, log });
    const gate = new BatchGate();
    const store = await openPostgresStore(gate.before(broken(db)), {
      ...systemRuntime,
      log,
      hub,
      incarnation: systemRuntime.newId(),
      onBroken: (why) => expect.unreachable(why.message),
    });
    await store.logClaimsOfEndedHubs();
    return new Hub(db, gate, store);
  }

  /** Whether a batch is held. */
  get isHeld(): boolean {
    return this.#gate.isHeld;
  }

  /** Begins a call whose batch is held; resolves when it is. */
  async hold(call: () => Promise<void>): Promise<void> {
    const held = this.#gate.hold();
    this.#call = call();
    this.#call.catch(() => undefined);
    await held;
  }
  #call: Promise<void> = Promise.resolve();

  /** Sends the held batch; resolves when it took place. */
  async release(): Promise<void> {
    this.#gate.release();
    await this.#call;
  }

  /** Ends as a killed process does: a held batch is never sent. */
  async kill(): Promise<void> {
    this.#unwatch();
    this.#gate.drop();
    await this.#db.close();
  }

  async close(): Promise<void> {
    this.#unwatch();
    await this.store.close();
    await this.#db.close();
  }
}

/** Holds one batch that logs changes. */
class BatchGate {
  #next: (() => void) | undefined;
  #open: (() => void) | undefined;
  #isDropped = false;

  get isHeld(): boolean {
    return this.#open !== undefined;
  }

  /** Resolves when the next batch is held. */
  hold(): Promise<void> {
    return new Promise((resolve) => {
      this.#next = resolve;
    });
  }

  release(): void {
    this.#open?.();
    this.#open = undefined;
  }

  /** No statement is sent any more. */
  drop(): void {
    this.#isDropped = true;
  }

  before(db: Database): Database {
    return {
      ...db,
      rows: async (statement, values) => {
        if (this.#isDropped) return new Promise(() => undefined);
        if (this.#next && statement.text.includes('INSERT INTO task_change')) {
          const held = this.#next;
          this.#next = undefined;
          await new Promise<void>((resolve) => {
            this.#open = resolve;
            held();
          });
        }
        return db.rows(statement, values);
      },
    };
  }
}

interface Beginning {
  readonly name: string;
  readonly hub: Hub;
  readonly cursor: string;
  readonly broken: Broken;
}

/** Plays a history, beside a model of what was confirmed. */
class Player {
  readonly #database: TestDatabase;
  readonly #broken: Broken;
  readonly #name = systemRuntime.newId();
  #hub: Hub;
  #hubName: string;
  #cursor: string;
  /** Statuses and attempts, as confirmed, and as told by the changes. */
  readonly #tasks = new Map<string, { status: TaskStatus; attempt: number }>();
  readonly #told = new Map<string, { status: TaskStatus; attempt: number }>();
  /** Task of the held batch. */
  #held = '';

  private constructor(database: TestDatabase, { name, hub, cursor, broken }: Beginning) {
    this.#database = database;
    this.#broken = broken;
    this.#hubName = name;
    this.#hub = hub;
    this.#cursor = cursor;
  }

  static async begin(database: TestDatabase, broken: Broken): Promise<Player> {
    const name = systemRuntime.newId();
    const hub = await Hub.start(database, name, broken);
    const player = new Player(database, { name, hub, cursor: await hub.store.changes.latest(), broken });
    for (let at = 0; at < TASKS; at++) await player.#insert(player.#idOf(at));
    return player;
  }

  async play(steps: readonly Step[]): Promise<void> {
    for (const each of steps) await this.#perform(each);
    if (this.#hub.isHeld) await this.#release();
    await this.#follow();
  }

  close(): Promise<void> {
    return this.#hub.close();
  }

  async #perform(given: Step): Promise<void> {
    const { queue } = this.#hub.store;
    if (given.kind === 'claim') return this.#claim(this.#idOf(given.at));
    if (given.kind === 'requeue' || given.kind === 'end') return this.#endAttempt(given);
    if (given.kind === 'release') return this.#hub.isHeld ? this.#release() : undefined;
    if (given.kind === 'kill' || given.kind === 'replace') return this.#kill(given.kind === 'replace');
    // One batch of new tasks is under way at a time.
    if (this.#hub.isHeld) return;
    if (given.kind === 'follow') return this.#hub.isHeld ? undefined : this.#follow();
    if (given.kind === 'insert') return this.#insert(systemRuntime.newId());
    this.#held = systemRuntime.newId();
    await this.#hub.hold(() => queue.insert([newTask({ id: this.#held })]));
  }

  /** Id of a task, which no other history has. */
  #idOf(at: number): string {
    return `${this.#name}-${at}`;
  }

  async #insert(id: string): Promise<void> {
    await this.#hub.store.queue.insert([newTask({ id })]);
    this.#tasks.set(id, { status: 'WAITING', attempt: 0 });
  }

  async #claim(taskId: string): Promise<void> {
    const claims = [{ taskId, instance: INSTANCE, startedAtMs: 1 }];
    for (const { ref } of await this.#hub.store.queue.claim(claims))
      this.#tasks.set(taskId, { status: 'RUNNING', attempt: ref.attempt });
  }

  /** Ends the attempt of a task, if it runs; the task ends, or waits again. */
  async #endAttempt({ kind, at }: { readonly kind: 'requeue' | 'end'; readonly at: number }): Promise<void> {
    const { queue } = this.#hub.store;
    const taskId = this.#idOf(at);
    const task = this.#tasks.get(taskId);
    if (task?.status !== 'RUNNING') return;
    const ref = { taskId, attempt: task.attempt, instanceId: INSTANCE.id };
    const isRequeued = kind === 'requeue';
    const done = isRequeued
      ? await queue.requeue([{ ref, loss: 'RETURN' }])
      : await queue.end([{ ref, ending: WELL, endedAtMs: 9 }]);
    expect(done).toEqual([true]);
    this.#tasks.set(taskId, { ...task, status: isRequeued ? 'WAITING' : 'FINISHED' });
  }

  async #release(): Promise<void> {
    await this.#hub.release();
    this.#tasks.set(this.#held, { status: 'WAITING', attempt: 0 });
  }

  /** Kills the hub; it starts again, or another hub takes its place. */
  async #kill(isReplaced: boolean): Promise<void> {
    await this.#hub.kill();
    if (isReplaced) this.#hubName = systemRuntime.newId();
    this.#hub = await Hub.start(this.#database, this.#hubName, this.#broken);
  }

  /** Reads the changes, which tell of each task as it is. */
  async #follow(): Promise<void> {
    const { queue, changes } = this.#hub.store;
    // Logs what was claimed, after the batches of its lane that are under way.
    await queue.cancel(['nobody'], ['WAITING'], 9);
    for (let isLast = false; !isLast; ) {
      const page = await changes.since(this.#cursor, 4);
      if (!page) throw new Error(`nothing is known since ${this.#cursor}`);
      for (const { taskId, task } of page.changes)
        if (task && this.#tasks.has(taskId))
          this.#told.set(taskId, { status: task.status, attempt: task.attempt });
      ({ cursor: this.#cursor, isLast } = page);
    }
    expect([...this.#told].sort()).toEqual([...this.#tasks].sort());
  }
}

/** A batch says that all claims are logged, also those that another batch has under way. */
function saysThatAllIsLogged(db: Database): Database {
  let latest: unknown = 0;
  return {
    ...db,
    rows: (statement, values = []) => {
      const [laneId, incarnation, batch, notedSeqs, , ...rest] = values;
      if (statement.text.includes('scheduler_term')) latest = batch;
      const isLog = statement.text.includes('INSERT INTO task_change');
      return db.rows(statement, isLog ? [laneId, incarnation, batch, notedSeqs, latest, ...rest] : values);
    },
  };
}

/** A task that is claimed again is counted once more than it is forgotten. */
function countsTooMany(): void {
  const claimed = new Set<string>();
  const { begin } = ClaimLog.prototype;
  vi.spyOn(ClaimLog.prototype, 'begin').mockImplementation(function (this: ClaimLog, taskIds) {
    begin.call(this, taskIds);
    begin.call(
      this,
      taskIds.filter((id) => claimed.has(id)),
    );
    for (const id of taskIds) claimed.add(id);
  });
}

const SOUND: Broken = (db) => db;

describe.skipIf(!hasPostgres)('a random history of claims', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await migratedDatabase();
  });
  afterEach(() => {
    vi.restoreAllMocks();
  });
  afterAll(() => database.drop());

  const histories = (broken: Broken) =>
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 30 }), async (steps) => {
      const player = await Player.begin(database, broken);
      try {
        await player.play(steps);
      } finally {
        await player.close();
      }
    });

  it('is told to those who follow the changes', async () => {
    await fc.assert(histories(SOUND), { seed, numRuns, interruptAfterTimeLimit: TIME_LIMIT_MS });
  }, 300_000);

  it('finds that a killed hub has said of claims that they are logged', async () => {
    const found = await fc.check(histories(saysThatAllIsLogged), { ...BREAKING, seed: 3 });
    expect(found.failed).toBe(true);
  }, 300_000);

  it('finds that a task that was claimed again holds back all changes', async () => {
    countsTooMany();
    const found = await fc.check(histories(SOUND), { ...BREAKING, seed: 2 });
    expect(found.failed).toBe(true);
  }, 300_000);
});

/** Histories in which a defect must be found, and is not made smaller. */
const BREAKING = { numRuns: 400, endOnFailure: true };
