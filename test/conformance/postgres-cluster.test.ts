/** The suites of the ports between hubs, for the only hub of several that could be on PostgreSQL. */
import { describe } from 'vitest';
import { hasPostgres } from '../support/stores/postgres.js';
import { joinAgent, type TestHub, TestHubs } from '../support/stores/postgres-cluster.js';
import { describePresence, type PresenceUnderTest } from './presence-suite.js';
import { describeRelay } from './relay-suite.js';
import { describeRoles } from './roles-suite.js';
import { describeShutdownPreparations } from './shutdown-preparations-suite.js';
import { describeSignals } from './signals-suite.js';

async function open() {
  const hubs = await TestHubs.open();
  const hub = await hubs.start('aaaaaaaaaaaa');
  return {
    ...hub,
    hubs,
    connect: async (agentId: string) => void (await joinAgent(hub, agentId)),
    close: () => hubs.end(),
  };
}

async function openPresence(): Promise<PresenceUnderTest> {
  const hubs = await TestHubs.open();
  const over = (hub: TestHub): PresenceUnderTest => ({
    presence: hub.presence,
    restart: async () => {
      await hub.close();
      return over(await hubs.start(hub.id));
    },
    close: () => hubs.end(),
  });
  return over(await hubs.start('aaaaaaaaaaaa'));
}

describe.skipIf(!hasPostgres)('ports between hubs on PostgreSQL', () => {
  describe('signals', () => describeSignals(open));
  describe('roles', () => describeRoles(open));
  describe('presence', () => describePresence(openPresence));
  describe('relay', () => describeRelay(open));
  describe('shutdown preparations', () => describeShutdownPreparations(open));
});
