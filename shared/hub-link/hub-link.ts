/** Joins a hub over the agent link, and translates between messages and calls. */
import { DialRefused, type DialTls, dial as dialWebSocket } from '../agent-protocol/dial.js';
import { CLOSE, Link, type Transport } from '../agent-protocol/link.js';
import {
  AGENT_PROTOCOL_VERSIONS,
  type AgentMessage,
  type HubMessage,
  INLINE_BLOB_BYTES,
} from '../agent-protocol/messages.js';
import { parseHubMessage } from '../agent-protocol/parse-message.js';
import type { AttemptRef } from '../domain/task.js';
import {
  type FileTransfer,
  type Hub,
  type HubConnection,
  type HubListener,
  JoinFailed,
  type Reply,
} from '../joining/ports/hub.js';
import { abortable } from '../runtime/abortable.js';
import type { Runtime } from '../runtime/runtime.js';
import { connectUrl } from './addresses.js';
import { dialFailure } from './connection-failures.js';
import { JoinNumbers } from './join-numbers.js';
import { type AgentNames, helloMessage, instanceMessage, refusalText } from './messages.js';
import type { AgentSecret } from './secret.js';

export interface HubLinkOptions {
  /** Base addresses, `ws://` or `wss://`. */
  readonly addresses: readonly string[];
  readonly agent: AgentNames;
  readonly secret: AgentSecret;
  /** Called for each dial, so that certificates may be renewed; rejects with {@link JoinFailed}. */
  readonly tls: () => Promise<DialTls>;
  readonly runtime: Runtime;
  /** Transfer of blobs with a joined hub. */
  readonly files: (address: string, token: string) => FileTransfer;
  /** Opens the connection; a simulation replaces it. */
  readonly dial?: typeof dialWebSocket;
}

const HANDSHAKE_TIMEOUT_MS = 10_000;
/** Maximum wait for the hub's close frame. */
const CLOSE_LIMIT_MS = 2000;
const LEAVING = 'the agent joins another hub';
/** Unsent bytes above which optional messages should be omitted. */
const CONGESTED_BYTES = 1024 * 1024;

export function hubLink(options: HubLinkOptions): Hub {
  const joinNumbers = new JoinNumbers(options.runtime.clock);
  return {
    addresses: options.addresses,
    nodeId: options.agent.nodeId,
    join: (address, listener, signal) =>
      new Joining(address, listener, signal, { ...options, joinNumbers }).run(),
  };
}

interface JoiningOptions extends HubLinkOptions {
  readonly joinNumbers: JoinNumbers;
}

/** One try to join and, if it succeeds, the connection until its end. */
class Joining {
  readonly #address: string;
  readonly #listener: HubListener;
  readonly #signal: AbortSignal;
  readonly #options: JoiningOptions;
  readonly #ended = new AbortController();
  #link: Link<HubMessage, AgentMessage> | undefined;
  #transport: Transport | undefined;
  #token = '';
  #tls: DialTls = {};
  #joined = false;
  #leaving = false;
  #refusal: string | undefined;
  #onEnd: (reason: string) => void = () => undefined;
  #onTransportClosed: () => void = () => undefined;
  /** The end of the transport, once it was asked for. */
  #closed: Promise<void> | undefined;

  constructor(address: string, listener: HubListener, signal: AbortSignal, options: JoiningOptions) {
    this.#address = address;
    this.#listener = listener;
    this.#signal = signal;
    this.#options = options;
  }

  async run(): Promise<string> {
    const { runtime } = this.#options;
    this.#token = await this.#options.secret.read();
    this.#tls = await this.#options.tls();
    const early: string[] = [];
    const transport = await this.#dial({
      onFrame: (frame) => (this.#link ? this.#link.receive(frame) : early.push(frame)),
      onClose: (reason) => {
        this.#onTransportClosed();
        this.#link?.down(reason);
      },
    });
    this.#transport = transport;
    const ended = new Promise<string>((resolve) => {
      this.#onEnd = resolve;
    });
    const link = new Link<HubMessage, AgentMessage>({
      transport,
      runtime,
      read: parseHubMessage,
      onMessage: (message) => this.#onMessage(message),
      onDown: (reason) => {
        this.#ended.abort(new Error(reason));
        this.#onEnd(reason);
      },
    });
    this.#link = link;
    if (this.#listener.onConnected) await this.#listener.onConnected();
    const deadline = runtime.timers.after(HANDSHAKE_TIMEOUT_MS, () => {
      if (!this.#joined) link.fail(`no answer to hello within ${HANDSHAKE_TIMEOUT_MS / 1000} s`);
    });
    const onAbort = () => {
      if (!this.#joined) link.close(CLOSE.GOING_AWAY, 'the agent is stopping');
    };
    if (this.#signal.aborted) onAbort();
    this.#signal.addEventListener('abort', onAbort, { once: true });
    this.#introduce(link);
    for (const frame of early) link.receive(frame);

    const reason = await ended;
    this.#signal.removeEventListener('abort', onAbort);
    deadline.cancel();
    if (this.#joined) return reason;
    throw new JoinFailed(this.#refusal ?? `the hub closed the connection: ${reason}`);
  }

  async #dial(handlers: Parameters<typeof dialWebSocket>[1]): Promise<Transport> {
    const url = connectUrl(this.#address);
    const dial = this.#options.dial ?? dialWebSocket;
    const dialing = dial(
      { url, token: this.#token, tls: this.#tls, handshakeTimeoutMs: HANDSHAKE_TIMEOUT_MS },
      handlers,
    );
    try {
      return await abortable(dialing, this.#signal);
    } catch (error) {
      if (this.#signal.aborted) dialing.then((late) => late.terminate()).catch(() => undefined);
      const isUnauthorized = error instanceof DialRefused && error.status === 401;
      throw new JoinFailed(dialFailure(error, this.#options.secret.advice), { cause: error, isUnauthorized });
    }
  }

  #introduce(link: Link<HubMessage, AgentMessage>): void {
    const { agent, runtime, joinNumbers } = this.#options;
    const names = { nowMs: runtime.clock.nowMs(), joinNumber: joinNumbers.next() };
    link.send(helloMessage(agent, this.#listener.introduce(), names));
    link.flush();
  }

  #onMessage(message: HubMessage): void {
    if (!this.#joined && message.type !== 'welcome' && message.type !== 'refused') {
      this.#link?.fail(`a message of type ${JSON.stringify(message.type)} before "welcome"`);
      return;
    }
    switch (message.type) {
      case 'welcome':
        this.#welcomed(message);
        return;
      case 'refused':
        this.#refusal = refusalText(message.code, message.message);
        this.#options.joinNumbers.heardOf(message.latestJoin ?? 0);
        this.#link?.close(CLOSE.NORMAL, 'refused');
        return;
      case 'heartbeat':
        return;
      case 'assign':
        this.#listener.onAssign(message);
        return;
      case 'cancel':
        this.#listener.onCancel(message.ref);
        return;
      case 'acknowledged':
        this.#listener.onAcknowledged(message.ref, message.counted);
        return;
      case 'hubs':
        this.#listener.onHubs(message.hubs);
        return;
      case 'move':
        this.#listener.onMove({ reason: message.reason, to: message.to ?? [] });
        return;
      case 'request': {
        // The hub no longer waits for the reply.
        if (this.#leaving) return;
        const { requestId, request } = message;
        const send = (reply: Reply) => this.#link?.send({ type: 'reply', requestId, ...reply });
        const reply = this.#listener.onRequest(request);
        if (reply instanceof Promise) void reply.then(send);
        else send(reply);
        return;
      }
    }
  }

  #welcomed({
    protocolVersion,
    heartbeatIntervalMs,
    silenceLimitMs,
    outputStorage = false,
    inlineBlobBytes = 0,
    hubs = [],
  }: HubMessage & { type: 'welcome' }): void {
    if (this.#joined) return;
    if (!AGENT_PROTOCOL_VERSIONS.includes(protocolVersion)) {
      this.#link?.fail(`protocol version ${protocolVersion} was never offered`);
      return;
    }
    this.#joined = true;
    this.#link?.watch(heartbeatIntervalMs, silenceLimitMs);
    this.#listener.onHubs(hubs);
    this.#listener.onJoined(this.#connection(outputStorage, Math.min(inlineBlobBytes, INLINE_BLOB_BYTES)));
  }

  #connection(isOutputStorageOn: boolean, inlineBlobBytes: number): HubConnection {
    const send = (message: AgentMessage) => {
      if (!this.#leaving) this.#link?.send(message);
    };
    return {
      ended: this.#ended.signal,
      files: this.#options.files(this.#address, this.#token),
      isOutputStorageOn,
      inlineBlobBytes,
      isCongested: () => (this.#transport?.bufferedBytes() ?? 0) > CONGESTED_BYTES,
      sendInstance: (instance) => send({ type: 'instance', instance: instanceMessage(instance) }),
      sendOutput: (ref: AttemptRef, offset, text) => send({ type: 'output', ref, offset, text }),
      sendReport: (report, blobs = []) =>
        send({
          type: 'report',
          report,
          ...(blobs.length === 0 ? {} : { blobs: blobs.map((blob) => blob.toString('base64')) }),
        }),
      leave: () => this.#leave(),
      close: (reason) => this.#close(reason),
    };
  }

  /** The hub ends the connection, after all that it has sent. */
  async #leave(): Promise<void> {
    const link = this.#link;
    if (link === undefined || link.ended) return;
    const closed = this.#transportClosed();
    link.send({ type: 'leaving' });
    link.flush();
    this.#leaving = true;
    this.#ended.abort(new Error(LEAVING));
    await closed;
    // Unless the hub has closed it: then it is down already.
    link.down(LEAVING);
  }

  async #close(reason: string): Promise<void> {
    if (!this.#transport) return;
    const closed = this.#transportClosed();
    this.#link?.close(CLOSE.GOING_AWAY, reason);
    await closed;
  }

  /** Resolves when the transport is closed; it is ended when the hub does not close it in time. */
  #transportClosed(): Promise<void> {
    this.#closed ??= new Promise((resolve) => {
      const limit = this.#options.runtime.timers.after(CLOSE_LIMIT_MS, () => {
        this.#transport?.terminate();
        resolve();
      });
      this.#onTransportClosed = () => {
        limit.cancel();
        resolve();
      };
    });
    return this.#closed;
  }
}
