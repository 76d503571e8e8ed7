/** One connection of an agent, over any transport: hello first, then its messages, until either side ends it. */
import { CLOSE, Link, type Transport } from '@workbench-hub/shared/agent-protocol/link';
import {
  AGENT_PATHS,
  type AgentMessage,
  type HelloMessage,
  type HubMessage,
} from '@workbench-hub/shared/agent-protocol/messages';
import { parseAgentMessage } from '@workbench-hub/shared/agent-protocol/parse-message';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { pause } from '@workbench-hub/shared/runtime/pause';
import type { Runtime, Timer } from '@workbench-hub/shared/runtime/runtime';
import type { AgentCredentials, AgentIdentity } from '../engine/accounts/agent-credentials.js';
import type { AgentAuthenticator, AgentEvent } from './agent-authenticator.js';
import {
  AgentSession,
  type EngineForAgents,
  type LinkTerms,
  type MessageLink,
  termsOfHub,
} from './agent-session.js';
import { FloodGuard } from './flood-guard.js';

export interface ConnectionOptions extends LinkTerms {
  readonly authenticator: Pick<AgentAuthenticator, 'record'>;
  readonly agents: EngineForAgents;
  readonly credentials: Pick<AgentCredentials, 'faultOf' | 'joined' | 'endOf'>;
  /** Addresses at which agents reach the other hubs of the cluster; by default, the hub is alone. */
  readonly otherHubs?: () => readonly string[];
  readonly runtime: Runtime;
  readonly log: Logger;
}

/** Listeners of a transport: for each frame, and once for its end. */
export interface TransportHandlers {
  onFrame(frame: string): void;
  onClose(reason: string): void;
}

/** Identified peer of a connection. */
interface Peer {
  readonly identity: AgentIdentity;
  readonly remoteAddress: string | null;
}

/** Time after which a connection without hello is closed. */
const HELLO_TIMEOUT_MS = 10_000;

/** Length of the frames with messages that are not handled yet above which no more are read: a store that is slow must not fill the
 *  memory with what agents send meanwhile. */
const MAX_UNHANDLED_LENGTH = 32 * 1024 ** 2;

const LEFT = 'it joins another hub';

/** Time in which claims for an agent that has left, and that were under way, fail. To the hub that it joins next they would look lost. */
const CLAIMS_SETTLE_MS = 100;

export interface ServedConnection {
  /** Ends the connection if its credential is no longer valid. Rejects as the credential store does. */
  endIfRevoked(): Promise<void>;
  /** Tells a joined agent the addresses of the other hubs. */
  tellHubs(): void;
  /** Asks a joined agent to join another hub; false when it cannot be asked. */
  move(reason: string): boolean;
}

/** Serves an open connection; `carry` returns its transport, which calls the handlers from then on. */
export function serveConnection(
  carry: (handlers: TransportHandlers) => Transport,
  peer: Peer,
  options: ConnectionOptions,
): ServedConnection {
  return new Connection(carry, peer, options);
}

class Connection implements ServedConnection {
  readonly #options: ConnectionOptions;
  readonly #peer: Peer;
  readonly #flood: FloodGuard;
  readonly #link: Link<AgentMessage, HubMessage>;
  readonly #session: AgentSession;
  readonly #helloTimer: Timer;
  #agentId: string | undefined;
  /** Whether the hello was answered, by a refusal or by joining. */
  #isAnswered = false;
  /** Whether the join was recorded. */
  #joinRecorded = false;
  /** Message to an agent that may not join. */
  #refusal: string | undefined;
  /** Messages are handled in order: a report waits for the join that precedes it. */
  #joined: Promise<boolean> | undefined;
  /** Messages of the frame that is being read, as they are handled. */
  #ofFrame: Promise<void>[] = [];
  /** Length of the frames with messages that are not handled yet. */
  #unhandledLength = 0;
  #isPaused = false;
  /** Reports that are being processed. */
  readonly #reports = new Set<Promise<void>>();

  constructor(carry: (handlers: TransportHandlers) => Transport, peer: Peer, options: ConnectionOptions) {
    this.#options = options;
    this.#peer = peer;
    const { agents, runtime, log, hubVersion, heartbeatIntervalMs, silenceLimitMs, inlineBlobBytes } =
      options;
    this.#flood = new FloodGuard(runtime.clock);
    const transport = carry({
      onFrame: (frame) => this.#onFrame(frame),
      onClose: (reason) => this.#link.down(reason),
    });
    this.#link = new Link<AgentMessage, HubMessage>({
      transport,
      runtime,
      read: parseAgentMessage,
      frameError: (messages, length) => this.#flooded(this.#flood.faultOf(messages, length)),
      onMessage: (message) => this.#onMessage(message),
      onDown: (reason) => this.#onDown(reason),
    });
    this.#helloTimer = runtime.timers.after(HELLO_TIMEOUT_MS, () => this.#link.fail('no hello in time'));
    const terms = { hubVersion, heartbeatIntervalMs, silenceLimitMs, inlineBlobBytes };
    const { remoteAddress } = peer;
    const { otherHubs = () => [] } = options;
    this.#session = new AgentSession({
      agents,
      link: this.#messages(),
      terms,
      otherHubs,
      remoteAddress,
      log,
    });
  }

  tellHubs(): void {
    this.#session.tellHubs();
  }

  move(reason: string): boolean {
    return !this.#link.ended && this.#session.move(reason);
  }

  async endIfRevoked(): Promise<void> {
    const { credentials, log } = this.#options;
    const { identity, remoteAddress } = this.#peer;
    const agentId = this.#agentId;
    const reason = await (agentId === undefined
      ? credentials.endOf(identity)
      : credentials.faultOf(identity, agentId));
    if (reason === undefined || this.#link.ended) return;
    log.warn({ remoteAddress, agentId, reason }, 'the connection of an agent was ended');
    if (this.#isAnswered) this.#record('AGENT_REFUSED', agentId ?? null, reason);
    this.#link.close(CLOSE.REFUSED, reason);
  }

  #messages(): MessageLink {
    const link = this.#link;
    return {
      send: (message) => {
        if (message.type === 'refused') this.#refusal = message.message;
        // An acknowledgement only frees a little space on the agent; nobody waits for it.
        if (message.type === 'acknowledged') link.sendLazily(message);
        else link.send(message);
        if (message.type !== 'acknowledged' || message.counted || link.ended) return;
        const fault = this.#flooded(this.#flood.uncounted());
        if (fault !== undefined) link.fail(fault);
      },
      close: (reason) => link.close(CLOSE.GOING_AWAY, reason),
      fail: (fault) => this.#violated(fault),
    };
  }

  /** Reads no more frames while too much is not handled. */
  #onFrame(frame: string): void {
    this.#ofFrame = [];
    this.#link.receive(frame);
    this.#unhandledLength += frame.length;
    if (!this.#isPaused && this.#unhandledLength > MAX_UNHANDLED_LENGTH) {
      this.#isPaused = true;
      this.#link.pause();
    }
    void Promise.all(this.#ofFrame).then(() => {
      this.#unhandledLength -= frame.length;
      if (!this.#isPaused || this.#unhandledLength > MAX_UNHANDLED_LENGTH / 2) return;
      this.#isPaused = false;
      this.#link.resume();
    });
  }

  #onMessage(message: AgentMessage): void {
    const handled = this.#handle(message).catch((error: unknown) => {
      const fields = { err: error, agentId: this.#agentId, type: message.type };
      this.#options.log.error(fields, 'a message of an agent could not be handled');
      this.#link.close(CLOSE.GOING_AWAY, 'the hub could not handle a message; join again');
    });
    this.#ofFrame.push(handled);
  }

  async #handle(message: AgentMessage): Promise<void> {
    if (this.#joined !== undefined) {
      if (await this.#joined) await this.#receive(message);
    } else if (message.type === 'hello') {
      this.#helloTimer.cancel();
      this.#joined = this.#join(message);
      await this.#joined;
    } else this.#violated(`${message.type} before hello`);
  }

  async #receive(message: AgentMessage): Promise<void> {
    if (message.type === 'leaving') return this.#left();
    const handled = this.#session.receive(message);
    if (message.type !== 'report') return handled;
    this.#reports.add(handled);
    await handled.finally(() => this.#reports.delete(handled));
  }

  /** The agent joins another hub: nothing more is assigned to it, and it gets all that was sent, and the acknowledgements of its reports,
   *  before the connection is closed. */
  async #left(): Promise<void> {
    this.#session.down(LEFT);
    await Promise.allSettled(this.#reports);
    await pause(this.#options.runtime.timers, CLAIMS_SETTLE_MS);
    this.#link.close(CLOSE.NORMAL, LEFT);
  }

  /** False when the agent may not join, or its connection has ended. */
  async #join(hello: HelloMessage): Promise<boolean> {
    const { credentials } = this.#options;
    const { heartbeatIntervalMs, silenceLimitMs } = hello.hub ? termsOfHub(this.#options) : this.#options;
    const { identity } = this.#peer;
    const agentId = hello.agent.id;
    // Known from here on, so that a revocation during the lookup ends the connection.
    this.#agentId = agentId;
    const refusal = await credentials.faultOf(identity, agentId);
    if (this.#link.ended) return false;
    this.#isAnswered = true;
    if (refusal !== undefined) {
      this.#refuseId(agentId, refusal);
      return false;
    }
    const joining = this.#session.join(hello);
    this.#link.watch(heartbeatIntervalMs, silenceLimitMs);
    if (!(await joining)) {
      this.#record('AGENT_REFUSED', agentId, this.#refusal);
      this.#link.close(CLOSE.REFUSED, 'refused');
      return false;
    }
    await credentials.joined(identity);
    this.#record('AGENT_JOIN', agentId);
    if (this.#link.ended) this.#record('AGENT_LEFT', agentId, 'the connection ended while it joined');
    else this.#joinRecorded = true;
    return true;
  }

  /** Refuses an agent whose id is not that of its credential. */
  #refuseId(agentId: string, reason: string): void {
    const { remoteAddress } = this.#peer;
    this.#options.log.warn({ remoteAddress, agentId, reason }, 'an agent was refused');
    this.#record('AGENT_REFUSED', agentId, reason);
    this.#link.send({ type: 'refused', code: 'AGENT_ID_NOT_PROVEN', message: reason });
    this.#link.close(CLOSE.REFUSED, 'refused');
  }

  #onDown(reason: string): void {
    const { identity, remoteAddress } = this.#peer;
    this.#helloTimer.cancel();
    this.#session.down(reason);
    if (this.#joinRecorded) this.#record('AGENT_LEFT', this.#agentId ?? null, reason);
    if (this.#isAnswered) return;
    this.#options.log.warn({ remoteAddress, reason }, 'a connection of an agent ended before it joined');
    this.#record('AGENT_REFUSED', identity.by === 'TOKEN' ? null : identity.agentId, reason);
  }

  /** Ends a connection whose agent broke the protocol. */
  #violated(fault: string): void {
    this.#options.log.warn({ agentId: this.#agentId, fault }, 'an agent broke the protocol');
    this.#link.fail(fault);
  }

  /** Logs a flood, if it is one. */
  #flooded(fault: string | undefined): string | undefined {
    const [agentId, { remoteAddress }] = [this.#agentId, this.#peer];
    if (fault !== undefined)
      this.#options.log.warn({ agentId, remoteAddress, fault }, 'an agent was cut off');
    return fault;
  }

  #record(action: AgentEvent['action'], agentId: string | null, detail?: string): void {
    const { identity, remoteAddress } = this.#peer;
    this.#options.authenticator.record({
      action,
      address: remoteAddress,
      identity,
      agentId,
      resource: AGENT_PATHS.CONNECT,
      ...(detail === undefined ? {} : { detail }),
    });
  }
}
