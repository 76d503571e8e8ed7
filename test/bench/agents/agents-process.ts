/** Many simulated agents in one process. */
import { SimulatedAgent } from './simulated-agent.js';

/** Input: the number of agents to join, or the request to cut all connections. It replies when all have been welcomed. */
export type ToAgents =
  | {
      readonly kind: 'join';
      readonly address: string;
      readonly token: string;
      readonly agents: number;
      readonly instancesEach: number;
      /** Whether they are hubs that lend their instances. */
      readonly areHubs?: boolean;
    }
  | { readonly kind: 'cut' };

export interface FromAgents {
  readonly tookMs: number;
}

/** Connections opened at a time at first: fewer than a server lets wait. */
const JOIN_AT_ONCE = 100;

const agents: SimulatedAgent[] = [];

async function joinAll(): Promise<void> {
  const left = agents.values();
  await Promise.all(
    Array.from({ length: JOIN_AT_ONCE }, async () => {
      for (const agent of left) await agent.join();
    }),
  );
}

process.on('message', async (message: ToAgents) => {
  const began = performance.now();
  if (message.kind === 'join') {
    const { address, token, instancesEach: instances, areHubs: isHub = false } = message;
    for (let index = 0; index < message.agents; index++) {
      agents.push(new SimulatedAgent({ address, token, index, instances, isHub }));
    }
    await joinAll();
  } else {
    await Promise.all(agents.map((agent) => agent.rejoin()));
  }
  const answer: FromAgents = { tookMs: performance.now() - began };
  process.send?.(answer);
});
// Ends with its parent process.
process.on('disconnect', () => process.exit());
