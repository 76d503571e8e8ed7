/** The engine over the store, the files and the accounts of the hub. */
import type { OnStop } from '@workbench-hub/shared/runtime/service';
import type { HubConfig } from '../config.js';
import type { AttemptProofs } from '../core/ports/attempt-proofs.js';
import type { Store } from '../core/ports/store.js';
import { createEngine, type Engine } from '../engine/engine.js';
import type { ConfiguredRecipe } from '../engine/hosts/build-hosts.js';
import type { ConfiguredUpstream } from '../engine/lending/lending.js';
import type { StorageSettings } from '../engine/storage/storage-settings.js';
import { pointTables } from '../output-values/point-tables.js';
import { openValueReader } from '../output-values/value-reader.js';
import type { OpenedUpdates } from './agent-updates.js';
import type { HubParts } from './hub-parts.js';
import { openWebhooks } from './outgoing-webhooks.js';
import type { Setup } from './setup.js';

/** Time after which the hub that drives studies sees a change by another one. */
const STUDY_POLL_MS = 1000;
/** Short for the tasks behind a bundle, and long beside what a task costs. */
const BUNDLE_MS = 100;

export async function openEngine(
  { config, runtime, log, resolve }: Setup,
  {
    store,
    files,
    accounts,
    metrics,
    tracing,
    proofs,
    hubId,
    upstreams,
    hostRecipes,
    allocationCredential,
    audit,
    updates,
  }: Pick<HubParts, 'files' | 'accounts' | 'metrics' | 'tracing' | 'audit'> & {
    readonly store: Store;
    readonly proofs: AttemptProofs;
    readonly hubId: string;
    readonly updates: OpenedUpdates;
    readonly upstreams: readonly ConfiguredUpstream[];
    readonly hostRecipes: readonly ConfiguredRecipe[];
    readonly allocationCredential: (id: string) => string;
  },
  onStop: OnStop,
): Promise<Engine> {
  const { timers } = runtime;
  const outputValues = openValueReader({ timers, log });
  onStop(() => outputValues.close());
  const webhooks = { deliveries: store.webhooks, timers, metrics: metrics.webhooks, resolve };
  return createEngine({
    queue: store.queue,
    archive: store.archive,
    changes: store.changes,
    exclusions: store.exclusions,
    loans: store.loans,
    allocations: store.allocations,
    rollouts: store.rollouts,
    hostRecipes,
    allocationCredential,
    hostMetrics: metrics.hosts,
    studies: store.studies,
    invalidations: store.invalidations,
    outputValues,
    pointTables,
    studySettings: {
      ...config.studies,
      bundleMs: BUNDLE_MS,
      pollMs: store.isOnServer ? STUDY_POLL_MS : null,
    },
    upstreams,
    audit,
    statistics: store.statistics,
    cluster: store.cluster,
    agentDrains: store.accounts.agentDrains,
    proofs,
    updateOffer: updates.offer,
    rolloutRules: updates.rules,
    files,
    names: store.namedObjects,
    uploads: store.uploads,
    storage: storageSettingsOf(config),
    runtime,
    log,
    ownHub: { id: hubId, baseUrl: config.server.publicUrl },
    leaseTimeoutMs: config.agents.leaseTimeout,
    forgetAgentsAfterMs: config.agents.forgetAfter,
    limits: config.tasks,
    keepEndedForMs: config.tasks.keepEndedFor,
    defaultVersion: config.tasks.defaultVersion,
    sweepAccounts: accounts.sweep,
    metrics: metrics.tasks,
    studyMetrics: metrics.studies,
    tracing,
    webhooks: await openWebhooks(config, webhooks),
  });
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
