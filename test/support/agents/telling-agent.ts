/** An agent that tells its hub of its update whenever it is asked. */
import type { AgentUpdate } from '@workbench-hub/shared/domain/agent-update';
import { FakeAgent, type FakeAgentSetup } from './fake-agent.js';

/** An agent that nothing was ordered from. */
const IDLE: AgentUpdate = {
  ...{ unable: null, system: 'linux-x64', running: '0.0.1-f', target: null, problem: null, failed: null },
  phase: 'IDLE',
};

/** Time within which a hub has looked at its agents, in ms; it does so every 20 s. */
export const LOOK_LIMIT_MS = 90_000;

export async function joinTellingAgent(
  hub: { address: string; token: string },
  setup: FakeAgentSetup,
  update: Partial<AgentUpdate>,
): Promise<FakeAgent> {
  const agent = await FakeAgent.join(hub, { answers: ['updateState'], ...setup });
  const answer = async (): Promise<never> => {
    const { requestId } = await agent.hear('request');
    agent.say({ type: 'reply', requestId, error: null, text: null, update: { ...IDLE, ...update } });
    return answer();
  };
  answer().catch(() => undefined);
  return agent;
}
