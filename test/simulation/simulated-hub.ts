/** The hub of the simulated world: the real engine, the real store on SQLite and the real connections of agents, over a
 *  disk and a network that are simulated. */
import { Readable } from 'node:stream';
import type { EngineForAgents } from '@workbench-hub/hub/agent-link/agent-session';
import { serveConnection } from '@workbench-hub/hub/agent-link/connection';
import { HubError } from '@workbench-hub/hub/core/errors';
import type { FileStore } from '@workbench-hub/hub/core/ports/files';
import { createEngine, type Engine, type EngineOptions } from '@workbench-hub/hub/engine/engine';
import { openBlobStore } from '@workbench-hub/hub/files/blob-store';
import {
  openSimulatedStore,
  type SimulatedDisk,
  type SimulatedStore,
  type TaskState,
} from '@workbench-hub/hub/store/sqlite/fixtures/simulated-store';
import type { FileRef } from '@workbench-hub/shared/domain/job';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import { SimulatedContentDisk } from './blob-disk.js';
import type { Breakage } from './breakages.js';
import type { Network } from './network.js';
import { Process, type WallClock } from './process.js';
import { HEADS_OF_GROUP, KEPT_LONG_MS, KEPT_SHORTLY_MS, LEASE_MS, LIMITS } from './settings.js';
import type { World } from './world.js';

const HEARTBEAT_MS = 5000;
const WEEK_MS = 7 * 86_400_000;
const SILENCE_MS = 30_000;

/** When a fault of the disk may do more harm than at other times. */
export const MOMENTS = ['a lease ends', 'tasks are given out', 'tasks are removed'] as const;
type Moment = (typeof MOMENTS)[number];
const FOLDER = '/files';
const ENCRYPTION_KEY = Buffer.alloc(32, 'key');
/** Some contents of this world are larger. */
const MAX_INLINE_BYTES = 200;

/** What looks on. */
export interface HubObserver {
  /** The hub starts on this store. After a loss of power `survived` is what the disk has. */
  onStart(store: SimulatedStore, lostPower: boolean): void;
  /** Every task that ended before this time by the clock of the hub may be gone from now on. */
  onSwept(endedBeforeMs: number): void;
  /** Everything that waits now is known to the scheduler. */
  onQueueKnown(waiting: readonly TaskState[]): void;
  onClaim(claims: readonly { taskId: string; instanceId: string }[]): void;
  onJoin(agentId: string): void;
  onLeave(agentId: string): void;
  /** The agent gives a task back for a fault of its host. */
  onGivenBack(taskId: string, agentId: string): void;
}

export class SimulatedHub {
  readonly wallClock: WallClock = { offsetMs: 0 };
  /** What the disk says to the next commits. */
  refusal: 'SQLITE_FULL' | 'SQLITE_IOERR' | undefined;
  slowSyncs = false;
  failingSync = false;
  /** When the disk last refused a commit. */
  refusedAtMs = Number.NEGATIVE_INFINITY;
  /** Done once, just before it comes to that. */
  readonly atMoment = new Map<Moment, () => void>();
  /** Done while the next sync is under way. */
  duringSync: (() => void) | undefined;
  /** Done once, when it has started the next time. */
  whenReady: (() => void) | undefined;
  observer!: HubObserver;
  /** Its process has ended, however it did. */
  onEnd: () => void = () => undefined;
  /** It serves requests from now on. */
  onReady: () => void = () => undefined;
  readonly #world: World;
  readonly #network: Network;
  readonly #logFor: (process: Process) => Logger;
  readonly #breakage: Breakage | undefined;
  #process: Process | undefined;
  #store: SimulatedStore | undefined;
  #engine: Engine | undefined;
  #files: FileStore | undefined;
  /** What survives a loss of power. */
  #durable: Buffer | null = null;
  /** What survives the end of the process. */
  #written: Buffer | null = null;
  readonly #keptForMs: number;
  readonly contentDisk: SimulatedContentDisk;
  #lostPower = false;
  #changed = false;

  constructor(
    world: World,
    network: Network,
    logFor: (process: Process) => Logger,
    breakage: Breakage | undefined,
  ) {
    this.#world = world;
    this.#network = network;
    this.#logFor = logFor;
    this.#breakage = breakage;
    this.#keptForMs = world.happens(0.5) ? KEPT_SHORTLY_MS : KEPT_LONG_MS;
    this.contentDisk = new SimulatedContentDisk(world);
    this.contentDisk.isFull = () => this.refusal === 'SQLITE_FULL';
  }

  get keptForMs(): number {
    return this.#keptForMs;
  }

  get alive(): boolean {
    return this.#process?.alive ?? false;
  }

  /** Of the process that lives; undefined while none is ready. */
  get engine(): Engine | undefined {
    return this.alive ? this.#engine : undefined;
  }

  /** The latest, whether or not it lives. */
  get process(): Process {
    return this.#process as Process;
  }

  /** Takes in a body that an agent sends. */
  async receive(
    agentId: string,
    file: FileRef,
    body: AsyncIterable<Uint8Array>,
    fromByte: number,
  ): Promise<void> {
    const content = Readable.from(body);
    // Told by whoever reads it.
    content.on('error', () => undefined);
    if (!this.engine) throw new Error('the hub is not ready');
    await this.engine.sentBlobs.receive(agentId, file, content, fromByte);
  }

  get files(): FileStore {
    return this.#files as FileStore;
  }

  /** Undefined when it is not there, and also when it is damaged. */
  async contentOf(digest: string): Promise<Buffer | undefined> {
    const file = await this.files.find(digest);
    return file && Buffer.concat(await file.open().toArray());
  }

  get store(): SimulatedStore {
    return this.#store as SimulatedStore;
  }

  /** The tasks, if they may have changed since the last call. */
  changes(): TaskState[] | undefined {
    if (!this.#changed || !this.#store) return undefined;
    this.#changed = false;
    return this.#store.tasks();
  }

  async start(): Promise<void> {
    const world = this.#world;
    const process = new Process('hub', world, this.wallClock);
    world.tell('hub', 'starts');
    this.#process = process;
    const log = this.#logFor(process);
    const disk: SimulatedDisk = {
      sync: () => this.#sync(process, store),
      refusal: () => {
        if (this.refusal) this.refusedAtMs = world.nowMs;
        return this.refusal;
      },
      onCommit: () => {
        this.#changed = true;
      },
      onSyncFailed: () => this.kill(),
    };
    const store = openSimulatedStore(
      this.#lostPower ? this.#durable : this.#written,
      this.#breakage?.disk?.(disk) ?? disk,
      process.runtime.timers,
      log,
    );
    process.onEnd(() => {
      this.#written = store.image();
      this.#engine = undefined;
      this.onEnd();
    });
    this.#store = store;
    this.observer.onStart(store, this.#lostPower);
    this.#lostPower = false;
    this.#changed = true;
    const contents = {
      folder: FOLDER,
      inline: store.inlineBlobs,
      runtime: process.runtime,
      log,
      encryptionKey: ENCRYPTION_KEY,
      disk: this.contentDisk.of(process),
      maxInlineBytes: MAX_INLINE_BYTES,
    };
    try {
      await store.syncLeftOver();
    } catch {
      process.end(); // and the service manager starts it again
      return;
    }
    const files = await openBlobStore(this.#breakage?.contents?.(contents) ?? contents);
    if (!process.alive) return;
    const ports = {
      queue: store.queue,
      archive: store.archive,
      agentStore: store.agents,
      files,
      names: store.namedObjects,
      runtime: this.#watchingLeases(process.runtime),
    };
    const broken = { ...ports, ...this.#breakage?.hub?.(ports, store) };
    this.#files = broken.files;
    const { queue, archive } = broken;
    const options: EngineOptions = {
      ...broken,
      queue: {
        ...queue,
        claim: (claims) => {
          this.#comesTo('tasks are given out');
          this.observer.onClaim(claims.map(({ taskId, instance }) => ({ taskId, instanceId: instance.id })));
          return queue.claim(claims);
        },
        waitingGroups: async () => {
          const waiting = store.tasks().filter(({ status }) => status === 'WAITING');
          const groups = await queue.waitingGroups();
          process.after(0, () => this.observer.onQueueKnown(waiting));
          return groups;
        },
      },
      archive: {
        ...archive,
        endedBefore: (timeMs, limit) => {
          this.observer.onSwept(timeMs);
          return archive.endedBefore(timeMs, limit);
        },
        remove: (taskIds) => {
          this.#comesTo('tasks are removed');
          return archive.remove(taskIds);
        },
      },
      log,
      storage: {
        input: { enabled: true, expireAfterMs: WEEK_MS, maxFileBytes: 1e6, quotaPerUserBytes: null },
        output: { enabled: true, expireAfterMs: WEEK_MS },
      },
      leaseTimeoutMs: LEASE_MS,
      forgetAgentsAfterMs: this.#keptForMs,
      limits: LIMITS,
      keepEndedForMs: this.#keptForMs,
      defaultVersion: null,
      headsOfGroup: HEADS_OF_GROUP,
    };
    const engine = await createEngine(options);
    if (!process.alive) return;
    this.#listen(process, engine, options);
    await engine.start();
    if (!process.alive) return;
    this.#engine = engine;
    this.onReady();
    this.whenReady?.();
    this.whenReady = undefined;
  }

  #comesTo(moment: Moment): void {
    this.atMoment.get(moment)?.();
    this.atMoment.delete(moment);
  }

  #watchingLeases(runtime: Runtime): Runtime {
    const after = (delayMs: number, action: () => void) =>
      runtime.timers.after(delayMs, () => {
        if (delayMs === LEASE_MS) this.#comesTo('a lease ends');
        action();
      });
    return { ...runtime, timers: { ...runtime.timers, after } };
  }

  #listen(process: Process, engine: Engine, { runtime, log }: EngineOptions): void {
    const agents = this.#breakage?.agents?.(sideOf(engine)) ?? sideOf(engine);
    this.#network.listen(process, (carry) => {
      serveConnection(
        carry,
        { identity: { by: 'TOKEN' }, remoteAddress: null },
        {
          agents: {
            ...agents,
            join: (introduction, connection) => {
              this.observer.onJoin(introduction.agent.id);
              return agents.join(introduction, connection);
            },
            reported: (agentId, connection, report) => {
              if (report.hostFault === true) this.observer.onGivenBack(report.taskId, agentId);
              return agents.reported(agentId, connection, report);
            },
            leave: (agentId, connection, reason) => {
              this.observer.onLeave(agentId);
              this.#world.tell('hub', `has lost ${agentId}: ${reason}`);
              agents.leave(agentId, connection, reason);
            },
          },
          authenticator: { record: () => undefined },
          credentials: {
            faultOf: async () => undefined,
            endOf: async () => undefined,
            joined: async () => undefined,
          },
          runtime,
          log,
          hubVersion: '1',
          heartbeatIntervalMs: HEARTBEAT_MS,
          silenceLimitMs: SILENCE_MS,
        },
      );
    });
  }

  /** As kill -9. */
  kill(): void {
    this.#process?.end();
  }

  losePower(): void {
    if (!this.alive) return;
    this.#lostPower = true;
    this.contentDisk.losePower();
    for (const connection of this.#network.open) connection.losePower();
    this.kill();
  }

  /** As SIGTERM: resolves when it is gone. */
  async stop(): Promise<void> {
    const [process, engine] = [this.#process, this.#engine];
    if (!process?.alive || !engine) return;
    this.#network.closeDoor();
    await engine.quiesce();
    await engine.stop();
    process.end();
  }

  /** One request of a client: `work` is carried out by the hub, unless none is there. `answered` is told what the hub
   *  answered, which it need not live to do. */
  request<T>(
    work: (engine: Engine, files: FileStore) => Promise<T>,
    answered: (result: T) => void,
    refused: (error: HubError) => void = () => undefined,
  ): void {
    const [process, engine, files] = [this.#process, this.engine, this.#files];
    if (!process || !engine || !files) return;
    work(engine, files).then(
      (result) => process.alive && answered(result),
      (error: unknown) => {
        if (!process.alive) return;
        if (error instanceof HubError) refused(error);
        else this.#world.violated('no defect', `a request failed: ${error}`);
      },
    );
  }

  async #sync(process: Process, store: SimulatedStore): Promise<void> {
    const image = store.image();
    const world = this.#world;
    const waiting = store.tasks().filter(({ status }) => status === 'WAITING');
    const isSlow = this.slowSyncs || this.duringSync !== undefined;
    const tookMs = isSlow ? world.between(100, 3000) : world.between(0, 6);
    if (this.duringSync) process.after(world.between(0, tookMs), this.duringSync);
    this.duringSync = undefined;
    await process.wait(tookMs);
    if (this.failingSync) {
      this.failingSync = false;
      throw new Error('EIO: simulated');
    }
    this.#durable = image;
    process.after(0, () => this.observer.onQueueKnown(waiting));
  }
}

/** The methods of the engine that agents reach, each of which may be replaced by itself. */
function sideOf({ agents }: Engine): EngineForAgents {
  return {
    join: (...args) => agents.join(...args),
    leave: (...args) => agents.leave(...args),
    instanceChanged: (...args) => agents.instanceChanged(...args),
    printed: (...args) => agents.printed(...args),
    replied: (...args) => agents.replied(...args),
    reported: (...args) => agents.reported(...args),
  };
}
