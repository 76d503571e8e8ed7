import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { expect, it } from 'vitest';
import { DatabaseFault } from '../connection/database-fault.js';
import type { Database, Statement } from '../connection/pool.js';
import { HOLD_MS } from '../connection/retry-policy.js';
import { sql } from '../connection/statement.js';
import { ClaimLog } from './claim-log.js';
import { Lane } from './lane.js';
import { CONFIRM_BATCH, LANE_ROW, type LaneWrite } from './lane-statements.js';

/** Adds a word to those that the database has. */
const ADD: LaneWrite<string, string, 'words'> = {
  statement: sql({ batch: 'bigint', words: 'text[]' }, 'SELECT :batch, :words'),
  isDurable: true,
  keys: () => [],
  values: (words) => ({ words }),
  results: (_, outcome) => outcome as string[],
};

/** A database with one lane, which answers nothing while it hangs, and performs later what it got. */
class HangingDatabase {
  isHung = false;
  /** Commits that confirm a batch are among what hangs. */
  confirmsHang = false;
  readonly words: string[] = [];
  readonly #row = { incarnation: 'first', batch: 0, outcome: [] as readonly string[] };
  readonly #held: { perform(): void; timeOut(): void }[] = [];

  /** Number of the latest batch. */
  get batch(): number {
    return this.#row.batch;
  }

  /** Requests that nobody has answered. */
  get held(): number {
    return this.#held.length;
  }

  readonly rows = async ({ name }: Statement, values: readonly unknown[] = []): Promise<object[]> => {
    const hangs = this.isHung || (this.confirmsHang && name === CONFIRM_BATCH.name);
    if (!hangs) return this.#perform(name, values);
    return new Promise((resolve, reject) => {
      const cause = new Error('Query read timeout');
      const fault = new DatabaseFault('BROKEN', cause, { location: 'db', isOutcomeUnknown: true });
      const perform = () => resolve(this.#perform(name, values));
      this.#held.push({ perform, timeOut: () => reject(fault) });
    });
  };

  /** Ends the patience of those who asked. */
  timeOut(): void {
    for (const { timeOut } of this.#held) timeOut();
  }

  /** Performs what it got. */
  release(): void {
    this.isHung = this.confirmsHang = false;
    for (const { perform } of this.#held.splice(0)) perform();
  }

  #perform(name: string, values: readonly unknown[]): object[] {
    const row = this.#row;
    if (name === LANE_ROW.name) return [{ ...row }];
    if (name === CONFIRM_BATCH.name) return row.batch === values[2] ? [{ batch: row.batch }] : [];
    const [batch, words] = values as [number, string[]];
    if (row.batch !== batch - 1) return [];
    this.words.push(...words);
    row.batch = batch;
    row.outcome = words.map((word) => `${word} was added`);
    return [{ outcome: row.outcome }];
  }
}

function openLane() {
  const runtime = manualRuntime();
  const database = new HangingDatabase();
  const silent = () => undefined;
  const lane: Lane = new Lane(
    { id: 1, name: 'insert', incarnation: 'first', batch: 0 },
    {
      db: database as Partial<Database> as Database,
      clock: runtime.clock,
      timers: runtime.timers,
      log: { info: silent, warn: silent, error: silent } as unknown as Logger,
      claims: new ClaimLog(() => 0),
      all: () => [lane],
      onWritten: silent,
      onBroken: (why) => expect.unreachable(why.message),
    },
  );
  return { runtime, database, lane };
}

it('writes what arrives while a statement is under way with the next one', async () => {
  const { runtime, database, lane } = openLane();
  database.isHung = true;
  const writing = [lane.write(ADD, 'one')];
  await runtime.advance(0);
  writing.push(...['two', 'three', 'four'].map((word) => lane.write(ADD, word)));
  database.release();
  expect(await Promise.all(writing)).toEqual(
    ['one', 'two', 'three', 'four'].map((word) => `${word} was added`),
  );
  expect(database.batch).toBe(2);
  await lane.close();
});

it('gives no call the outcome of another when it ends while the database hangs', async () => {
  const { runtime, database, lane } = openLane();
  database.isHung = true;
  const first = expect(lane.write(ADD, 'one')).rejects.toThrow('whether anything was changed is not known');
  await runtime.advance(0);
  expect(database.held).toBe(1);
  const second = expect(lane.write(ADD, 'two')).rejects.toThrow('nothing was changed');
  const closed = lane.close();
  database.timeOut();
  await first;
  database.release();
  await closed;
  await second;
  expect(database.words).toEqual(['one']);
});

it('tells a batch that it found in its row only when a later commit has confirmed it', async () => {
  const { runtime, database, lane } = openLane();
  database.isHung = true;
  const told: string[] = [];
  const writing = lane.write(ADD, 'one').then((outcome) => told.push(outcome));
  await runtime.advance(0);
  database.timeOut();
  database.release();
  database.confirmsHang = true;
  await runtime.advance(20);
  expect(database.words).toEqual(['one']);
  expect(database.held).toBe(1);
  database.timeOut();
  await runtime.advance(1000);
  expect(told).toEqual([]);
  database.release();
  await writing;
  expect(told).toEqual(['one was added']);
  expect(database.words).toEqual(['one']);
  await lane.close();
});

it('does not wait to try again once it is closed', async () => {
  const { runtime, database, lane } = openLane();
  database.isHung = true;
  const writing = lane.write(ADD, 'one');
  await runtime.advance(0);
  database.timeOut();
  database.release();
  await runtime.advance(0);
  const ended: string[] = [];
  void writing.then((outcome) => ended.push(outcome));
  void lane.close().then(() => ended.push('closed'));
  await runtime.advance(0);
  expect(ended).toEqual(['one was added', 'closed']);
});

it('gives up a batch of which nothing is known when the hub stops and the database stays away', async () => {
  const { runtime, database, lane } = openLane();
  database.isHung = true;
  const refused = expect(lane.write(ADD, 'one')).rejects.toThrow('whether anything was changed is not known');
  await runtime.advance(0);
  const behind = expect(lane.write(ADD, 'two')).rejects.toThrow('nothing was changed');
  lane.beginStop();
  for (let waitedMs = 0; waitedMs <= HOLD_MS; waitedMs += 1000) {
    database.timeOut();
    await runtime.advance(1000);
  }
  await refused;
  await behind;
  // The number of a batch that may still take place is given to no other.
  await expect(lane.write(ADD, 'three')).rejects.toThrow('the hub is stopping');
  await lane.close();
});

it('finds out about a batch while the hub stops, once the database is back in time', async () => {
  const { runtime, database, lane } = openLane();
  database.isHung = true;
  const writing = lane.write(ADD, 'one');
  await runtime.advance(0);
  lane.beginStop();
  database.timeOut();
  await runtime.advance(HOLD_MS / 2);
  database.release();
  await runtime.advance(1000);
  expect(await writing).toBe('one was added');
  expect(database.words).toEqual(['one']);
  await lane.close();
});
