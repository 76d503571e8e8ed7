/** Translation between the messages of the agent link and the engine: one session for each connection. The order of messages is
 *  in `shared/agent-protocol/README.md`. */
import {
  AGENT_PROTOCOL_VERSIONS,
  type AgentMessage,
  type HelloMessage,
  type HubMessage,
  type LATER_MESSAGES,
  LATER_REQUESTS,
  MAX_HUBS,
  type REFUSALS,
} from '@workbench-hub/shared/agent-protocol/messages';
import { knownInstallation } from '@workbench-hub/shared/domain/installation';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { AgentConnection, AgentRequest, ShownAttempt } from '../core/ports/agents.js';
import type { Agents } from '../engine/agents/agents.js';

/** The part of the engine that serves agents. */
export type EngineForAgents = Pick<
  Agents,
  'join' | 'leave' | 'instanceChanged' | 'printed' | 'replied' | 'reported'
>;

/** The hub's end of a connection. */
export interface MessageLink {
  send(message: HubMessage): void;
  close(reason: string): void;
  /** Ends the connection because the agent broke the protocol. */
  fail(fault: string): void;
}

/** The hub's part of every welcome. */
export interface LinkTerms {
  readonly hubVersion: string;
  readonly heartbeatIntervalMs: number;
  /** Silence after which either side considers the link dead. */
  readonly silenceLimitMs: number;
  /** Maximum size of all blobs in a report. */
  readonly inlineBlobBytes: number;
}

export interface AgentSessionOptions {
  readonly agents: EngineForAgents;
  readonly link: MessageLink;
  readonly terms: LinkTerms;
  /** Addresses at which agents reach the other hubs of the cluster. */
  readonly otherHubs: () => readonly string[];
  /** Address of the agent's host; null when it is unknown. */
  readonly remoteAddress: string | null;
  readonly log: Logger;
}

export class AgentSession {
  readonly #options: AgentSessionOptions;
  #agentId: string | undefined;
  #connection: AgentConnection | undefined;
  /** Types of later messages that the agent takes; none before it is welcomed. */
  #takes: readonly string[] = [];

  constructor(options: AgentSessionOptions) {
    this.#options = options;
  }

  /** Handles the first message of the connection. Resolves with false when the agent is refused, and informed. Rejects as the
   *  store of the engine does. */
  async join({ instances, running, spooled, ...hello }: HelloMessage): Promise<boolean> {
    // The connection keeps the rest of the message as long as it is open.
    const { agents, link, remoteAddress, log } = this.#options;
    const { agent, clockMs = null, joinNumber = null } = hello;
    const protocolVersion = AGENT_PROTOCOL_VERSIONS.find((version) =>
      hello.protocolVersions.includes(version),
    );
    if (protocolVersion === undefined) {
      const refusal = versionRefusal(hello);
      log.warn({ agentId: agent.id, ...refusal }, 'agent refused');
      link.send({ type: 'refused', ...refusal });
      return false;
    }
    this.#agentId = agent.id;
    const isHub = hello.hub !== undefined;
    const sending = connectionOver(link, { protocolVersion, isHub }, this.#options);
    const connection: AgentConnection = {
      ...sending,
      welcome: (terms) => {
        sending.welcome(terms);
        this.#takes = hello.takes ?? [];
      },
      move: (reason, to = []) => this.#askToMove(reason, to),
      request: (requestId, request) => {
        if (isAnswered(request.kind, hello))
          return link.send({ type: 'request', requestId, request: isHub ? request : withoutAsker(request) });
        const error = `agent ${agent.id} has version ${agent.version}, which does not answer this: update it`;
        return agents.replied(agent.id, connection, requestId, { error, text: null });
      },
    };
    this.#connection = connection;
    return agents.join(
      {
        ...{
          agent: { ...agent, installation: knownInstallation(agent.installation ?? {}) },
          address: remoteAddress,
          clockMs,
          joinNumber,
          instances,
          hub: hello.hub,
          isTrial: hello.trial === true,
        },
        running: running.map(shown),
        spooled: spooled.map(shown),
      },
      this.#connection,
    );
  }

  /** Handles a further message of a connection that joined. Rejects as the store does. */
  async receive(message: AgentMessage): Promise<void> {
    const { agents, link } = this.#options;
    const [agentId, connection] = [this.#agentId, this.#connection];
    if (agentId === undefined || connection === undefined) return;
    switch (message.type) {
      case 'hello':
        return link.fail('a second hello');
      case 'instance':
        return agents.instanceChanged(agentId, connection, message.instance);
      case 'output':
        return agents.printed(agentId, connection, message.ref, message.offset, message.text);
      case 'report':
        return agents.reported(agentId, connection, message.report, decoded(message.blobs));
      case 'reply':
        return agents.replied(agentId, connection, message.requestId, message);
      case 'heartbeat':
      case 'leaving':
    }
  }

  /** Tells the agent the addresses of the other hubs, if it takes them. */
  tellHubs(): void {
    const { link, otherHubs } = this.#options;
    if (this.#isTaken('hubs')) link.send({ type: 'hubs', hubs: told(otherHubs()) });
  }

  /** Asks the agent to join another hub; false when it cannot be asked. */
  move(reason: string): boolean {
    return this.#connection?.move(reason) ?? false;
  }

  #askToMove(reason: string, to: readonly string[]): boolean {
    const { link, log } = this.#options;
    if (!this.#isTaken('move')) return false;
    log.info({ agentId: this.#agentId, reason }, 'the agent is asked to join another hub');
    link.send({ type: 'move', reason, ...(to.length === 0 ? {} : { to: told(to) }) });
    return true;
  }

  #isTaken(type: (typeof LATER_MESSAGES)[number]): boolean {
    return this.#takes.includes(type);
  }

  /** The connection has ended. */
  down(reason: string): void {
    if (this.#agentId !== undefined && this.#connection !== undefined)
      this.#options.agents.leave(this.#agentId, this.#connection, reason);
  }
}

/** Silence after which the instances of a joined hub are no longer offered. */
const HUB_SILENCE_LIMIT_MS = 12_000;
const HEARTBEATS_OF_HUB = 6;

/** The terms for a joined hub: what it lends must not look free for long while it is away. */
export function termsOfHub<Terms extends Pick<LinkTerms, 'heartbeatIntervalMs' | 'silenceLimitMs'>>(
  terms: Terms,
): Terms {
  const silenceLimitMs = Math.min(terms.silenceLimitMs, HUB_SILENCE_LIMIT_MS);
  const heartbeatIntervalMs = Math.min(
    terms.heartbeatIntervalMs,
    Math.ceil(silenceLimitMs / HEARTBEATS_OF_HUB),
  );
  return { ...terms, silenceLimitMs, heartbeatIntervalMs };
}

/** As many addresses as a message may have. */
function told(hubs: readonly string[]): string[] {
  return hubs.slice(0, MAX_HUBS);
}

function shown({ taskId, attempt, instanceId, proof }: HelloMessage['running'][number]): ShownAttempt {
  return { ref: { taskId, attempt, instanceId }, proof: proof ?? null };
}

function decoded(blobs: readonly string[] = []): Buffer[] {
  return blobs.map((blob) => Buffer.from(blob, 'base64'));
}

/** Port of the engine that sends messages. */
function connectionOver(
  link: MessageLink,
  { protocolVersion, isHub }: { readonly protocolVersion: number; readonly isHub: boolean },
  { terms, otherHubs }: Pick<AgentSessionOptions, 'terms' | 'otherHubs'>,
): Omit<AgentConnection, 'request' | 'move'> {
  return {
    welcome: ({ outputStorage }) => {
      const hubs = told(otherHubs());
      const ofCluster = hubs.length === 0 ? {} : { hubs };
      const termsOfAgent = isHub ? termsOfHub(terms) : terms;
      link.send({ type: 'welcome', protocolVersion, ...termsOfAgent, outputStorage, ...ofCluster });
    },
    refuse: (refusal) => link.send({ type: 'refused', ...refusal }),
    assign: ({ ref, timeLimitMs, job, origin, requestId, traceContext, proof, checkpoint }) =>
      link.send({
        type: 'assign',
        ref,
        timeLimitMs,
        job,
        proof,
        ...(isHub ? { origin } : {}),
        ...(requestId === null ? {} : { requestId }),
        ...(traceContext === null ? {} : { traceContext }),
        // A joined hub has tasks of its own, which keep theirs.
        ...(checkpoint === undefined || isHub ? {} : { checkpoint: [...checkpoint] }),
      }),
    cancel: (ref) => link.send({ type: 'cancel', ref }),
    acknowledge: (ref, counted) => link.send({ type: 'acknowledged', ref, counted }),
    close: (reason) => link.close(reason),
    fail: (fault) => link.fail(fault),
  };
}

/** The request for an agent that is no hub. */
function withoutAsker(request: AgentRequest): AgentRequest {
  if (request.kind !== 'instanceCommand') return request;
  const { asker: _, ...others } = request;
  return others;
}

/** Whether the agent knows requests of this kind. One that it does not know would end the connection. */
function isAnswered(kind: string, { answers = [] }: Pick<HelloMessage, 'answers'>): boolean {
  const isLater = LATER_REQUESTS.some((later) => later === kind);
  return !isLater || answers.includes(kind);
}

function versionRefusal({ agent, protocolVersions }: Pick<HelloMessage, 'agent' | 'protocolVersions'>): {
  code: (typeof REFUSALS)[number];
  message: string;
} {
  const older =
    Math.max(...protocolVersions) < Math.min(...AGENT_PROTOCOL_VERSIONS) ? 'the agent' : 'the hub';
  return {
    code: 'PROTOCOL_VERSION',
    message:
      `this hub speaks version ${AGENT_PROTOCOL_VERSIONS.join(', ')} of the agent protocol, agent ${agent.id} ` +
      `version ${protocolVersions.join(', ')}: update ${older}`,
  };
}
