/** The store of the hub, and the key files and credentials that belong to it. */
import { buildInfo } from '@workbench-hub/shared/runtime/build-info';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { ownAgentIdOf } from '../core/own-agent.js';
import type { AllocationSecrets } from '../core/ports/allocation-secrets.js';
import type { Store } from '../core/ports/store.js';
import { AgentCredentials } from '../engine/accounts/agent-credentials.js';
import { sharedPlaceOf } from '../files/shared-place.js';
import type { HubMetrics } from '../metrics/hub-metrics.js';
import { agentSecrets } from '../security/agent-secrets.js';
import { agentToken } from '../security/agent-token.js';
import { openStore } from '../store/open-store.js';
import { shareKeyFiles } from './key-files.js';
import type { Setup } from './setup.js';

/** Opens the store, and makes the key files those of its hubs. */
export async function openHubStore({ config, log, runtime }: Setup, metrics: HubMetrics): Promise<Store> {
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
    await shareKeyFiles(store.keyFiles, config, () => runtime.newId());
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** Credentials of agents. `ownSecret`: that of the instances of the hub itself; null for a hub that has none. */
export async function openCredentials(
  { config: { agents, dataDir }, runtime }: Setup,
  store: Store,
  ownSecret: string | null,
  allocationSecrets: AllocationSecrets,
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
    allocations: { secrets: allocationSecrets, store: store.allocations },
  });
}
