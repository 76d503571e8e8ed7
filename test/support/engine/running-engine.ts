/** The engine of a hub over real SQLite and real files, with time that the test drives, and agents without sockets. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { AgentSession } from '@workbench-hub/hub/agent-link/agent-session';
import type { BlobStore } from '@workbench-hub/hub/core/ports/blobs';
import type { AccountStore, Cluster } from '@workbench-hub/hub/core/ports/store';
import { createEngine, type Engine } from '@workbench-hub/hub/engine/engine';
import type { ConfiguredRecipe } from '@workbench-hub/hub/engine/hosts/build-hosts';
import type { ConfiguredUpstream } from '@workbench-hub/hub/engine/lending/lending';
import type { StorageSettings } from '@workbench-hub/hub/engine/storage/storage-settings';
import type { WebhookPorts } from '@workbench-hub/hub/engine/webhooks/webhook-tries';
import { openBlobStore } from '@workbench-hub/hub/files/blob-store';
import { outputValues } from '@workbench-hub/hub/output-values/output-values';
import { pointTables } from '@workbench-hub/hub/output-values/point-tables';
import { attemptProofs } from '@workbench-hub/hub/security/attempt-proofs';
import { soleHub } from '@workbench-hub/hub/store/sole-hub/sole-hub';
import { openSqliteAccountStore } from '@workbench-hub/hub/store/sqlite/accounts/account-store';
import { openSqliteStore, type SqliteTaskStore } from '@workbench-hub/hub/store/sqlite/store';
import type { AgentMessage, HelloMessage, HubMessage } from '@workbench-hub/shared/agent-protocol/messages';
import type { AttemptReport } from '@workbench-hub/shared/domain/attempt';
import type { Classifier } from '@workbench-hub/shared/domain/classifier';
import type { InstanceReport } from '@workbench-hub/shared/domain/instance';
import type { Job } from '@workbench-hub/shared/domain/job';
import type { JoinedHub } from '@workbench-hub/shared/domain/joined-hub';
import type { AttemptRef } from '@workbench-hub/shared/domain/task';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { INSTALLATION, instanceReportOf } from '../agents/fake-agent.js';
import { type LogLine, memoryLog } from '../memory-log.js';
import { type TemporaryFolder, temporaryFolder } from '../temporary-folder.js';
import { HandDrivenRuntime } from './hand-driven-runtime.js';

const OWN_HUB = { id: '0190b5a0-0000-7000-8000-000000000001', baseUrl: null };

const ENCRYPTION_KEY = Buffer.alloc(32, 'key');

/** Proofs of assignments by these engines. */
export const PROOFS = attemptProofs(ENCRYPTION_KEY);

/** An attempt with the proof that it was assigned to the agent. */
export function proven(ref: AttemptRef, agentId = 'agent-1'): HelloMessage['running'][number] {
  return { ...ref, proof: PROOFS.of(ref, agentId) };
}

const WEEK_MS = 7 * 86_400_000;

export const LEASE_MS = 30 * 60_000;

export interface EngineSetup {
  /** Replaces parts of the cluster, which otherwise is this hub alone. */
  readonly cluster?: (own: Cluster) => Partial<Cluster>;
  /** Sender and settings of webhooks; by default, none are sent. */
  readonly webhooks?: Pick<WebhookPorts, 'sender' | 'settings'>;
  readonly maxAttempts?: number;
  readonly maxLosses?: number;
  readonly keepEndedForMs?: number;
  readonly forgetAgentsAfterMs?: number;
  readonly defaultVersion?: string | null;
  readonly storage?: StorageSettings;
  /** Recipes of hosts; by default, none. */
  readonly hosts?: readonly ConfiguredRecipe[];
  /** Hubs that it joins; by default, none. */
  readonly upstreams?: readonly ConfiguredUpstream[];
}

/** An engine, and what it runs on. */
export interface EngineUnderTest extends Engine, Omit<EngineBase, 'close'> {}

export interface RunningEngine extends EngineUnderTest {
  /** Ends this engine like a killed hub, without a message, and returns a new one on the same files. */
  restart(): Promise<RunningEngine>;
  /** Ends the engine and removes its files. */
  close(): Promise<void>;
}

export async function startEngine(setup: EngineSetup = {}): Promise<RunningEngine> {
  return startOn(await temporaryFolder(), new HandDrivenRuntime(), setup);
}

/** The store of a hub and what belongs to it, on which engines run. */
export interface EngineBase {
  readonly runtime: HandDrivenRuntime;
  readonly store: SqliteTaskStore;
  readonly accounts: AccountStore;
  readonly files: BlobStore;
  readonly log: readonly LogLine[];
  readonly logger: Logger;
  /** Holds the database and the folder `files`. */
  readonly folder: string;
  /** Closes the store when nothing is under way. */
  close(): Promise<void>;
}

export async function openEngineBase(folder: string, runtime: HandDrivenRuntime): Promise<EngineBase> {
  const { log: logger, lines: log } = memoryLog();
  const store = openSqliteStore(join(folder, 'hub.sqlite'), runtime.timers, logger);
  const accounts = openSqliteAccountStore(join(folder, 'accounts.sqlite'), logger);
  const files = await openBlobStore({
    folder: join(folder, 'files'),
    inline: store.inlineBlobs,
    runtime,
    log: logger,
    encryptionKey: ENCRYPTION_KEY,
  });
  // An empty step resolves when all steps before it are synced to disk, however slow that is.
  runtime.beside = () => store.queue.end([]);
  const close = async () => {
    await store.close();
    await accounts.close();
    runtime.dropTimers();
  };
  return { runtime, store, accounts, files, log, logger, folder, close };
}

/** An engine that is not started. */
export function createEngineOver(base: EngineBase, cluster: Cluster, setup: EngineSetup): Promise<Engine> {
  const { store, accounts, files, runtime, logger: log } = base;
  return createEngine({
    queue: store.queue,
    archive: store.archive,
    cluster,
    changes: store.changes,
    loans: store.loans,
    allocations: store.allocations,
    rollouts: store.rollouts,
    hostRecipes: setup.hosts,
    upstreams: setup.upstreams,
    allocationCredential: (id) => `secret of ${id}`,
    studies: store.studies,
    invalidations: store.invalidations,
    outputValues,
    pointTables,
    studySettings: { maxPoints: 100_000, openPoints: 100, bundleMs: 100, pollMs: null },
    exclusions: store.exclusions,
    agentDrains: accounts.agentDrains,
    proofs: PROOFS,
    files,
    names: store.namedObjects,
    uploads: store.uploads,
    storage: setup.storage ?? {
      input: {
        enabled: true,
        expireAfterMs: WEEK_MS,
        maxFileBytes: 1e9,
        quotaPerUserBytes: null,
        keepUploadsForMs: 86_400_000,
        shared: false,
      },
      output: { enabled: true, expireAfterMs: WEEK_MS },
    },
    runtime,
    log,
    ownHub: OWN_HUB,
    leaseTimeoutMs: LEASE_MS,
    forgetAgentsAfterMs: setup.forgetAgentsAfterMs ?? 30 * 86_400_000,
    limits: { maxAttempts: setup.maxAttempts ?? 3, maxLosses: setup.maxLosses ?? 10 },
    keepEndedForMs: setup.keepEndedForMs ?? 30 * 86_400_000,
    defaultVersion: setup.defaultVersion ?? null,
    ...(setup.webhooks ? { webhooks: webhookPorts(store, setup.webhooks) } : {}),
  });
}

async function startOn(
  folder: TemporaryFolder,
  runtime: HandDrivenRuntime,
  setup: EngineSetup,
): Promise<RunningEngine> {
  const base = await openEngineBase(folder.path, runtime);
  const { store, logger } = base;
  const cluster = soleHub({
    agents: store.agents,
    queue: store.queue,
    hub: { version: '' },
    clock: runtime.clock,
    log: logger,
  });
  const engine = await createEngineOver(base, { ...cluster, ...setup.cluster?.(cluster) }, setup);
  await engine.start();
  const end = async () => {
    await runtime.settle();
    runtime.beside = undefined;
    await engine.stop();
    await base.close();
  };
  return {
    ...base,
    ...engine,
    restart: async () => {
      await end();
      return startOn(folder, runtime, setup);
    },
    close: async () => {
      await end();
      await folder.remove();
    },
  };
}

function webhookPorts(store: SqliteTaskStore, given: NonNullable<EngineSetup['webhooks']>): WebhookPorts {
  const metrics = { tried: () => undefined, gaveUp: () => undefined };
  const present: WebhookPorts['present'] = ({ news }) => {
    const { id } = news.kind === 'TASK' ? news.task : news.study;
    return JSON.stringify({ id, status: news.kind === 'TASK' ? news.task.status : news.study.state });
  };
  return { ...given, deliveries: store.webhooks, present, metrics };
}

export interface NewWork {
  readonly notify?: string;
  readonly name?: string | null;
  readonly classifiers?: readonly Classifier[];
  readonly job?: Job;
  readonly timeLimitS?: number;
}

const SECOND_OF_WORK: Job = { type: 'SIMULATE_WORK', durationS: 1 };

/** Creates a task, by default a second of simulated work, waits until the engine is idle, and returns the id. */
export async function createTask(
  engine: EngineUnderTest,
  { name = null, classifiers = [], job = SECOND_OF_WORK, timeLimitS, notify }: NewWork = {},
): Promise<string> {
  const request = { name, creator: null, classifiers, timeLimitS: timeLimitS ?? null, job };
  const task = await engine.tasks.create({ ...request, ...(notify === undefined ? {} : { notify }) });
  await engine.runtime.settle();
  return task.id;
}

type Assign = Extract<HubMessage, { type: 'assign' }>;

export interface AgentSetup {
  readonly id?: string;
  readonly nodeId?: string;
  readonly instances?: readonly Partial<InstanceReport>[];
  readonly running?: HelloMessage['running'];
  readonly spooled?: HelloMessage['spooled'];
  readonly protocolVersions?: number[];
  /** Types of later messages that it takes; those of an old agent by default. */
  readonly takes?: string[];
  /** Only of a hub that joins. */
  readonly hub?: JoinedHub;
  /** Kinds of later requests that it answers; those of an old agent by default. */
  readonly answers?: string[];
  /** Answers to its requests; undefined for none. */
  readonly onRequest?: (request: HubRequestMessage['request']) => Partial<ReplyMessage> | undefined;
}

type HubRequestMessage = Extract<HubMessage, { type: 'request' }>;
type ReplyMessage = Extract<AgentMessage, { type: 'reply' }>;

/** An agent whose messages the test chooses, connected directly to the engine. */
export class SocketlessAgent {
  readonly id: string;
  readonly nodeId: string;
  readonly heard: HubMessage[] = [];
  /** The reason with which the hub ended the connection. */
  ended: string | undefined;
  welcome = false;
  readonly #engine: EngineUnderTest;
  readonly #session: AgentSession;

  private constructor(
    engine: EngineUnderTest,
    { id, nodeId }: { readonly id: string; readonly nodeId: string },
    onRequest: AgentSetup['onRequest'],
  ) {
    this.#engine = engine;
    this.id = id;
    this.nodeId = nodeId;
    this.#session = new AgentSession({
      agents: engine.agents,
      link: {
        send: (message) => {
          this.heard.push(message);
          if (message.type === 'request') this.#answer(message, onRequest?.(message.request));
        },
        close: (reason) => this.#end(reason),
        fail: (fault) => this.#end(`fault: ${fault}`),
      },
      terms: {
        hubVersion: '0.1.0',
        heartbeatIntervalMs: 5000,
        silenceLimitMs: 30_000,
        inlineBlobBytes: 16_384,
      },
      otherHubs: () => [],
      remoteAddress: null,
      log: engine.logger,
    });
  }

  static async join(engine: EngineUnderTest, setup: AgentSetup = {}): Promise<SocketlessAgent> {
    const { id = 'agent-1', nodeId = randomUUID(), hub, answers } = setup;
    const agent = new SocketlessAgent(engine, { id, nodeId }, setup.onRequest);
    const { instances = [{}], running = [], spooled = [], protocolVersions = [1], takes = [] } = setup;
    const hello: HelloMessage = {
      type: 'hello',
      protocolVersions,
      agent: {
        id: agent.id,
        nodeId: agent.nodeId,
        version: '0.1.0',
        revision: 'abc1234',
        installation: INSTALLATION,
      },
      instances: instances.map(instanceReportOf),
      running: [...running],
      spooled: [...spooled],
      takes,
      ...(hub && { hub }),
      ...(answers && { answers }),
    };
    agent.welcome = await agent.#session.join(hello);
    await engine.runtime.settle();
    return agent;
  }

  /** The received assignments, in order. */
  get assigned(): Assign[] {
    return this.heard.filter((message): message is Assign => message.type === 'assign');
  }

  /** The latest assignment; fails when there is none. */
  get latest(): Assign {
    const latest = this.assigned.at(-1);
    if (!latest)
      throw new Error(`nothing was assigned to ${this.id}, it heard ${JSON.stringify(this.heard)}`);
    return latest;
  }

  async say(message: AgentMessage): Promise<void> {
    await this.#session.receive(message);
    await this.#engine.runtime.settle();
  }

  /** Reports the end of an attempt; with texts of blobs that it brings; returns whether it counted, or
   *  undefined when the hub did not acknowledge it. */
  async end(
    ref: AttemptRef,
    outcome: AttemptReport['outcome'],
    rest: Partial<AttemptReport> = {},
    blobs: readonly string[] = [],
  ): Promise<boolean | undefined> {
    const before = this.heard.length;
    const report = { ...ref, outcome, message: null, outputFiles: [], log: null, ...rest };
    const sent = blobs.map((blob) => Buffer.from(blob).toString('base64'));
    await this.say({ type: 'report', report, ...(sent.length === 0 ? {} : { blobs: sent }) });
    const settled = this.heard.slice(before).find((message) => message.type === 'acknowledged');
    return settled?.counted;
  }

  /** Answers later, as over a network. */
  #answer({ requestId }: HubRequestMessage, reply: Partial<ReplyMessage> | undefined): void {
    if (!reply) return;
    const { timers } = this.#engine.runtime;
    timers.soon(
      () => void this.#session.receive({ type: 'reply', requestId, error: null, text: null, ...reply }),
    );
  }

  /** The connection breaks. */
  async disconnect(): Promise<void> {
    this.#end('connection closed');
    await this.#engine.runtime.settle();
  }

  #end(reason: string): void {
    if (this.ended !== undefined) return;
    this.ended = reason;
    this.#session.down(reason);
  }
}
