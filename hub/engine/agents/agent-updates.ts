/** Updates of agents to the version of this hub: orders, and the proof of a version on trial (decision 0092). */
import { createHash } from 'node:crypto';
import { type AgentUpdate, versionName } from '@workbench-hub/shared/domain/agent-update';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import { HubError } from '../../core/errors.js';
import type { AgentFiles } from '../../core/ports/agent-files.js';
import type { AgentReply, AgentRequest } from '../../core/ports/agents.js';
import { AgentUnavailable, type Relay } from '../../core/ports/relay.js';
import type { TextSigner } from '../../core/ports/text-signer.js';
import type { AgentSessions } from './agent-sessions.js';

/** Files, keys and protocol with which a hub updates agents. */
export interface UpdateOffer {
  readonly files: AgentFiles;
  /** Signs with the keys that agents pin when they are enrolled. */
  readonly signer: Pick<TextSigner, 'sign'>;
  /** Best version of the agent protocol that the files speak. */
  readonly protocol: number;
}

export interface AgentUpdatesOptions {
  /** Null for a hub that updates no agents. */
  readonly offer: UpdateOffer | null;
  readonly sessions: Pick<AgentSessions, 'request'>;
  readonly relay: Pick<Relay, 'ask'>;
  readonly runtime: Runtime;
  readonly log: Pick<Logger, 'info' | 'error'>;
}

export interface OrderOptions {
  /** Whether to try also a version that has failed there. */
  readonly again?: boolean;
  /** Time within which the agent may restart for it; undefined without a limit. */
  readonly withinMs?: number | undefined;
}

const ANSWER_LIMIT_MS = 10_000;
/** Longer than the agent gives the probe job. */
const PROBE_LIMIT_MS = 25_000;

export class AgentUpdates {
  readonly #options: AgentUpdatesOptions;

  constructor(options: AgentUpdatesOptions) {
    this.#options = options;
  }

  /** State of an agent. Rejects with AGENT_UNAVAILABLE when it is disconnected, does not answer, or is of a version that cannot be
   *  asked. */
  async state(agentId: string): Promise<AgentUpdate> {
    const { update } = await this.#ask(agentId, { kind: 'updateState' });
    if (update) return update;
    throw new HubError('AGENT_UNAVAILABLE', `agent ${agentId} did not tell the state of its version`);
  }

  /** Orders an agent to update to the version of this hub once it is empty. Resolves when it has taken the order. Rejects as {@link state}
   *  does, and with AGENT_NOT_UPDATABLE. */
  async order(agentId: string, { again = false, withinMs }: OrderOptions = {}): Promise<AgentUpdate> {
    const { offer, log } = this.#options;
    if (offer === null) {
      const remedy = 'set agents.updates.folder of the hub';
      throw notUpdatable(agentId, `this hub updates no agents: ${remedy}`);
    }
    const before = await this.state(agentId);
    if (before.unable !== null) throw notUpdatable(agentId, before.unable);
    const { version, files } = offer.files;
    const file = files.find(({ system }) => system === before.system);
    if (file === undefined)
      throw notUpdatable(agentId, `this hub has no file for its system, ${before.system}`);
    const name = versionName(version, file.digest);
    if (before.failed?.name === name && !again)
      throw notUpdatable(agentId, `version ${name} has failed there: ${before.failed.reason}`);
    const text = JSON.stringify({ agentId, version, ...file, protocol: offer.protocol });
    const order = await offer.signer.sign(text);
    const request: AgentRequest = {
      kind: 'update',
      order,
      again,
      ...(withinMs === undefined ? {} : { withinMs }),
    };
    const { update = before } = await this.#ask(agentId, request);
    log.info({ agentId, version: name }, 'an agent is ordered to update');
    return update;
  }

  /** Has an agent on trial, which has joined this hub, run the probe job, and tells it that it has proven itself. Never rejects: the
   *  agent takes the new version back when it hears nothing. */
  async prove(agentId: string): Promise<void> {
    const { sessions, runtime, log } = this.#options;
    const nonce = runtime.newId();
    try {
      const { text } = await sessions.request(agentId, { kind: 'probe', nonce }, PROBE_LIMIT_MS);
      if (text?.trim() !== createHash('sha256').update(nonce).digest('hex')) {
        log.error(
          { agentId, printed: text },
          'the probe job of a new version of an agent printed another text',
        );
        return;
      }
      await sessions.request(agentId, { kind: 'proven' }, ANSWER_LIMIT_MS);
      log.info({ agentId }, 'the new version of an agent has proven itself');
    } catch (error) {
      if (!(error instanceof AgentUnavailable)) throw error;
      log.error({ agentId, reason: error.message }, 'the new version of an agent has not proven itself');
    }
  }

  async #ask(agentId: string, request: AgentRequest): Promise<AgentReply> {
    return this.#options.relay.ask(agentId, request, ANSWER_LIMIT_MS).catch((error: unknown) => {
      throw error instanceof AgentUnavailable
        ? new HubError('AGENT_UNAVAILABLE', `agent ${agentId}: ${error.message}`, { cause: error })
        : error;
    });
  }
}

function notUpdatable(agentId: string, reason: string): HubError {
  return new HubError('AGENT_NOT_UPDATABLE', `agent ${agentId} is not updated: ${reason}`);
}
