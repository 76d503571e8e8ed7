/** One hub for all tests of a file, which agents join with the join token, with credentials, or with neither. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { DialRefused } from '@workbench-hub/shared/agent-protocol/dial';
import { afterAll, afterEach, beforeAll, onTestFinished } from 'vitest';
import { type RunningHub, startHub } from '../hubs/running-hub.js';
import { LOG_LEVEL } from '../memory-log.js';
import { FakeAgent } from './fake-agent.js';

export let hub: RunningHub;
export let dataDir: string;
const agents: FakeAgent[] = [];

/** Registers the hooks; call it once at the top of the file. The hub serves all tests; agents leave after each. */
export function agentsAtOneHub(): void {
  beforeAll(async () => {
    hub = await startHub();
    dataDir = hub.config.dataDir;
  });
  afterEach(async () => {
    for (const agent of agents.splice(0)) await agent.leave();
  });
  afterAll(() => hub.stop());
}

/** Joins under this id with this secret. */
export async function joined(id: string, token: string): Promise<FakeAgent> {
  const agent = await FakeAgent.join({ ...hub, token }, { id, instances: [] });
  agents.push(agent);
  return agent;
}

/** The response to a connection attempt. */
export async function dialStatus(token: string): Promise<number> {
  const outcome = await FakeAgent.connect({ ...hub, token }, { id: 'any', instances: [] }).catch(
    (error: unknown) => error,
  );
  if (outcome instanceof DialRefused) return outcome.status;
  throw new Error('the dial was not refused', { cause: outcome });
}

/** The reasons of the hub's refusals, the latest last. */
export function refusals(): unknown[] {
  return hub.log
    .filter(({ level, msg }) => level === LOG_LEVEL.WARN && msg === 'an agent was refused')
    .map(({ reason }) => reason);
}

/** A silent connection to a hub; it is closed when the test has finished. */
export async function rawConnection({ address }: RunningHub): Promise<Socket> {
  const { hostname, port } = new URL(address);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  onTestFinished(() => void socket.destroy());
  return socket;
}
