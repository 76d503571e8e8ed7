/** The suites of the ports between hubs, for a hub that has its store alone, over SQLite. */
import { join } from 'node:path';
import { AgentUnavailable, type MailReceiver } from '@workbench-hub/hub/core/ports/mail';
import type { Cluster } from '@workbench-hub/hub/core/ports/store';
import { soleHub } from '@workbench-hub/hub/store/sole-hub/sole-hub';
import { openSqliteStore } from '@workbench-hub/hub/store/sqlite/store';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { describe } from 'vitest';
import { memoryLog } from '../support/memory-log.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { describeMail } from './mail-suite.js';
import { describePresence } from './presence-suite.js';
import { describeRoles } from './roles-suite.js';
import { describeShutdownPreparations } from './shutdown-preparations-suite.js';
import { describeSignals } from './signals-suite.js';

interface SoleHub extends Cluster {
  restart(): Promise<SoleHub>;
  /** Takes the agent for connected. */
  connect(agentId: string): Promise<void>;
  close(): Promise<void>;
}

async function open(): Promise<SoleHub> {
  const folder = await temporaryFolder();
  const { clock, timers } = systemRuntime;
  const openOnce = (): SoleHub => {
    const { log } = memoryLog();
    const store = openSqliteStore(join(folder.path, 'hub.sqlite'), timers, log);
    const cluster = soleHub({ agents: store.agents, clock, log });
    const connected = new Set<string>();
    // The engine's receiver knows which agents are connected.
    const serve = (receiver: MailReceiver) =>
      cluster.mail.serve(async (agentId, ...rest) => {
        if (!connected.has(agentId)) throw new AgentUnavailable(`agent ${agentId} is not connected`);
        return receiver(agentId, ...rest);
      });
    return {
      ...cluster,
      mail: { ...cluster.mail, serve },
      connect: async (agentId) => void connected.add(agentId),
      restart: async () => {
        await store.close();
        return openOnce();
      },
      close: async () => {
        await store.close();
        await folder.remove();
      },
    };
  };
  return openOnce();
}

describe('a hub that has its store alone:', () => {
  describe('signals', () => describeSignals(open));
  describe('roles', () => describeRoles(open));
  describe('presence', () => describePresence(open));
  describe('mail', () => describeMail(open));
  describe('shutdown preparations', () => describeShutdownPreparations(open));
});
