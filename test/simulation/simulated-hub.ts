/** The hub of the simulated world: the real engine, the real store and the real agent link, over a simulated disk and network. The
 *  store is that on SQLite, or that on PostgreSQL with a simulated server. */
import { Readable } from 'node:stream';
import type { EngineForAgents } from '@workbench-hub/hub/agent-link/agent-session';
import { serveConnection } from '@workbench-hub/hub/agent-link/connection';
import { HubError } from '@workbench-hub/hub/core/errors';
import { isOpen } from '@workbench-hub/hub/core/hosts/allocation';
import type { AgentDrainStore } from '@workbench-hub/hub/core/ports/agent-drains';
import type { BlobStore } from '@workbench-hub/hub/core/ports/blobs';
import { otherHolders } from '@workbench-hub/hub/engine/agents/other-holders';
import { createEngine, type Engine, type EngineOptions } from '@workbench-hub/hub/engine/engine';
import type { ConfiguredRecipe } from '@workbench-hub/hub/engine/hosts/build-hosts';
import type { ConfiguredUpstream } from '@workbench-hub/hub/engine/lending/lending';
import type { WebhookPorts } from '@workbench-hub/hub/engine/webhooks/webhook-tries';
import { openBlobStore } from '@workbench-hub/hub/files/blob-store';
import { outputValues } from '@workbench-hub/hub/output-values/output-values';
import { pointTables } from '@workbench-hub/hub/output-values/point-tables';
import { attemptProofs } from '@workbench-hub/hub/security/attempt-proofs';
import { soleHub } from '@workbench-hub/hub/store/sole-hub/sole-hub';
import type { ObservedStore, TaskState } from '@workbench-hub/hub/store/sqlite/fixtures/database-in-memory';
import type { FileRef } from '@workbench-hub/shared/domain/job';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import { PIECE_BYTES } from './agent-disk.js';
import type { SimulatedBlobDisk } from './blob-disk.js';
import type { Breakage } from './breakages/breakage.js';
import type { DatabaseLink } from './database/link.js';
import { openRemoteStore } from './database/remote-store.js';
import type { DatabaseServer } from './database/server.js';
import { HubDisk } from './hub-disk.js';
import { hubDrains } from './hub-drains.js';
import { type Membership, openMembership, watchedCluster } from './hub-membership.js';
import type { Network } from './network.js';
import { Process, type WallClock } from './process.js';
import { RECEIVERS, type Receivers } from './receivers.js';
import { HEADS_OF_POOL, KEPT_LONG_MS, KEPT_SHORTLY_MS, LEASE_MS, LIMITS } from './settings.js';
import { sharedPlace } from './shared-blobs.js';
import {
  type CriticalStep,
  type HubObserver,
  watchedLeases,
  watchedPorts,
  watchedResponses,
} from './watched-ports.js';
import type { World } from './world.js';

/** Time after which a hub sees the change of a study by another one. */
const STUDY_POLL_MS = 2000;
/** Several points, though each takes some messages. */
const BUNDLE_MS = 1500;
const OWN_ID = '0190b5a0-0000-7000-8000-000000000001';

const HEARTBEAT_MS = 5000;
const WEEK_MS = 7 * 86_400_000;
const SILENCE_MS = 30_000;

const FOLDER = '/files';
const ENCRYPTION_KEY = Buffer.alloc(32, 'key');
const PROOFS = attemptProofs(ENCRYPTION_KEY);
/** Some blobs of this world are larger. */
const MAX_INLINE_BYTES = 200;

/** The database of a hub: a server that it may share with others, and its link to it. */
export interface HubDatabase {
  readonly server: DatabaseServer;
  readonly link: DatabaseLink;
}

/** Common possessions of all hubs of a world. */
export interface SharedByHubs {
  readonly keptForMs: number;
  readonly drains: AgentDrainStore;
  /** The disk with the blobs. */
  readonly blobs: SimulatedBlobDisk;
}

export interface SimulatedHubOptions {
  readonly world: World;
  readonly network: Network;
  readonly logFor: (process: Process) => Logger;
  readonly breakage: Breakage | undefined;
  /** The store is on its disk when left out. */
  readonly database?: HubDatabase | undefined;
  /** `hub` when left out. */
  readonly name?: string;
  /** It is alone when left out. */
  readonly shared?: SharedByHubs;
  /** Identity by which other hubs know it. */
  readonly id?: string;
  /** Whether clients create studies: a hub of several then looks for those that another hub has changed. */
  readonly hasStudies?: boolean;
  /** Hubs that a process of it joins; none when left out. */
  readonly upstreamsOf?: (process: Process) => readonly ConfiguredUpstream[];
  /** Recipes of hosts of a process of it; none when left out. */
  readonly hostRecipesOf?: (process: Process) => readonly ConfiguredRecipe[];
}

interface OpenedStore extends ObservedStore {
  /** Makes what an earlier process wrote durable. */
  syncLeftOver(): Promise<void>;
  close?(): Promise<void>;
}

export class SimulatedHub {
  readonly wallClock: WallClock = { offsetMs: 0 };
  readonly disk: HubDisk;
  /** Undefined for a hub whose store is on its disk. */
  readonly database: HubDatabase | undefined;
  readonly drains: AgentDrainStore;
  /** Name, which it keeps over its starts. */
  readonly name: string;
  /** Address for agents. */
  readonly address: string;
  /** Actions that happen once, just before a critical step. */
  readonly beforeStep = new Map<CriticalStep, () => void>();
  /** Called once after its next start. */
  whenReady: (() => void) | undefined;
  observer!: HubObserver;
  /** Receivers of its webhooks; it sends none without. */
  receivers: Receivers | undefined;
  /** Called when its process has ended. */
  onEnd: () => void = () => undefined;
  /** Called when it serves requests. */
  onReady: () => void = () => undefined;
  readonly #world: World;
  readonly #network: Network;
  readonly #logFor: (process: Process) => Logger;
  readonly #breakage: Breakage | undefined;
  readonly #shared: SharedByHubs | undefined;
  #process: Process | undefined;
  #store: OpenedStore | undefined;
  #engine: Engine | undefined;
  #membership: Membership | undefined;
  #files: BlobStore | undefined;
  readonly #keptForMs: number;
  readonly #ownId: string;
  readonly #upstreamsOf: SimulatedHubOptions['upstreamsOf'];
  readonly #hostRecipesOf: SimulatedHubOptions['hostRecipesOf'];
  readonly #hasStudies: boolean;
  #changed = false;

  constructor(options: SimulatedHubOptions) {
    const { world, network, logFor, breakage, database, name = 'hub', shared, id = OWN_ID } = options;
    this.#world = world;
    this.#ownId = id;
    this.#upstreamsOf = options.upstreamsOf;
    this.#hostRecipesOf = options.hostRecipesOf;
    this.#hasStudies = options.hasStudies ?? false;
    this.name = name;
    this.address = `ws://${name}`;
    this.database = database;
    this.#network = network;
    this.#logFor = logFor;
    this.#breakage = breakage;
    this.#shared = shared;
    this.drains = shared?.drains ?? hubDrains();
    this.#keptForMs = shared?.keptForMs ?? (world.happens(0.5) ? KEPT_SHORTLY_MS : KEPT_LONG_MS);
    this.disk = new HubDisk(world);
    if (database && !shared) this.#observe(database);
  }

  /** Time since which its store has accepted writes without delay; now while it does not. */
  get troubleAtMs(): number {
    const { nowMs } = this.#world;
    if (this.database) return this.database.link.isTroubled ? nowMs : this.database.link.troubleAtMs;
    return this.disk.slowSyncs ? nowMs : this.disk.refusedAtMs;
  }

  /** Whether it knows of another hub that lives. */
  get knowsOthers(): boolean {
    return (this.#membership?.cluster.hubs.others() ?? 0) > 0;
  }

  /** Whether it serves requests, and is not halted. */
  get isWorking(): boolean {
    return this.engine !== undefined && !this.process.isHalted;
  }

  get keptForMs(): number {
    return this.#keptForMs;
  }

  get alive(): boolean {
    return this.#process?.alive ?? false;
  }

  /** Engine of the running process; undefined while none is ready. */
  get engine(): Engine | undefined {
    return this.alive ? this.#engine : undefined;
  }

  /** The latest process, alive or not. */
  get process(): Process {
    return this.#process as Process;
  }

  /** Receives a body from an agent. */
  async receive(
    agentId: string,
    file: FileRef,
    body: AsyncIterable<Uint8Array>,
    fromByte: number,
  ): Promise<void> {
    const content = Readable.from(body);
    // Handled by the reader.
    content.on('error', () => undefined);
    if (!this.engine) throw new Error('the hub is not ready');
    try {
      await this.engine.sentBlobs.receive(agentId, file, content, fromByte);
    } finally {
      // The rest of a refused body is not read.
      content.destroy();
    }
  }

  /** Names of all files of blobs. */
  blobFiles(): string[] {
    return (this.#shared?.blobs ?? this.disk.blobs).files();
  }

  get files(): BlobStore {
    return this.#files as BlobStore;
  }

  /** The blob; undefined when it is missing or damaged. */
  async blobOf(digest: string): Promise<Buffer | undefined> {
    const file = await this.files.find(digest);
    return file && Buffer.concat(await file.open().toArray());
  }

  /** Ids of the tasks that it still runs for other hubs, or whose ends these have not acknowledged. */
  async openLoans(): Promise<string[]> {
    const loans = (await this.#store?.loans?.all()) ?? [];
    return loans.map(({ id }) => id);
  }

  get store(): ObservedStore {
    return this.#store as ObservedStore;
  }

  /** The tasks, if they may have changed since the last call. */
  changes(): TaskState[] | undefined {
    if (!this.#changed || !this.#store) return undefined;
    this.#changed = false;
    return this.#store.tasks();
  }

  async start(): Promise<void> {
    const world = this.#world;
    const process = new Process(this.name, world, this.wallClock);
    world.tell(this.name, 'starts');
    this.#process = process;
    const log = this.#logFor(process);
    const store = this.database
      ? await this.#openOnServer(this.database, process, log)
      : this.#openOnDisk(process, log);
    if (!store) return;
    this.#store = store;
    this.#changed = true;
    const contents = {
      folder: FOLDER,
      inline: store.inlineBlobs,
      runtime: this.#runtimeOf(process),
      log,
      encryptionKey: ENCRYPTION_KEY,
      disk: this.disk.blobs.of(process),
      maxInlineBytes: MAX_INLINE_BYTES,
    };
    try {
      await store.syncLeftOver();
    } catch {
      process.end(); // the service manager restarts it
      return;
    }
    const placed = { ...contents, ...(await this.#placeOfBlobs(process)) };
    const files = await openBlobStore(this.#breakage?.contents?.(placed) ?? placed);
    if (!process.alive) return;
    const options = this.#optionsFor(process, store, files, log);
    const engine = await createEngine(options);
    if (!process.alive) return;
    this.#listen(process, engine, options);
    await engine.start();
    if (!process.alive) return;
    await this.#membership?.cluster.hubs.listensAt(this.address);
    if (!process.alive) return;
    this.#engine = engine;
    this.onReady();
    this.whenReady?.();
    this.whenReady = undefined;
  }

  #openOnDisk(process: Process, log: Logger): OpenedStore {
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
    process.onEnd(() => this.#ended());
    this.observer.onStart(store, lostPower);
    return store;
  }

  /** Undefined when the process ended meanwhile. */
  async #openOnServer(
    { server, link }: HubDatabase,
    process: Process,
    log: Logger,
  ): Promise<OpenedStore | undefined> {
    process.onEnd(() => {
      link.processEnded(process);
      this.#ended();
    });
    const onBroken = ({ message }: Error) => {
      this.#world.tell(this.name, `ends: ${message}`);
      process.end();
    };
    const db = link.open(process);
    const hasStudies = () => server.model.rows('SELECT 1 FROM study LIMIT 1').length > 0;
    const options = { runtime: process.runtime, log, hub: this.name, onBroken, hasStudies };
    const broken = this.#breakage?.database?.(db, { server, runtime: process.runtime }) ?? db;
    try {
      this.#membership = this.#shared && (await openMembership(broken, options));
      const remote = this.#membership?.store ?? (await openRemoteStore(broken, options));
      if (!process.alive) return undefined;
      const store: OpenedStore = {
        ...remote,
        tasks: () => server.model.tasks(),
        tamper: (sql, ...values) => server.tamper(sql, ...values),
        syncLeftOver: () => Promise.resolve(),
      };
      this.observer.onStart(store, false);
      return store;
    } catch (error) {
      log.error({ err: error }, 'the database cannot be used');
      process.end(); // the service manager restarts it
      return undefined;
    }
  }

  /** The runtime of the engine: in a cluster, times are those of the database. */
  #runtimeOf({ runtime }: Process): Runtime {
    if (!this.#membership || this.#breakage?.storesOwnTimes) return runtime;
    return { ...runtime, clock: this.#membership.clock };
  }

  async #placeOfBlobs(process: Process) {
    const membership = this.#membership;
    if (!this.#shared || !membership) return {};
    const disks = { own: this.disk.blobs.of(process), shared: this.#shared.blobs.of(process) };
    const place = await sharedPlace(disks, this.#runtimeOf(process), ENCRYPTION_KEY);
    return { ...place, others: otherHolders(membership.cluster) };
  }

  #observe({ server }: HubDatabase): void {
    server.onCommit = () => {
      this.#changed = true;
    };
    server.onUnsyncedLost = () => this.observer.onUnsyncedLost(server.model.tasks());
    server.onDurableLost = () => this.observer.onDurableLost(server.model.tasks());
  }

  #ended(): void {
    this.#engine = undefined;
    this.observer.onGone();
    this.onEnd();
  }

  #optionsFor(process: Process, store: ObservedStore, files: BlobStore, log: Logger): EngineOptions {
    const onStep = (step: CriticalStep) => this.#reach(step);
    const ports = {
      queue: store.queue,
      archive: store.archive,
      cluster:
        (this.#membership &&
          watchedCluster(this.#membership.cluster, { process, store, observer: this.observer })) ??
        soleHub({
          agents: store.agents,
          queue: store.queue,
          hub: { version: '' },
          clock: process.runtime.clock,
          log,
        }),
      changes: store.changes,
      loans: store.loans,
      allocations: store.allocations,
      rollouts: store.rollouts,
      ...(this.#hostRecipesOf ? { hostRecipes: this.#hostRecipesOf(process) } : {}),
      studies: store.studies,
      invalidations: store.invalidations,
      outputValues,
      pointTables,
      studySettings: {
        maxPoints: 100_000,
        openPoints: 100,
        bundleMs: BUNDLE_MS,
        pollMs: this.#hasStudies && this.#membership ? STUDY_POLL_MS : null,
      },
      exclusions: store.exclusions,
      agentDrains: this.drains,
      proofs: PROOFS,
      files,
      names: store.namedObjects,
      uploads: store.uploads,
      ...(this.receivers?.happen ? { webhooks: this.#webhooksOf(this.receivers, process, store) } : {}),
      runtime: watchedLeases(this.#runtimeOf(process), onStep),
    };
    const broken = { ...ports, ...this.#breakage?.hub?.(ports, store) };
    this.#files = broken.files;
    const watch = { process, store, observer: this.observer, onStep };
    const watched = this.database ? { ...broken, queue: watchedResponses(broken.queue, watch) } : broken;
    return {
      ...broken,
      ...watchedPorts(watched, watch),
      log,
      storage: {
        input: {
          enabled: true,
          expireAfterMs: WEEK_MS,
          maxFileBytes: 1e6,
          quotaPerUserBytes: null,
          keepUploadsForMs: 86_400_000,
          shared: false,
        },
        output: { enabled: true, expireAfterMs: WEEK_MS },
      },
      ownHub: { id: this.#ownId, baseUrl: null },
      upstreams: this.#upstreamsOf?.(process),
      leaseTimeoutMs: LEASE_MS,
      forgetAgentsAfterMs: this.#keptForMs,
      limits: LIMITS,
      keepEndedForMs: this.#keptForMs,
      defaultVersion: null,
      headsPerPool: HEADS_OF_POOL,
    };
  }

  #webhooksOf(receivers: Receivers, process: Process, store: ObservedStore): WebhookPorts {
    return {
      deliveries: store.webhooks,
      sender: receivers.senderOf(process),
      // No study of a world names an address.
      present: ({ news }) => (news.kind === 'TASK' ? receivers.present(news.task) : ''),
      settings: {
        webhooks: [],
        notify: RECEIVERS.map((receiver) => new URL(receiver)),
        maxWaiting: 1000,
        leaseMs: 25_000,
        retryForMs: WEEK_MS,
        keepForMs: this.#keptForMs,
      },
      metrics: { tried: () => undefined, gaveUp: () => undefined },
    };
  }

  #reach(step: CriticalStep): void {
    this.beforeStep.get(step)?.();
    this.beforeStep.delete(step);
  }

  #listen(process: Process, engine: Engine, { runtime, log }: EngineOptions): void {
    const agents = this.#breakage?.agents?.(sideOf(engine)) ?? sideOf(engine);
    const present = new Set<object>();
    const left = new WeakSet<object>();
    this.#network.listen(this.address, process, (carry) => {
      serveConnection(
        carry,
        { identity: { by: 'TOKEN' }, remoteAddress: null },
        {
          agents: {
            ...agents,
            join: async (introduction, connection) => {
              const hasJoined = await agents.join(introduction, connection);
              // Refused agents stay away, and so do those whose connection has ended meanwhile.
              if (hasJoined && !this.#shared && !left.has(connection)) {
                present.add(connection);
                this.observer.onJoin(introduction.agent.id);
              }
              return hasJoined;
            },
            reported: (agentId, connection, report, blobs) => {
              if (report.hostFault === true) this.observer.onReturned(report.taskId, agentId);
              return agents.reported(agentId, connection, report, blobs);
            },
            leave: (agentId, connection, reason) => {
              left.add(connection);
              if (present.delete(connection)) this.observer.onLeave(agentId);
              this.#world.tell(this.name, `has lost ${agentId}: ${reason}`);
              agents.leave(agentId, connection, reason);
            },
          },
          authenticator: { record: () => undefined },
          credentials: {
            faultOf: async (_, agentId) => this.#faultOf(agentId),
            endOf: async () => undefined,
            joined: async () => undefined,
          },
          runtime,
          log,
          hubVersion: '1',
          heartbeatIntervalMs: HEARTBEAT_MS,
          silenceLimitMs: SILENCE_MS,
          // Some results are sent with their report, others before it.
          inlineBlobBytes: 2 * PIECE_BYTES,
          otherHubs: () => this.#membership?.cluster.hubs.otherAddresses() ?? [],
        },
      );
    });
  }

  /** Why an agent may not join: its allocation is over. */
  async #faultOf(agentId: string): Promise<string | undefined> {
    if (!this.#hostRecipesOf) return undefined;
    const allocation = await this.#store?.allocations.find(agentId);
    return allocation && !isOpen(allocation) ? 'its allocation is over' : undefined;
  }

  /** Halts it like SIGSTOP; returns how it goes on. */
  halt(): () => void {
    const { process } = this;
    process.halt();
    this.observer.onGone();
    return () => process.goOn();
  }

  /** Ends it like kill -9. */
  kill(): void {
    this.#process?.end();
  }

  losePower(): void {
    if (!this.alive) return;
    this.disk.losePower();
    for (const connection of this.#network.open) {
      const ends = [connection.hub.process.name, connection.agent.process.name];
      if (ends.includes(this.name)) connection.losePower();
    }
    this.kill();
  }

  /** Stops it like SIGTERM; resolves when it has ended. */
  async stop(): Promise<void> {
    const [process, engine] = [this.#process, this.#engine];
    if (!process?.alive || !engine) return;
    this.#network.refuseConnections(this.address);
    await engine.quiesce();
    await engine.stop();
    if (this.database) await (this.#membership ?? this.#store)?.close?.();
    process.end();
  }

  /** One request of a client, which the hub performs by `work` if it is up. `answered` gets the response, if the hub lives
   *  to send it. */
  request<T>(
    work: (engine: Engine, files: BlobStore, process: Process) => Promise<T>,
    answered: (result: T) => void,
    refused: (error: HubError) => void = () => undefined,
  ): void {
    const [process, engine, files] = [this.#process, this.engine, this.#files];
    if (!process || !engine || !files) return;
    if (process.isHalted) {
      process.whenRunning(() => this.request(work, answered, refused));
      return;
    }
    work(engine, files, process).then(
      (result) => process.alive && answered(result),
      (error: unknown) => {
        if (!process.alive) return;
        if (error instanceof HubError) refused(error);
        else if (this.database?.server.hasLostDurable && /^Error: blob .* is missing$/.test(String(error)))
          this.#world.tell('client', 'is told that a blob is missing');
        else this.#world.violated('no defect', `a request failed: ${error}`);
      },
    );
  }
}

/** The engine's methods for agents, each of which can be replaced. */
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
