/** Spread of the agents over the hubs of a cluster: a hub with many more than the others asks some of its agents to move. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { agentAddress } from '../../core/agent-address.js';
import { isOwnAgentId } from '../../core/own-agent.js';
import type { Hubs, HubView } from '../../core/ports/hubs.js';
import type { AgentSessions } from './agent-sessions.js';

export interface AgentSpreadOptions {
  readonly hubs: Hubs;
  readonly sessions: Pick<AgentSessions, 'agentIds' | 'move'>;
  readonly log: Logger;
}

/** Share of the mean number of agents up to which a hub keeps its own. */
const MAX_SHARE = 1.2;

export class AgentSpread {
  readonly #options: AgentSpreadOptions;

  constructor(options: AgentSpreadOptions) {
    this.#options = options;
  }

  /** Asks as many agents to move as this hub has above the mean, if it has far more. Rejects as the store does. */
  async level(): Promise<void> {
    const { hubs, sessions, log } = this.#options;
    if (hubs.others() === 0) return;
    const open = (await hubs.all()).filter(({ isLive, preparedAtMs }) => isLive && preparedAtMs === null);
    const own = open.find(({ id }) => id === hubs.ownId);
    const mean = open.reduce((sum, { agents }) => sum + agents, 0) / open.length;
    const excess = Math.floor((own?.agents ?? 0) - mean);
    if (!own || excess < 1 || own.agents <= mean * MAX_SHARE) return;
    const free = open.filter(({ agents, address }) => agents < mean && address !== '');
    if (free.length === 0) return;
    const chosen = sessions.agentIds.filter((id) => !isOwnAgentId(id)).slice(0, excess);
    const asked = chosen.filter((agentId, at) =>
      sessions.move(agentId, 'the hub has more agents than the others', addressesFrom(free, at)),
    );
    log.info(
      { agents: own.agents, mean, asked: asked.length },
      'asked agents to join hubs with fewer of them',
    );
  }
}

/** Addresses of the hubs for agents; each agent begins with another one. */
function addressesFrom(hubs: readonly HubView[], at: number): string[] {
  const first = at % hubs.length;
  return [...hubs.slice(first), ...hubs.slice(0, first)].map(({ address }) => agentAddress(address));
}
