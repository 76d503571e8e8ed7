/** The suites of the ports between hubs, for a hub that has its store alone, over either store. */
import { AgentUnavailable, type RelayReceiver } from '@workbench-hub/hub/core/ports/relay';
import type { Cluster } from '@workbench-hub/hub/core/ports/store';
import { soleHub } from '@workbench-hub/hub/store/sole-hub/sole-hub';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { describe } from 'vitest';
import { memoryLog } from '../support/memory-log.js';
import { hasPostgres } from '../support/stores/postgres.js';
import { openOnPostgres, openOnSqlite } from './open-task-stores.js';
import { describePresence } from './presence-suite.js';
import { describeRelay } from './relay-suite.js';
import { describeRoles } from './roles-suite.js';
import { describeShutdownPreparations } from './shutdown-preparations-suite.js';
import { describeSignals } from './signals-suite.js';
import type { OpenStore, StoreUnderTest } from './store-under-test.js';

interface SoleHub extends Cluster {
  restart(): Promise<SoleHub>;
  /** Takes the agent for connected. */
  connect(agentId: string): Promise<void>;
  close(): Promise<void>;
}

/** Gives the function that opens the ports over a kind of store. */
function over(openStore: OpenStore): () => Promise<SoleHub> {
  return async () => hubOn(await openStore());
}

function hubOn(store: StoreUnderTest): SoleHub {
  const cluster = soleHub({
    agents: store.agents,
    queue: store.queue,
    hub: { version: '' },
    clock: systemRuntime.clock,
    log: memoryLog().log,
  });
  const connected = new Set<string>();
  // The engine's receiver knows which agents are connected.
  const serve = (receiver: RelayReceiver) =>
    cluster.relay.serve(async (agentId, ...rest) => {
      if (!connected.has(agentId)) throw new AgentUnavailable(`agent ${agentId} is not connected`);
      return receiver(agentId, ...rest);
    });
  return {
    ...cluster,
    relay: { ...cluster.relay, serve },
    connect: async (agentId) => void connected.add(agentId),
    restart: async () => hubOn(await store.reopen()),
    close: () => store.close(),
  };
}

describe.each([
  { name: 'SQLite', openStore: openOnSqlite, isHere: true },
  { name: 'PostgreSQL', openStore: openOnPostgres, isHere: hasPostgres },
])('a hub that has its store on $name alone:', ({ openStore, isHere }) => {
  const open = over(openStore);
  describe.skipIf(!isHere)('ports between hubs', () => {
    describe('signals', () => describeSignals(open));
    describe('roles', () => describeRoles(open));
    describe('presence', () => describePresence(open));
    describe('relay', () => describeRelay(open));
    describe('shutdown preparations', () => describeShutdownPreparations(open));
  });
});
