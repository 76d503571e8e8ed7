/** Commands to instances, their logs and their crashes, through the agent that holds them. */
import type {
  InstanceCommand,
  InstanceCrashes,
  InstanceLogType,
} from '@workbench-hub/shared/domain/instance';
import { HubError } from '../../core/errors.js';
import type { AgentReply, AgentRequest } from '../../core/ports/agents.js';
import type { Nodes } from '../../core/ports/nodes.js';
import { AgentUnavailable, type Relay } from '../../core/ports/relay.js';

/** Deadline of a response (contract 6.3). */
const REQUEST_TIMEOUT_MS = 10_000;

export class InstanceControl {
  readonly #nodes: Pick<Nodes, 'instance'>;
  readonly #relay: Pick<Relay, 'ask'>;
  readonly #ownName: string;

  /** `ownName` is this hub for others. */
  constructor(nodes: Pick<Nodes, 'instance'>, relay: Pick<Relay, 'ask'>, ownName: string) {
    this.#nodes = nodes;
    this.#relay = relay;
    this.#ownName = ownName;
  }

  /** Gives a command of a user of this hub, or of another one. Resolves when the agent has accepted the command, which it carries out in the background. Rejects with
   *  INSTANCE_NOT_FOUND, or AGENT_UNAVAILABLE when the agent is disconnected or does not respond in time (contract 6.3). */
  async command(
    instanceId: string,
    command: InstanceCommand,
    { user, hub = this.#ownName }: { readonly user: string | null; readonly hub?: string },
  ): Promise<void> {
    await this.#ask(instanceId, { kind: 'instanceCommand', instanceId, command, asker: { hub, user } });
  }

  /** Latest lines of a log of the instance; older agents do not tell their position. Rejects as {@link command} does. */
  async log(
    instanceId: string,
    logType: InstanceLogType,
  ): Promise<{ readonly text: string; readonly offset: number | null }> {
    const { text, offset = null } = await this.#ask(instanceId, { kind: 'instanceLog', instanceId, logType });
    return { text: text ?? '', offset };
  }

  /** Crashes of the instance since its agent started. Rejects as {@link command} does, and with AGENT_UNAVAILABLE when the agent is
   *  too old to know them. */
  async crashes(instanceId: string): Promise<InstanceCrashes> {
    const { crashes } = await this.#ask(instanceId, { kind: 'instanceCrashes', instanceId });
    if (crashes) return crashes;
    throw new HubError('AGENT_UNAVAILABLE', `instance ${instanceId}: its agent did not report its crashes`);
  }

  async #ask(instanceId: string, request: AgentRequest): Promise<AgentReply> {
    const instance = await this.#nodes.instance(instanceId);
    if (!instance) {
      throw new HubError(
        'INSTANCE_NOT_FOUND',
        `there is no instance with the id ${JSON.stringify(instanceId)}`,
      );
    }
    return this.#relay.ask(instance.agentId, request, REQUEST_TIMEOUT_MS).catch((error: unknown) => {
      throw error instanceof AgentUnavailable
        ? new HubError('AGENT_UNAVAILABLE', `instance ${instanceId}: ${error.message}`, { cause: error })
        : error;
    });
  }
}
