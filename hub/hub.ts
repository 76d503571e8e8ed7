/** The composition root: opens the parts of the hub in order and stops them in reverse. */
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { ReloadStep } from '@workbench-hub/shared/config/reload';
import { buildInfo } from '@workbench-hub/shared/runtime/build-info';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Clock, Runtime } from '@workbench-hub/shared/runtime/runtime';
import { type OnStop, type Service, serviceOf } from '@workbench-hub/shared/runtime/service';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { auditFolderOf } from './audit/audit-folder.js';
import { openAuditLog } from './audit/audit-log.js';
import { auditSource } from './audit/audit-reader.js';
import { auditReceiver, clusterAudit } from './audit/cluster-audit.js';
import { rateLimitedAudit } from './audit/rate-limited-audit.js';
import { type HubConfig, logFileOf } from './config.js';
import { agentAddress } from './core/agent-address.js';
import { ownAgentIdOf } from './core/own-agent.js';
import type { Passwords } from './core/ports/accounts.js';
import type { AttemptProofs } from './core/ports/attempt-proofs.js';
import type { BlobStore } from './core/ports/blobs.js';
import type { Store } from './core/ports/store.js';
import { NO_TRACING, type Tracing } from './core/ports/tracing.js';
import { isBackupLinking, prepareDataFolder } from './data-folder.js';
import { AgentCredentials } from './engine/accounts/agent-credentials.js';
import { ownLoginRecords } from './engine/accounts/own-login-records.js';
import { otherHolders } from './engine/agents/other-holders.js';
import { createEngine, type Engine } from './engine/engine.js';
import type { StorageSettings } from './engine/storage/storage-settings.js';
import type { BlobPlace } from './files/blob-place.js';
import { openBlobStore } from './files/blob-store.js';
import { diskSpace } from './files/disk-space.js';
import { type OpenedPlace, openPlace } from './files/open-place.js';
import { sharedPlaceOf } from './files/shared-place.js';
import { observeCluster } from './metrics/cluster-gauges.js';
import { observeHub } from './metrics/gauges.js';
import { type HubMetrics, hubMetrics } from './metrics/hub-metrics.js';
import { measuredFiles } from './metrics/measured-files.js';
import type { OwnAgent } from './own-agent/own-agent.js';
import { agentSecrets } from './security/agent-secrets.js';
import { agentToken } from './security/agent-token.js';
import { attemptProofs } from './security/attempt-proofs.js';
import { scryptPasswords } from './security/passwords.js';
import { storageKey } from './security/storage-key.js';
import { openTlsFiles } from './security/tls-files.js';
import { trustedCertificates } from './security/trusted-certificates.js';
import { openStore } from './store/open-store.js';
import type { Resolver } from './webhooks/webhook-sender.js';
import { openAccounts } from './wiring/accounts.js';
import type { HubParts } from './wiring/hub-parts.js';
import { type ReloadableParts, reloadSteps } from './wiring/hub-reload.js';
import { shareKeyFiles } from './wiring/key-files.js';
import { openWebhooks } from './wiring/outgoing-webhooks.js';
import { newOwnSecret, startOwnInstances } from './wiring/own-instances.js';
import { createWebInterface } from './wiring/web-interface.js';

/** Replacements, most of them for tests. */
export interface HubOverrides {
  readonly runtime?: Runtime;
  /** Path of the log file in use; by default that of the configuration. */
  readonly logFile?: () => string;
  /** Finds the addresses of receivers of webhooks. */
  readonly resolve?: Resolver | undefined;
  /** Hashes that take no time. */
  readonly passwords?: Passwords;
  /** Addresses at which agents reach the other hubs of the cluster. */
  readonly otherHubs?: () => readonly string[];
}

export interface Hub extends Service {
  /** Address on which the started hub listens: `http://127.0.0.1:8080`. */
  readonly address: string;
  /** Parts of the running hub that are reloaded without a restart. */
  readonly reloadSteps: readonly ReloadStep<HubConfig>[];
}

/** Time that requests in progress get to complete when the hub stops. */
const STOP_GRACE_MS = 5000;
/** Time that agents get to join other hubs when the hub stops. */
const MOVE_LIMIT_MS = 3000;

interface Setup {
  readonly config: HubConfig;
  readonly log: Logger;
  readonly runtime: Runtime;
  readonly passwords: Passwords;
  readonly logFile: () => string;
  readonly resolve: Resolver | undefined;
  readonly otherHubs: HubOverrides['otherHubs'] | undefined;
}

export function createHub(
  config: HubConfig,
  log: Logger,
  {
    runtime = systemRuntime,
    passwords = scryptPasswords(),
    logFile = () => logFileOf(config),
    resolve,
    otherHubs,
  }: HubOverrides = {},
): Hub {
  let address = '';
  let reloadable: ReloadableParts | undefined;
  const service = serviceOf('hub', async (onStop) => {
    await prepareDataFolder(config.dataDir, log);
    const parts = await openParts({ config, log, runtime, passwords, logFile, resolve, otherHubs }, onStop);
    const running = await run(parts, onStop);
    address = running.address;
    reloadable = { ...parts, ownAgent: running.ownAgent };
    onStop(() => {
      reloadable = undefined;
    });
    log.info({ address, dataDir: config.dataDir, ...buildInfo }, 'the hub listens');
  });
  return {
    ...service,
    get address() {
      return address;
    },
    reloadSteps: reloadSteps(() => reloadable),
  };
}

/** Opens everything that the interfaces work on. */
async function openParts(setup: Setup, onStop: OnStop): Promise<HubParts> {
  const { config, log } = setup;
  const { dataDir } = config;
  const tls = config.server.tls && (await openTlsFiles(config.server.tls));
  const metrics = hubMetrics(buildInfo);
  const { runtime: machine } = setup;
  const { clock: machineClock, timers } = machine;
  const store = await openHubStore(setup, metrics);
  onStop(() => store.close());
  // Hubs with different clocks must agree on the times that they store.
  const { clock } = store;
  const runtime = { clock, timers, random: () => machine.random(), newId: () => machine.newId() };
  const storing = { ...setup, runtime };
  const ownSecret = newOwnSecret(config);
  const credentials = await openCredentials(storing, store, ownSecret);
  const key = await storageKey(config.storage.encryptionKey, dataDir);
  const accounts = await openAccounts({
    ...storing,
    store: store.accounts,
    metrics: metrics.logins,
    key,
    keyFiles: store.keyFiles,
    loginRecords: store.loginRecords ?? ownLoginRecords(clock),
  });
  onStop(accounts.close);
  const tracing = await openTracing(setup, onStop);
  const opened = await openBlobPlace(storing, store, key);
  onStop(opened.close);
  const files = measuredFiles(
    await openFiles(storing, store, opened.place, key, machineClock),
    metrics.files,
  );
  const proofs = attemptProofs(key);
  const engine = await openEngine(storing, { store, files, accounts, metrics, tracing, proofs });
  observeHub(metrics, {
    archive: store.archive,
    nodes: engine.nodes,
    isShutdownPrepared: () => engine.shutdown.status.initiated,
    disk: () => diskSpace(dataDir),
    waitingWebhooks: () => store.webhooks.waiting(),
    databaseBytes: () => store.sizes(),
  });
  observeCluster(metrics, store.cluster.hubs);
  const { audit, auditReader, reopenAudit } = await openAudit(setup, store, onStop);
  return {
    config,
    log,
    runtime,
    metrics,
    tracing,
    tls,
    accounts,
    credentials,
    ownSecret,
    files,
    engine,
    hubs: store.cluster.hubs,
    otherHubs: setup.otherHubs ?? (() => store.cluster.hubs.otherAddresses().map(agentAddress)),
    isDatabaseReachable: store.isOnServer ? () => store.isReachable() : null,
    isObjectStoreUsable: opened.isUsable,
    audit,
    auditReader,
    reopenAudit,
    logFile: setup.logFile,
  };
}

/** Opens the store, and makes the key files those of its hubs. */
async function openHubStore({ config, log, runtime }: Setup, metrics: HubMetrics): Promise<Store> {
  const { clock, timers } = runtime;
  const store = await openStore(config, {
    clock,
    timers,
    log,
    metrics: metrics.store,
    machine: systemRuntime,
    followsServerClock: runtime === systemRuntime,
    hub: { version: buildInfo.version },
    storageKey: config.storage.encryptionKey,
    blobPlace: () => sharedPlaceOf(config.storage),
    newId: () => runtime.newId(),
  });
  if (!store.keyFiles) return store;
  try {
    await shareKeyFiles(store.keyFiles, config);
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function openCredentials(
  { config: { agents, dataDir }, runtime }: Setup,
  store: Store,
  ownSecret: string | null,
): Promise<AgentCredentials> {
  const ownAgentId = ownAgentIdOf(store.isOnServer ? store.cluster.hubs.ownId : null);
  if (ownSecret === null) await store.cluster.presence.forget(ownAgentId);
  return new AgentCredentials({
    store: store.accounts.agentCredentials,
    secrets: agentSecrets,
    clock: runtime.clock,
    joinToken: agents.enrolledOnly ? null : await agentToken(agents.token, dataDir),
    ownSecret,
    ownAgentId,
  });
}

/** Lets clients and agents in; resolves with the address. */
async function run(
  parts: HubParts,
  onStop: OnStop,
): Promise<{ readonly address: string; readonly ownAgent: OwnAgent | null }> {
  const { engine, tls, runtime, log } = parts;
  let isReady = false;
  const { web, agentConnections } = createWebInterface(parts, () => isReady && isStoreUp(parts));
  const address = await web.listen();
  await parts.hubs.listensAt(parts.config.server.address ?? addressOnNetwork(address));
  onStop(async () => {
    // While the agents move, another hub schedules.
    if (parts.hubs.others() > 0) await engine.resign();
    await agentConnections.moveAll('the hub stops', MOVE_LIMIT_MS);
    const closed = web.close(STOP_GRACE_MS);
    await engine.quiesce();
    await closed;
    await engine.stop();
  });
  await engine.start();
  onStop(engine.drains.watch());
  const unwatch = tls?.watch((renewed) => web.renew(renewed), runtime.timers, log);
  isReady = true;
  onStop(() => {
    isReady = false;
    unwatch?.();
  });
  return { address, ownAgent: await startOwnInstances(parts, onStop) };
}

/** Whether database server and object store respond, as far as there are any. */
function isStoreUp({ isDatabaseReachable, isObjectStoreUsable }: HubParts): boolean {
  return (isDatabaseReachable?.() ?? true) && (isObjectStoreUsable?.() ?? true);
}

async function openBlobPlace(
  { config: { dataDir, storage }, runtime, log }: Setup,
  { blobCatalogue: catalogue }: Store,
  encryptionKey: Buffer,
): Promise<OpenedPlace> {
  const file = storage.s3?.ca ?? null;
  const ca = file === null ? null : await trustedCertificates(file, 'storage.s3.ca');
  const localFolder = join(dataDir, 'files');
  return openPlace(storage, { localFolder, catalogue, encryptionKey, ca, runtime, log });
}

async function openFiles(
  { config: { dataDir }, runtime, log }: Setup,
  { inlineBlobs, cluster, isOnServer }: Store,
  place: BlobPlace,
  encryptionKey: Buffer,
  machineClock: Clock,
): Promise<BlobStore> {
  return openBlobStore({
    folder: join(dataDir, 'files'),
    place,
    inline: inlineBlobs,
    runtime,
    log,
    encryptionKey,
    isPostponed: () => isBackupLinking(dataDir, machineClock),
    others: isOnServer ? otherHolders(cluster) : null,
  });
}

async function openEngine(
  { config, runtime, log, resolve }: Setup,
  {
    store,
    files,
    accounts,
    metrics,
    tracing,
    proofs,
  }: Pick<HubParts, 'files' | 'accounts' | 'metrics' | 'tracing'> & {
    readonly store: Store;
    readonly proofs: AttemptProofs;
  },
): Promise<Engine> {
  const { timers } = runtime;
  const webhooks = { deliveries: store.webhooks, timers, metrics: metrics.webhooks, resolve };
  return createEngine({
    queue: store.queue,
    archive: store.archive,
    changes: store.changes,
    exclusions: store.exclusions,
    statistics: store.statistics,
    cluster: store.cluster,
    agentDrains: store.accounts.agentDrains,
    proofs,
    files,
    names: store.namedObjects,
    uploads: store.uploads,
    storage: storageSettingsOf(config),
    runtime,
    log,
    leaseTimeoutMs: config.agents.leaseTimeout,
    forgetAgentsAfterMs: config.agents.forgetAfter,
    limits: config.tasks,
    keepEndedForMs: config.tasks.keepEndedFor,
    defaultVersion: config.tasks.defaultVersion,
    sweepAccounts: accounts.sweep,
    metrics: metrics.tasks,
    tracing,
    webhooks: await openWebhooks(config, webhooks),
  });
}

async function openTracing({ config, runtime, log }: Setup, onStop: OnStop): Promise<Tracing> {
  const { endpoint } = config.tracing;
  if (endpoint === null) return NO_TRACING;
  // Loaded on demand, for it takes time and memory.
  const { hubTracing } = await import('./tracing/hub-tracing.js');
  const { version } = buildInfo;
  const tracing = hubTracing({ config: { ...config.tracing, endpoint }, version, runtime, log });
  onStop(() => tracing.close());
  return tracing;
}

/** Nothing is recorded while security is off; former entries can be read. */
async function openAudit(
  { config, runtime, log }: Setup,
  { cluster: { hubs, mail } }: Store,
  onStop: OnStop,
): Promise<Pick<HubParts, 'audit' | 'auditReader' | 'reopenAudit'>> {
  const folder = auditFolderOf(config.dataDir);
  const own = auditSource(folder);
  mail.serveHub('audit', auditReceiver(own, { clock: runtime.clock, log }));
  const auditReader = clusterAudit({ own, hubs, mail });
  if (!config.security.enabled) return { audit: null, auditReader, reopenAudit: null };
  const { maxFileSize, keepFiles } = config.audit;
  const auditLog = await openAuditLog({ folder, maxFileBytes: maxFileSize, keepFiles, runtime, log });
  const trail = rateLimitedAudit(auditLog, runtime);
  onStop(() => {
    trail.flush();
    return auditLog.close();
  });
  return { audit: trail, auditReader, reopenAudit: () => auditLog.reopen() };
}

function storageSettingsOf({ storage: { input, output } }: HubConfig): StorageSettings {
  return {
    input: {
      enabled: input.enabled,
      expireAfterMs: input.expireAfter,
      maxFileBytes: input.maxFileSize,
      quotaPerUserBytes: input.quotaPerUser,
      keepUploadsForMs: input.keepUploadsFor,
      shared: input.shared,
    },
    output: { enabled: output.enabled, expireAfterMs: output.expireAfter },
  };
}

/** The address at which other machines reach a server that listens on all interfaces of this one. */
function addressOnNetwork(address: string): string {
  const url = new URL(address);
  if (['0.0.0.0', '[::]'].includes(url.hostname)) url.hostname = hostname();
  return url.origin;
}
