/**
 * An agent whose messages the test chooses. It speaks the real protocol over a real WebSocket to a real hub, and keeps
 * the messages of the hub.
 */
import { createHash } from 'node:crypto';
import { DialRefused, dial } from '@workbench-hub/shared/agent-protocol/dial';
import { CLOSE, Link, type Transport } from '@workbench-hub/shared/agent-protocol/link';
import {
  AGENT_PATHS,
  type AgentMessage,
  type HelloMessage,
  type HubMessage,
} from '@workbench-hub/shared/agent-protocol/messages';
import { parseHubMessage } from '@workbench-hub/shared/agent-protocol/parse-message';
import type { AttemptReport } from '@workbench-hub/shared/domain/attempt';
import type { InstanceReport } from '@workbench-hub/shared/domain/instance';
import type { FileRef } from '@workbench-hub/shared/domain/job';
import type { JoinedHub } from '@workbench-hub/shared/domain/joined-hub';
import type { AttemptRef } from '@workbench-hub/shared/domain/task';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { eventually } from '../eventually.js';

export interface FakeAgentSetup {
  /** The time of its clock. */
  readonly clockMs?: number;
  readonly id?: string;
  readonly nodeId?: string;
  readonly joinNumber?: number;
  /** Null for an old agent, which does not tell it. */
  readonly installation?: HelloMessage['agent']['installation'] | null;
  readonly instances?: readonly Partial<InstanceReport>[];
  readonly running?: HelloMessage['running'];
  readonly spooled?: HelloMessage['spooled'];
  readonly protocolVersions?: number[];
  /** Kinds of later requests that it answers; those of an old agent by default. */
  readonly answers?: readonly string[];
  /** Whether its version is on trial. */
  readonly trial?: true;
  /** Types of later messages that it takes; those of an old agent by default. */
  readonly takes?: readonly string[];
  /** Identity and address of a joining hub, and the hubs below it; left out for an agent. */
  readonly hub?: JoinedHub;
  /** Called with each message of the hub. */
  readonly onHeard?: (this: FakeAgent, message: HubMessage) => void;
}

/** The default for all agents. */
export const INSTALLATION = { kind: 'DEBIAN', os: 'linux', arch: 'x64' } as const;

/** The default for all agents: an agent that rejoins is the same agent. */
const NODE_ID = '0c0e5e0e-0000-4000-8000-000000000000';

type Of<Type extends HubMessage['type']> = Extract<HubMessage, { type: Type }>;

/** An instance that is up, as an agent reports it. */
export function instanceReportOf(report: Partial<InstanceReport> = {}): InstanceReport {
  return {
    id: 'sim-1',
    version: '9.1.0',
    revision: '4711',
    labels: [],
    status: 'UP',
    upForMs: 1000,
    ...report,
  };
}

export class FakeAgent {
  readonly id: string;
  readonly nodeId: string;
  /** All messages of the hub, in order. */
  readonly heard: HubMessage[] = [];
  readonly #hub: { address: string; token: string };
  readonly #link: Link<HubMessage, AgentMessage>;
  #closeReason: string | undefined;
  readonly #given = new Set<HubMessage>();

  private constructor(
    hub: { address: string; token: string },
    { id, nodeId }: { id: string; nodeId: string },
    transport: Transport,
    onHeard: FakeAgentSetup['onHeard'],
  ) {
    this.#hub = hub;
    this.id = id;
    this.nodeId = nodeId;
    this.#link = new Link<HubMessage, AgentMessage>({
      transport,
      runtime: systemRuntime,
      read: parseHubMessage,
      onMessage: (message) => {
        this.heard.push(message);
        onHeard?.call(this, message);
      },
      onDown: (reason) => {
        this.#closeReason ??= reason;
      },
    });
  }

  /** Connects and sends the hello message, without waiting for a reply. */
  static async connect(
    hub: { address: string; token: string },
    setup: FakeAgentSetup = {},
  ): Promise<FakeAgent> {
    const names = { id: setup.id ?? 'agent-1', nodeId: setup.nodeId ?? NODE_ID };
    let agent!: FakeAgent;
    const url = hub.address.replace('http', 'ws') + AGENT_PATHS.CONNECT;
    const transport = await dial(
      { url, token: hub.token, handshakeTimeoutMs: 60_000 },
      {
        onFrame: (frame) => agent.#link.receive(frame),
        onClose: (reason) => {
          agent.#closeReason = reason;
          agent.#link.down(reason);
        },
      },
    );
    agent = new FakeAgent(hub, names, transport, setup.onHeard);
    agent.say(helloOf(names, setup));
    return agent;
  }

  /** Connects as soon as the hub is ready, sends the hello message and is welcomed. A hub is not ready while its database seems late, such
   *  as after a test that let seconds pass amid a question to it. */
  static async join(hub: { address: string; token: string }, setup: FakeAgentSetup = {}): Promise<FakeAgent> {
    const isNotReady = (error: unknown) => error instanceof DialRefused && error.status === 503;
    const agent = await eventually(() =>
      FakeAgent.connect(hub, setup).catch((error: unknown) => {
        if (isNotReady(error)) return undefined;
        throw error;
      }),
    );
    await agent.hear('welcome');
    return agent;
  }

  /** Sends a message together with the others of this turn. */
  queue(message: AgentMessage): void {
    this.#link.send(message);
  }

  say(message: AgentMessage): void {
    this.#link.send(message);
    this.#link.flush();
  }

  /** The first message of this type that no earlier call has returned. */
  async hear<Type extends HubMessage['type']>(
    type: Type,
    accept: (message: Of<Type>) => boolean = () => true,
  ): Promise<Of<Type>> {
    return eventually(() => {
      const found = this.heard.find(
        (message): message is Of<Type> =>
          message.type === type && !this.#given.has(message) && accept(message as Of<Type>),
      );
      if (!found) throw new Error(`the hub said no ${type}, only ${JSON.stringify(this.heard)}`);
      this.#given.add(found);
      return found;
    });
  }

  /** Uploads a file to the hub, as an agent does before its report names it. */
  async upload(content: string | Buffer): Promise<FileRef> {
    const bytes = Buffer.from(content);
    const ref = { digest: createHash('sha256').update(bytes).digest('hex'), sizeBytes: bytes.length };
    const response = await this.file(ref.digest, { method: 'PUT', body: bytes });
    if (response.status !== 204) throw new Error(`PUT answered ${response.status} ${await response.text()}`);
    return ref;
  }

  /** Requests a path beneath the files of the hub, with the token. */
  file(digest: string, init: RequestInit = {}): Promise<Response> {
    return fetch(`${this.#hub.address}${AGENT_PATHS.FILES}/${digest}`, {
      ...init,
      headers: { authorization: `Bearer ${this.#hub.token}` },
    });
  }

  /** Reports the end of an attempt, with these uploaded files. */
  report(ref: AttemptRef, outcome: AttemptReport['outcome'], rest: Partial<AttemptReport> = {}): void {
    this.say({
      type: 'report',
      report: { ...ref, outcome, message: null, outputFiles: [], log: null, ...rest },
    });
  }

  /** Reports the end of an attempt and waits for its acknowledgement; true when it counted. */
  async end(
    ref: AttemptRef,
    outcome: AttemptReport['outcome'],
    rest: Partial<AttemptReport> = {},
  ): Promise<boolean> {
    this.report(ref, outcome, rest);
    return (await this.hear('acknowledged')).counted;
  }

  get isConnected(): boolean {
    return this.#closeReason === undefined;
  }

  /** Resolves with the reason when the connection has ended. */
  closed(): Promise<string> {
    return eventually(() => this.#closeReason);
  }

  /** Leaves and resolves when the hub knows it; does nothing when the connection has ended already. With security on, a
   *  token that may read is needed. */
  async leave(readerToken?: string): Promise<void> {
    if (this.#closeReason !== undefined) return;
    this.#link.close(CLOSE.GOING_AWAY, 'the agent stops');
    await eventually(async () => {
      const response = await fetch(`${this.#hub.address}/api/2.0/workbench/node/agent/${this.id}`, {
        headers: readerToken === undefined ? {} : { authorization: `Bearer ${readerToken}` },
      });
      const { status } = (await response.json()) as { status: unknown };
      return status !== 'UP';
    });
  }
}

function helloOf(
  { id, nodeId }: { id: string; nodeId: string },
  {
    instances = [{}],
    running = [],
    spooled = [],
    protocolVersions = [1],
    clockMs,
    joinNumber,
    installation = INSTALLATION,
    answers,
    takes,
    hub,
    trial,
  }: FakeAgentSetup,
): HelloMessage {
  return {
    type: 'hello',
    protocolVersions,
    agent: { id, nodeId, version: '0.1.0', revision: 'abc1234', ...(installation && { installation }) },
    ...(clockMs === undefined ? {} : { clockMs }),
    ...(joinNumber === undefined ? {} : { joinNumber }),
    instances: instances.map(instanceReportOf),
    ...(answers && { answers: [...answers] }),
    ...(takes && { takes: [...takes] }),
    ...(hub && { hub }),
    ...(trial && { trial }),
    running: [...running],
    spooled: [...spooled],
  };
}
