/** The composition root: opens the parts of the hub in order and stops them in reverse. */
import type { ReloadStep } from '@workbench-hub/shared/config/reload';
import { buildInfo } from '@workbench-hub/shared/runtime/build-info';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import { type OnStop, type Service, serviceOf } from '@workbench-hub/shared/runtime/service';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { type HubConfig, logFileOf } from './config.js';
import { agentAddress } from './core/agent-address.js';
import type { Passwords } from './core/ports/accounts.js';
import type { Store } from './core/ports/store.js';
import { prepareDataFolder } from './data-folder.js';
import { ownLoginRecords } from './engine/accounts/own-login-records.js';
import type { ConfiguredRecipe } from './engine/hosts/build-hosts.js';
import type { ConfiguredUpstream } from './engine/lending/lending.js';
import { diskSpace } from './files/disk-space.js';
import { observeCluster } from './metrics/cluster-gauges.js';
import { observeHub } from './metrics/gauges.js';
import { observeHosts } from './metrics/host-gauges.js';
import { hubMetrics } from './metrics/hub-metrics.js';
import { observeLending } from './metrics/lending-gauges.js';
import { measuredFiles } from './metrics/measured-files.js';
import { allocationSecrets } from './security/allocation-secrets.js';
import { attemptProofs } from './security/attempt-proofs.js';
import { hubIdentity } from './security/hub-identity.js';
import { scryptPasswords } from './security/passwords.js';
import { storageKey } from './security/storage-key.js';
import { openTlsFiles } from './security/tls-files.js';
import type { Resolver } from './webhooks/webhook-sender.js';
import { openAccounts } from './wiring/accounts.js';
import { openUpdates } from './wiring/agent-updates.js';
import { openAudit } from './wiring/hub-audit.js';
import { openEngine } from './wiring/hub-engine.js';
import { openBlobPlace, openFiles } from './wiring/hub-files.js';
import type { HubParts } from './wiring/hub-parts.js';
import { type ReloadableParts, reloadSteps } from './wiring/hub-reload.js';
import { openCredentials, openHubStore } from './wiring/hub-store.js';
import { openTracing } from './wiring/hub-tracing.js';
import { openManifests } from './wiring/manifests.js';
import { newOwnSecret } from './wiring/own-instances.js';
import { serve } from './wiring/serving.js';
import type { Setup } from './wiring/setup.js';

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
  /** Environment that the commands of workload managers inherit; by default, it is empty. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

export interface Hub extends Service {
  /** Address on which the started hub listens: `http://127.0.0.1:8080`. */
  readonly address: string;
  /** Parts of the running hub that are reloaded without a restart. */
  readonly reloadSteps: readonly ReloadStep<HubConfig>[];
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
    environment = {},
  }: HubOverrides = {},
): Hub {
  let address = '';
  let reloadable: ReloadableParts | undefined;
  const service = serviceOf('hub', async (onStop) => {
    await prepareDataFolder(config.dataDir, log);
    const setup = { config, log, runtime, passwords, logFile, resolve, otherHubs, environment };
    const parts = await openParts(setup, onStop);
    const running = await serve(parts, onStop);
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
  const hubId = await hubIdentity(dataDir, () => machine.newId());
  const ownSecret = newOwnSecret(config);
  const key = await storageKey(config.storage.encryptionKey, dataDir);
  const secrets = allocationSecrets(key);
  const credentials = await openCredentials(storing, store, ownSecret, secrets);
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
  const { audit, auditReader, reopenAudit } = await openAudit(setup, store, onStop);
  const upstreams = await upstreamsOf(storing, hubId, onStop);
  const updates = await openUpdates(config);
  const engine = await openEngine(
    storing,
    {
      ...{ store, files, accounts, metrics, tracing, proofs, hubId, audit, upstreams },
      hostRecipes: await hostRecipesOf(storing),
      allocationCredential: secrets.of,
      updates,
    },
    onStop,
  );
  observe(config, { metrics, engine, store });
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
    manifests: await openManifests(config, engine, hubId),
    updates,
    hubs: store.cluster.hubs,
    otherHubs: setup.otherHubs ?? (() => store.cluster.hubs.otherAddresses().map(agentAddress)),
    beginStopOfStore: () => store.beginStop(),
    isDatabaseReachable: store.isOnServer ? () => store.isReachable() : null,
    isObjectStoreUsable: opened.isUsable,
    audit,
    auditReader,
    reopenAudit,
    logFile: setup.logFile,
  };
}

/** Has the metrics read what the parts know. */
function observe(
  config: HubConfig,
  { metrics, engine, store }: Pick<HubParts, 'metrics' | 'engine'> & { readonly store: Store },
): void {
  observeHub(metrics, {
    tasks: engine.tasks,
    nodes: engine.nodes,
    isShutdownPrepared: () => engine.shutdown.status.initiated,
    disk: () => diskSpace(config.dataDir),
    studies: () => store.studies.states(),
    rollout: () => engine.rolloutViews.counts(),
    waitingWebhooks: () => store.webhooks.waiting(),
    databaseBytes: () => store.sizes(),
  });
  observeCluster(metrics, store.cluster.hubs);
  if (config.upstreams.length > 0) observeLending(metrics, engine.upstreams);
  if (config.hosts.length > 0) observeHosts(metrics, () => engine.recipeViews.all());
}

/** Loaded only when wanted: the HTTP client of the link costs time and memory. */
async function upstreamsOf(setup: Setup, hubId: string, onStop: OnStop): Promise<ConfiguredUpstream[]> {
  if (setup.config.upstreams.length === 0) return [];
  const { openUpstreams } = await import('./wiring/upstreams.js');
  return openUpstreams(setup, hubId, onStop);
}

/** Loaded only when wanted. */
async function hostRecipesOf(setup: Setup): Promise<ConfiguredRecipe[]> {
  if (setup.config.hosts.length === 0) return [];
  const { openHostRecipes } = await import('./wiring/host-recipes.js');
  return openHostRecipes(setup);
}
