/** The simulated database server: the model of the store, the rows of lanes, and what a crash or a failover leaves of them. Each
 *  statement takes place at one moment; how long it takes to get there, and back, is the link's. */
import { LOCK_JOINS } from '@workbench-hub/hub/store/postgres/cluster/membership/presence-statements';
import type { Queries, Statement } from '@workbench-hub/hub/store/postgres/connection/pool';
import { CONFIRM_BATCH, LANE_ROW, OPEN_LANES } from '@workbench-hub/hub/store/postgres/lanes/lane-statements';
import { type ModelStore, openModelStore } from '@workbench-hub/hub/store/sqlite/fixtures/model-store';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { BEGINNING_MS } from '../process.js';
import type { World } from '../world.js';
import { BLOB_BATCHES, BLOB_READS, parametersOf } from './blob-statements.js';
import { type ClusterStatement, type ClusterTables, emptyTables, type Moment } from './cluster-tables.js';
import { hubRowStatements, type RoleDefects } from './hub-row-statements.js';
import { MESSAGE_STATEMENTS } from './message-statements.js';
import {
  type BatchValues,
  type Box,
  DURABLE_WRITE,
  type ModelWork,
  READ,
  RELAXED_WRITE,
  type Surroundings,
} from './model-statements.js';
import { PRESENCE_STATEMENTS } from './presence-statements.js';
import { LostStandby } from './standby.js';

/** Time after which the server syncs what does not wait for it. */
const SYNC_AFTER_MS = 600;

interface LaneRow {
  readonly id: number;
  readonly hub: string;
  readonly name: string;
  incarnation: string;
  batch: number;
  /** Number of the latest durable batch. */
  durableBatch: number;
  logged: number;
  outcome: unknown;
}

interface Image {
  readonly tables: Buffer;
  readonly lanes: readonly LaneRow[];
  readonly cluster: ClusterTables;
}

/** Defects of the server, which breakages put into it. */
export interface ServerDefects extends RoleDefects {
  /** The condition of a batch names no incarnation. */
  readonly ignoresIncarnation?: boolean;
  /** The condition of a batch names no number. */
  readonly ignoresBatch?: boolean;
  /** Batches that should wait for the disk do not. */
  readonly relaxesAll?: boolean;
  /** Connections to a server that has restarted do not wait for its standby. */
  readonly showsRecovered?: boolean;
  /** The condition of a claim names no term. */
  readonly ignoresTerms?: boolean;
  /** The conditions of a requeue and of an end name neither term nor agent. */
  readonly ignoresFences?: boolean;
}

/** A connection to the server that ends with it. */
export interface ServerLink {
  /** The server ends. */
  serverEnded(): void;
  /** A notification is sent to those that listen. */
  notified(payload: string): void;
}

export class DatabaseServer {
  onCommit: () => void = () => undefined;
  /** Links of hubs to it. */
  readonly links: ServerLink[] = [];
  /** Batches were lost that had not reached the disk. */
  onUnsyncedLost: () => void = () => undefined;
  /** Acknowledged batches were lost. */
  onDurableLost: () => void = () => undefined;
  /** Whether connections are accepted. */
  isUp = true;
  /** Number of its starts without its standby. */
  recoveries = 0;
  /** Whether acknowledged batches were lost: the files of the hub may fit its database no more. */
  hasLostDurable = false;
  readonly #world: World;
  readonly #log: Logger;
  readonly #defects: ServerDefects;
  readonly #statements: ReadonlyMap<string, ClusterStatement>;
  #model: ModelStore;
  #lanes: LaneRow[] = [];
  #cluster = emptyTables();
  /** Image of the model, unless it has changed since. */
  #tables: Buffer | undefined;
  /** The state on disk, when it lacks the latest batches. */
  #onDisk: Image | undefined;
  /** Settles with the latest statement. */
  #latest: Promise<unknown> = Promise.resolve();
  #sync: { cancel(): void } | undefined;
  /** The synchronous standby while it is out of reach. */
  #lostStandby: LostStandby<Image> | undefined;

  constructor(world: World, log: Logger, defects: ServerDefects = {}) {
    this.#world = world;
    this.#log = log;
    this.#defects = defects;
    this.#statements = new Map([...hubRowStatements(defects), ...PRESENCE_STATEMENTS, ...MESSAGE_STATEMENTS]);
    this.#model = this.#open(null);
  }

  get model(): ModelStore {
    return this.#model;
  }

  /** Digest that a name of the input storage has; null for none. */
  inputDigest(name: string): string | null {
    const text = `SELECT digest FROM stored_file WHERE area = 'INPUT' AND name = ?`;
    return this.#model.rows<{ digest: string }>(text, name)[0]?.digest ?? null;
  }

  /** Changes rows directly, as a defect of the store would. */
  tamper(sql: string, ...values: unknown[]): void {
    this.#tables = undefined;
    this.#model.tamper(sql, ...values);
  }

  /** The tables by which hubs meet. */
  get cluster(): ClusterTables {
    return this.#cluster;
  }

  /** Surroundings of the model. */
  get around(): Surroundings {
    const tables = this.#cluster;
    return {
      tables,
      ignoresTerms: this.#defects.ignoresTerms === true,
      claimed: (term) => {
        if (term === null || term === tables.role.term) return;
        const what = `a claim of term ${term} took place in term ${tables.role.term}`;
        this.#world.violated('a claim takes place in its term', what);
      },
      ignoresFences: this.#defects.ignoresFences === true,
      tookUnfenced: ({ term, awayAgentId }) => {
        const holder = tables.agents.get(awayAgentId ?? '')?.hubId ?? 'no hub';
        const what = `one of term ${term} was taken in term ${tables.role.term}, while ${holder} has its agent`;
        this.#world.violated('a lapsed lease takes an attempt within its fence', what);
      },
    };
  }

  /** Resolves when all that is visible is on the synchronous standby. */
  async confirm(): Promise<void> {
    if (this.#defects.showsRecovered) return;
    await this.#lostStandby?.hold(async () => undefined);
  }

  /** Whether commits wait for the synchronous standby. */
  get isWithoutStandby(): boolean {
    return this.#lostStandby !== undefined;
  }

  /** Performs one statement, after those before. */
  perform(statement: Statement, values: readonly unknown[]): Promise<object[]> {
    const perform = () => this.#inTurn(() => this.#perform(statement, values));
    if (!this.#lostStandby || !this.#isWaitedFor(statement, values)) return perform();
    // Its end is on the own disk, with all that came before, and nobody sees it until the standby has it.
    this.#synced();
    return this.#lostStandby.hold(perform);
  }

  /** Performs a transaction of statements on the tables of hubs at one moment. */
  transaction<T>(work: (queries: Queries) => Promise<T>): Promise<T> {
    let isSynced = true;
    const lost = this.#lostStandby;
    const done = this.#inTurn(async () => {
      const before = this.image();
      const never = () => Promise.reject(new Error('the simulated server has no such statement'));
      const queries: Queries = {
        rows: async <Row extends object>({ name }: Statement, values: readonly unknown[] = []) => {
          if (name === LOCK_JOINS.name) isSynced = false;
          return this.#performOn(this.#statementOf(name), values) as Row[];
        },
        changed: never,
        script: never,
      };
      try {
        const result = await work(queries);
        this.#changed(isSynced, before);
        return result;
      } catch (error) {
        this.#cluster = structuredClone(before.cluster);
        throw error;
      }
    });
    return lost ? done.then((result) => (isSynced ? lost.hold(async () => result) : result)) : done;
  }

  /** From now on the synchronous standby gets nothing. `onWaiting` is called when the first commit waits for it. */
  loseStandby(onWaiting: () => void = () => undefined): void {
    this.#lostStandby ??= new LostStandby(this.image(), onWaiting);
  }

  /** The standby has caught up: what waited for it takes place. */
  standbyIsBack(): void {
    const lost = this.#lostStandby;
    this.#lostStandby = undefined;
    lost?.release();
  }

  /** The server ends and recovers: what has only waited for the standby is there then. */
  restart(): void {
    if (!this.#lostStandby) return;
    this.recoveries++;
    this.#lostStandby.release();
  }

  /** The synchronous standby takes over. */
  promoteStandby(): void {
    const lost = this.#lostStandby;
    if (!lost) {
      this.crash();
      return;
    }
    this.#lostStandby = undefined;
    this.#synced();
    this.#restore(lost.image);
    this.onUnsyncedLost();
  }

  /** Whether its commit waits for the disk: of a durable write that changes something. */
  #isWaitedFor({ name }: Statement, values: readonly unknown[]): boolean {
    if (name === OPEN_LANES.name) return true;
    if (name === CONFIRM_BATCH.name) return this.#isAt(named(CONFIRM_BATCH.parameters, values));
    if (name === DURABLE_WRITE.name || BLOB_BATCHES.get(name)?.isDurable === true) {
      const parameters = name === DURABLE_WRITE.name ? DURABLE_WRITE.parameters : parametersOf(name);
      const { batch, ...lane } = named<BatchValues>(parameters, values);
      return this.#isAt({ ...lane, batch: batch - 1 });
    }
    const statement = this.#statements.get(name);
    if (statement?.durability !== 'DURABLE') return false;
    const tables = structuredClone(this.#cluster);
    return this.#performOn(statement, values, { tables, notify: () => undefined }).length > 0;
  }

  #isAt({ laneId, incarnation, batch }: Pick<BatchValues, 'laneId' | 'incarnation' | 'batch'>): boolean {
    return this.#lanes.some(
      (row) => row.id === laneId && row.incarnation === incarnation && row.batch === batch,
    );
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#latest.then(work);
    this.#latest = done.catch(() => undefined);
    return done;
  }

  #statementOf(name: string): ClusterStatement {
    const statement = this.#statements.get(name);
    if (!statement) throw new Error('the simulated server does not know this statement');
    return statement;
  }

  #performOn(
    { parameters, perform }: ClusterStatement,
    values: readonly unknown[],
    instead: Partial<Moment> = {},
  ): object[] {
    const moment: Moment = {
      tables: this.#cluster,
      nowMs: BEGINNING_MS + Math.floor(this.#world.nowMs),
      running: () =>
        this.#model
          .tasks()
          .flatMap(({ status, agent_id: agentId }) =>
            status === 'RUNNING' && agentId !== null ? [{ agentId }] : [],
          ),
      notify: (payloads) => {
        for (const payload of payloads) for (const link of this.links) link.notified(payload);
      },
      ...instead,
    };
    return perform(named(parameters, values), moment);
  }

  /** Writes were made: they are on disk, or will be unless the server crashes before. */
  #changed(isSynced: boolean, before: Image | undefined): void {
    if (isSynced) this.#synced();
    else if (before && !this.#onDisk) this.#syncLater(before);
  }

  /** The state before a write, if it is to be kept. */
  #imageBefore(isSynced: boolean): Image | undefined {
    return isSynced || this.#onDisk ? undefined : this.image();
  }

  async #perform({ name }: Statement, values: readonly unknown[]): Promise<object[]> {
    if (name === OPEN_LANES.name) return this.#openLanes(named<OpenValues>(OPEN_LANES.parameters, values));
    if (name === LANE_ROW.name) return this.#laneRow(named(LANE_ROW.parameters, values));
    if (name === CONFIRM_BATCH.name) return this.#confirm(named(CONFIRM_BATCH.parameters, values));
    if (name === READ.name) {
      const value = await (values[0] as ModelWork<unknown>)(this.#model, this.around);
      return [{ value: () => value }];
    }
    if (name === DURABLE_WRITE.name) return this.#write(named(DURABLE_WRITE.parameters, values), true);
    if (name === RELAXED_WRITE.name) return this.#write(named(RELAXED_WRITE.parameters, values), false);
    const blobs = BLOB_BATCHES.get(name);
    if (blobs) {
      const given = named<BatchValues>(parametersOf(name), values);
      return this.#write(given, blobs.isDurable, () => blobs.perform(this.#model, given as never));
    }
    const read = BLOB_READS.get(name);
    if (read) return read(this.#model, values as never[]);
    const statement = this.#statementOf(name);
    if (statement.durability === 'READ') return this.#performOn(statement, values);
    const isSynced = statement.durability === 'DURABLE';
    const before = this.#imageBefore(isSynced);
    const rows = this.#performOn(statement, values);
    this.#changed(isSynced, before);
    return rows;
  }

  /** The state of now, for a standby. */
  image(): Image {
    this.#tables ??= this.#model.image();
    return {
      tables: this.#tables,
      lanes: this.#lanes.map((row) => ({ ...row })),
      cluster: structuredClone(this.#cluster),
    };
  }

  /** Loses what is not on disk. */
  crash(): void {
    this.restart();
    const left = this.#onDisk;
    this.#synced();
    if (!left) return;
    this.#restore(left);
    this.onUnsyncedLost();
  }

  /** A standby takes over that has the state of an earlier time. */
  failOver(standby: Image): void {
    this.#lostStandby = undefined;
    this.#synced();
    const lacksDurable = this.#lanes.some(
      ({ id, durableBatch }) => (standby.lanes.find((row) => row.id === id)?.batch ?? 0) < durableBatch,
    );
    this.#restore(standby);
    if (!lacksDurable) {
      this.onUnsyncedLost();
      return;
    }
    this.hasLostDurable = true;
    this.onDurableLost();
  }

  #open(tables: Buffer | null): ModelStore {
    const timers = { after: () => ({ cancel: () => undefined }), soon: () => undefined };
    return openModelStore(tables, { timers, log: this.#log });
  }

  #restore({ tables, lanes, cluster }: Image): void {
    this.#model = this.#open(tables);
    this.#tables = undefined;
    this.#lanes = lanes.map((row) => ({ ...row }));
    this.#cluster = structuredClone(cluster);
    // Their tables are not logged.
    this.#cluster.mail.clear();
    this.#cluster.texts.clear();
  }

  #openLanes({ hub, names, incarnation }: OpenValues): object[] {
    const rows = names.map((name) => {
      const known = this.#lanes.find((row) => row.hub === hub && row.name === name);
      if (known) {
        known.incarnation = incarnation;
        return known;
      }
      const id = this.#lanes.length + 1;
      const row: LaneRow = {
        id,
        hub,
        name,
        incarnation,
        batch: 0,
        durableBatch: 0,
        logged: 0,
        outcome: null,
      };
      this.#lanes.push(row);
      return row;
    });
    this.#synced();
    return rows.map(({ id, name, batch, logged }) => ({ id, name, batch, logged }));
  }

  #confirm(given: BatchValues): object[] {
    if (!this.#isAt(given)) return [];
    this.#synced();
    return [{ batch: given.batch }];
  }

  #laneRow({ laneId, ownLanes, writtenBatches, durableBatches }: AskedLane): object[] {
    const hasLost = this.#isAnyBehind(ownLanes, writtenBatches);
    const hasLostDurable = this.#isAnyBehind(ownLanes, durableBatches);
    return this.#lanes.filter(({ id }) => id === laneId).map((row) => ({ ...row, hasLost, hasLostDurable }));
  }

  #isAnyBehind(ownLanes: readonly number[], batches: readonly number[]): boolean {
    return this.#lanes.some(({ id, batch }) => batch < (batches[ownLanes.indexOf(id)] ?? 0));
  }

  async #write(
    given: BatchValues,
    isDurable: boolean,
    perform: () => Promise<unknown> = () => boxed(given.work(this.#model, this.around)),
  ): Promise<{ outcome: unknown }[]> {
    const { ignoresIncarnation, ignoresBatch, relaxesAll } = this.#defects;
    const row = this.#lanes.find(({ id }) => id === given.laneId);
    if (!row || (!ignoresIncarnation && row.incarnation !== given.incarnation)) return [];
    if (!ignoresBatch && row.batch !== given.batch - 1) return [];
    if (this.#isAnyBehind(given.ownLanes, given.writtenBatches)) return [];
    const isSynced = isDurable && relaxesAll !== true;
    const before = this.#imageBefore(isSynced);
    this.#tables = undefined;
    const outcome = await this.#model.transaction(perform);
    this.#tables = undefined;
    row.batch = given.batch;
    row.outcome = outcome;
    if (isDurable) row.durableBatch = given.batch;
    if (isDurable) row.logged = Math.max(row.logged, given.notedBatch ?? 0);
    this.#changed(isSynced, before);
    this.onCommit();
    return [{ outcome }];
  }

  #synced(): void {
    this.#onDisk = undefined;
    this.#sync?.cancel();
  }

  #syncLater(before: Image): void {
    this.#onDisk = before;
    this.#sync = this.#world.after(SYNC_AFTER_MS, () => {
      this.#onDisk = undefined;
    });
  }
}

async function boxed(work: Promise<unknown>): Promise<Box> {
  const results = await work;
  return () => results;
}

interface OpenValues {
  readonly hub: string;
  readonly names: readonly string[];
  readonly incarnation: string;
}

interface AskedLane extends Pick<BatchValues, 'laneId' | 'ownLanes' | 'writtenBatches'> {
  readonly durableBatches: readonly number[];
}

function named<Values>(parameters: readonly string[], values: readonly unknown[]): Values {
  return Object.fromEntries(parameters.map((parameter, at) => [parameter, values[at]])) as Values;
}
