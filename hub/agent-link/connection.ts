/** One connection of an agent, over any transport: hello first, then its messages, until either side ends it. */
import { CLOSE, Link, type Transport } from '@workbench-hub/shared/agent-protocol/link';
import {
  AGENT_PATHS,
  type AgentMessage,
  type HubMessage,
} from '@workbench-hub/shared/agent-protocol/messages';
import { parseAgentMessage } from '@workbench-hub/shared/agent-protocol/parse-message';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { AgentCredentials, AgentIdentity } from '../engine/accounts/agent-credentials.js';
import type { AgentAuthenticator, AgentEvent } from './agent-authenticator.js';
import { AgentSession, type EngineForAgents, type LinkTerms, type MessageLink } from './agent-session.js';
import { FloodGuard } from './flood-guard.js';

export interface ConnectionOptions extends LinkTerms {
  readonly authenticator: Pick<AgentAuthenticator, 'record'>;
  readonly agents: EngineForAgents;
  readonly credentials: Pick<AgentCredentials, 'faultOf' | 'joined' | 'endOf'>;
  readonly runtime: Runtime;
  readonly log: Logger;
}

/** What the transport tells: each frame that comes, and once its end. */
export interface TransportHandlers {
  onFrame(frame: string): void;
  onClose(reason: string): void;
}

/** A connection that has not said hello by then is closed. */
const HELLO_TIMEOUT_MS = 10_000;

/** Ends a connection whose agent is no longer who it was; does nothing while it is. */
export type EndIfRevoked = () => void;

/** Serves a connection that is open; `carry` gives its transport, which tells the handlers from then on. */
export function serveConnection(
  carry: (handlers: TransportHandlers) => Transport,
  { identity, remoteAddress }: { identity: AgentIdentity; remoteAddress: string | null },
  options: ConnectionOptions,
): EndIfRevoked {
  const { agents, credentials, runtime, log } = options;
  let agentId: string | undefined;
  let isIn = false;
  /** What an agent that may not join is told. */
  let refusal: string | undefined;
  /** Messages are taken one after the other: a report waits for the join that precedes it. */
  let joined: Promise<boolean> | undefined;

  const flood = new FloodGuard(runtime.clock);
  const told = (fault: string | undefined) => {
    if (fault !== undefined) log.warn({ agentId, remoteAddress, fault }, 'an agent was cut off');
    return fault;
  };
  const transport = carry({
    onFrame: (frame) => link.receive(frame),
    onClose: (reason) => link.down(reason),
  });
  const link: Link<AgentMessage, HubMessage> = new Link<AgentMessage, HubMessage>({
    transport,
    runtime,
    read: parseAgentMessage,
    frameError: (messages, length) => told(flood.faultOf(messages, length)),
    onMessage: (message) => {
      handle(message).catch((error: unknown) => {
        log.error({ err: error, agentId, type: message.type }, 'a message of an agent could not be handled');
        link.close(CLOSE.GOING_AWAY, 'the hub could not handle a message; join again');
      });
    },
    onDown: (reason) => {
      helloTimer.cancel();
      session.down(reason);
      if (isIn) record('AGENT_LEFT', agentId ?? null, reason);
      if (joined !== undefined) return;
      log.warn({ remoteAddress, reason }, 'a connection of an agent ended before it joined');
      record('AGENT_REFUSED', identity.by === 'CREDENTIAL' ? identity.agentId : null, reason);
    },
  });
  const helloTimer = runtime.timers.after(HELLO_TIMEOUT_MS, () => link.fail('no hello in time'));
  const messages: MessageLink = {
    send: (message) => {
      if (message.type === 'refused') refusal = message.message;
      // The agent frees a little space when it hears that a report is acknowledged; nobody waits for that.
      if (message.type === 'acknowledged') link.sendLazily(message);
      else link.send(message);
      if (message.type !== 'acknowledged' || message.counted || link.ended) return;
      const fault = told(flood.uncounted());
      if (fault !== undefined) link.fail(fault);
    },
    close: (reason) => link.close(CLOSE.GOING_AWAY, reason),
    fail: (fault) => {
      log.warn({ agentId, fault }, 'an agent broke the protocol');
      link.fail(fault);
    },
  };

  const { hubVersion, heartbeatIntervalMs, silenceLimitMs } = options;
  const terms = { hubVersion, heartbeatIntervalMs, silenceLimitMs };
  const session = new AgentSession({ agents, link: messages, terms, remoteAddress, log });

  const record = (action: AgentEvent['action'], id: string | null, detail?: string) =>
    options.authenticator.record({
      action,
      address: remoteAddress,
      identity,
      agentId: id,
      resource: AGENT_PATHS.CONNECT,
      ...(detail === undefined ? {} : { detail }),
    });

  const handle = async (message: AgentMessage): Promise<void> => {
    if (!joined) {
      if (message.type !== 'hello') return messages.fail(`${message.type} before hello`);
      helloTimer.cancel();
      const fault = credentials.faultOf(identity, message.agent.id);
      if (fault !== undefined) {
        log.warn({ remoteAddress, agentId: message.agent.id, reason: fault }, 'an agent was refused');
        joined = Promise.resolve(false);
        record('AGENT_REFUSED', message.agent.id, fault);
        messages.send({ type: 'refused', code: 'AGENT_ID_NOT_PROVEN', message: fault });
        return link.close(CLOSE.REFUSED, 'refused');
      }
      agentId = message.agent.id;
      joined = session.join(message);
      link.watch(options.heartbeatIntervalMs, options.silenceLimitMs);
      if (await joined) {
        credentials.joined(identity);
        record('AGENT_JOIN', agentId);
        if (link.ended) record('AGENT_LEFT', agentId, 'the connection ended while it joined');
        else isIn = true;
      } else {
        record('AGENT_REFUSED', agentId, refusal);
        link.close(CLOSE.REFUSED, 'refused');
      }
      return;
    }
    if (await joined) await session.receive(message);
  };

  return () => {
    const end = agentId === undefined ? credentials.endOf(identity) : credentials.faultOf(identity, agentId);
    if (end === undefined || link.ended) return;
    log.warn({ remoteAddress, agentId, reason: end }, 'the connection of an agent was ended');
    if (agentId !== undefined) record('AGENT_REFUSED', agentId, end);
    link.close(CLOSE.REFUSED, end);
  };
}
