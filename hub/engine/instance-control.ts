/** Commands to instances, and their logs, through the agent that holds them. */
import type { InstanceCommand, InstanceLogType } from '@workbench-hub/shared/domain/instance';
import { HubError } from '../core/errors.js';
import type { AgentReply, AgentRequest } from '../core/ports/agents.js';
import { AgentUnavailable } from './agent-requests.js';
import type { AgentSessions } from './agent-sessions.js';
import type { Instances } from './instances.js';

export class InstanceControl {
  readonly #instances: Instances;
  readonly #sessions: Pick<AgentSessions, 'request'>;

  constructor(instances: Instances, sessions: Pick<AgentSessions, 'request'>) {
    this.#instances = instances;
    this.#sessions = sessions;
  }

  /** Resolves when the agent has accepted the command, which it carries out in the background. Rejects with
   *  INSTANCE_NOT_FOUND, or AGENT_UNAVAILABLE when the agent is disconnected or does not respond in time (contract 6.3). */
  async command(instanceId: string, command: InstanceCommand): Promise<void> {
    await this.#ask(instanceId, { kind: 'instanceCommand', instanceId, command });
  }

  /** Latest lines of a log of the instance; older agents do not tell their position. Rejects as {@link command} does. */
  async log(
    instanceId: string,
    logType: InstanceLogType,
  ): Promise<{ readonly text: string; readonly offset: number | null }> {
    const { text, offset = null } = await this.#ask(instanceId, { kind: 'instanceLog', instanceId, logType });
    return { text: text ?? '', offset };
  }

  async #ask(instanceId: string, request: AgentRequest): Promise<AgentReply> {
    const instance = this.#instances.find(instanceId);
    if (!instance) {
      throw new HubError(
        'INSTANCE_NOT_FOUND',
        `there is no instance with the id ${JSON.stringify(instanceId)}`,
      );
    }
    return this.#sessions.request(instance.agentId, request).catch((error: unknown) => {
      throw error instanceof AgentUnavailable
        ? new HubError('AGENT_UNAVAILABLE', `instance ${instanceId}: ${error.message}`, { cause: error })
        : error;
    });
  }
}
