/** Starting, stopping and restarting instances, and reading their logs, through the agent that holds them. */
import type { InstanceCommand, InstanceLogType } from '@workbench-hub/shared/domain/instance';
import { HubError } from '../core/errors.js';
import { AgentUnavailable } from './agent-requests.js';
import type { Agents } from './agents.js';
import type { Instances } from './instances.js';

export class InstanceControl {
  readonly #instances: Instances;
  readonly #agents: Agents;

  constructor(instances: Instances, agents: Agents) {
    this.#instances = instances;
    this.#agents = agents;
  }

  /** Resolves when the agent has accepted the command, which it carries out in the background. Rejects with
   *  INSTANCE_NOT_FOUND, or AGENT_UNAVAILABLE when the agent is away or does not answer in time (contract 6.3). */
  async command(instanceId: string, command: InstanceCommand): Promise<void> {
    await this.#ask(instanceId, { kind: 'instanceCommand', instanceId, command });
  }

  /** The latest lines of one of its logs. Rejects like {@link command}. */
  async log(instanceId: string, logType: InstanceLogType): Promise<string> {
    return (await this.#ask(instanceId, { kind: 'instanceLog', instanceId, logType })) ?? '';
  }

  async #ask(instanceId: string, request: Parameters<Agents['request']>[1]): Promise<string | null> {
    const instance = this.#instances.find(instanceId);
    if (!instance) {
      throw new HubError(
        'INSTANCE_NOT_FOUND',
        `there is no instance with the id ${JSON.stringify(instanceId)}`,
      );
    }
    return this.#agents.request(instance.agentId, request).catch((error: unknown) => {
      throw error instanceof AgentUnavailable
        ? new HubError('AGENT_UNAVAILABLE', `instance ${instanceId}: ${error.message}`, { cause: error })
        : error;
    });
  }
}
