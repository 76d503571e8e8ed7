/** The hub of the simulated world: the real engine, the real store on SQLite and the real connections of agents, over a
 *  disk and a network that are simulated. */
import { Readable } from 'node:stream';
import type { EngineForAgents } from '@workbench-hub/hub/agent-link/agent-session';
import { serveConnection } from '@workbench-hub/hub/agent-link/connection';
import { HubError } from '@workbench-hub/hub/core/errors';
import type { FileStore } from '@workbench-hub/hub/core/ports/files';
import { createEngine, type Engine, type EngineOptions } from '@workbench-hub/hub/engine/engine';
import { openBlobStore } from '@workbench-hub/hub/files/blob-store';
import type { SimulatedStore, TaskState } from '@workbench-hub/hub/store/sqlite/fixtures/simulated-store';
import type { FileRef } from '@workbench-hub/shared/domain/job';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Breakage } from './breakages/breakage.js';
import { HubDisk } from './hub-disk.js';
import type { Network } from './network.js';
import { Process, type WallClock } from './process.js';
import { HEADS_OF_GROUP, KEPT_LONG_MS, KEPT_SHORTLY_MS, LEASE_MS, LIMITS } from './settings.js';
import { type CriticalStep, type HubObserver, watchedLeases, watchedPorts } from './watched-ports.js';
import type { World } from './world.js';

const HEARTBEAT_MS = 5000;
const WEEK_MS = 7 * 86_400_000;
const SILENCE_MS = 30_000;

const FOLDER = '/files';
const ENCRYPTION_KEY = Buffer.alloc(32, 'key');
/** Some contents of this world are larger. */
const MAX_INLINE_BYTES = 200;

export class SimulatedHub {
  readonly wallClock: WallClock = { offsetMs: 0 };
  readonly disk: HubDisk;
  /** Actions that happen once, just before a critical step. */
  readonly beforeStep = new Map<CriticalStep, () => void>();
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
  readonly #keptForMs: number;
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
    this.disk = new HubDisk(world);
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
    const { store, lostPower } = this.disk.open(
      process,
      log,
      {
        onCommit: () => {
          this.#changed = true;
        },
        onSync: () => {
          const waiting = store.tasks().filter(({ status }) => status === 'WAITING');
          return () => this.observer.onQueueKnown(waiting);
        },
        onSyncFailed: () => this.kill(),
      },
      this.#breakage,
    );
    process.onEnd(() => {
      this.#engine = undefined;
      this.onEnd();
    });
    this.#store = store;
    this.observer.onStart(store, lostPower);
    this.#changed = true;
    const contents = {
      folder: FOLDER,
      small: store.inlineBlobs,
      runtime: process.runtime,
      log,
      encryptionKey: ENCRYPTION_KEY,
      disk: this.disk.blobs.of(process),
      maxSmallBytes: MAX_INLINE_BYTES,
    };
    try {
      await store.syncLeftOver();
    } catch {
      process.end(); // and the service manager starts it again
      return;
    }
    const files = await openBlobStore(this.#breakage?.contents?.(contents) ?? contents);
    if (!process.alive) return;
    const options = this.#optionsFor(process, store, files, log);
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

  #optionsFor(process: Process, store: SimulatedStore, files: FileStore, log: Logger): EngineOptions {
    const onStep = (step: CriticalStep) => this.#reach(step);
    const ports = {
      queue: store.queue,
      archive: store.archive,
      agentStore: store.agents,
      files,
      names: store.namedObjects,
      runtime: watchedLeases(process.runtime, onStep),
    };
    const broken = { ...ports, ...this.#breakage?.hub?.(ports, store) };
    this.#files = broken.files;
    return {
      ...broken,
      ...watchedPorts(broken, { process, store, observer: this.observer, onStep }),
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
  }

  #reach(step: CriticalStep): void {
    this.beforeStep.get(step)?.();
    this.beforeStep.delete(step);
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
              if (report.hostFault === true) this.observer.onReturned(report.taskId, agentId);
              return agents.reported(agentId, connection, report);
            },
            leave: (agentId, connection, reason) => {
              this.observer.onLeave(agentId);
              this.#world.tell('hub', `has lost ${agentId}: ${reason}`);
              agents.leave(agentId, connection, reason);
            },
          },
          authenticator: { record: () => undefined },
          credentials: { faultOf: () => undefined, endOf: () => undefined, joined: () => undefined },
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
    this.disk.losePower();
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
