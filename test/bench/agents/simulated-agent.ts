/** An agent without a host, or a hub that lends instances: it speaks the real protocol over a real connection, and its instances end each task at once. */
import { dial } from '@workbench-hub/shared/agent-protocol/dial';
import { Link, type Transport } from '@workbench-hub/shared/agent-protocol/link';
import {
  AGENT_PATHS,
  AGENT_PROTOCOL_VERSIONS,
  type AgentMessage,
  type HubMessage,
} from '@workbench-hub/shared/agent-protocol/messages';
import { parseHubMessage } from '@workbench-hub/shared/agent-protocol/parse-message';
import type { AttemptReport } from '@workbench-hub/shared/domain/attempt';
import { type BackOff, backOff } from '@workbench-hub/shared/runtime/back-off';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';

// The delay that agents use.
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 15_000;
const HANDSHAKE_TIMEOUT_MS = 10_000;

export interface SimulatedAgentOptions {
  /** `ws://127.0.0.1:49152` */
  readonly address: string;
  readonly token: string;
  /** Index among all simulated agents. */
  readonly index: number;
  readonly instances: number;
  /** Whether it joins as a hub that lends its instances. */
  readonly isHub?: boolean;
}

export class SimulatedAgent {
  readonly #options: SimulatedAgentOptions;
  readonly #pauses: BackOff = backOff(FIRST_PAUSE_MS, LONGEST_PAUSE_MS, systemRuntime.random);
  /** Reports that the hub has not acknowledged, by task. */
  readonly #reports = new Map<string, AttemptReport>();
  #transport: Transport | undefined;

  constructor(options: SimulatedAgentOptions) {
    this.#options = options;
  }

  /** Resolves when the hub has welcomed it, after however many tries. */
  async join(): Promise<void> {
    for (;;) {
      try {
        await this.#joinOnce();
        return;
      } catch {
        const pauseMs = this.#pauses.nextMs();
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    }
  }

  /** Loses the connection, notices it, and rejoins. */
  async rejoin(): Promise<void> {
    this.#transport?.terminate();
    const pauseMs = this.#pauses.nextMs();
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    await this.join();
  }

  #joinOnce(): Promise<void> {
    return new Promise((welcome, refuse) => {
      const { address, token } = this.#options;
      let link: Link<HubMessage, AgentMessage> | undefined;
      const handlers = {
        onFrame: (frame: string) => link?.receive(frame),
        onClose: (reason: string) => link?.down(reason),
      };
      const url = address + AGENT_PATHS.CONNECT;
      dial({ url, token, handshakeTimeoutMs: HANDSHAKE_TIMEOUT_MS }, handlers).then((transport) => {
        this.#transport = transport;
        link = this.#greet(transport, welcome, refuse);
      }, refuse);
    });
  }

  #greet(
    transport: Transport,
    welcome: () => void,
    refuse: (error: Error) => void,
  ): Link<HubMessage, AgentMessage> {
    const link = new Link<HubMessage, AgentMessage>({
      transport,
      runtime: systemRuntime,
      read: parseHubMessage,
      onDown: (reason) => refuse(new Error(reason)),
      onMessage: (message) => {
        if (message.type === 'assign') this.#end(message, link);
        else if (message.type === 'acknowledged') this.#reports.delete(message.ref.taskId);
        else if (message.type === 'refused') refuse(new Error(message.message));
        else if (message.type === 'welcome') {
          link.watch(message.heartbeatIntervalMs, message.silenceLimitMs);
          for (const report of this.#reports.values()) link.send({ type: 'report', report });
          this.#pauses.reset();
          welcome();
        }
      },
    });
    link.send(this.#hello());
    return link;
  }

  #end({ ref }: Extract<HubMessage, { type: 'assign' }>, link: Link<HubMessage, AgentMessage>): void {
    const report: AttemptReport = { ...ref, outcome: 'OK', message: null, outputFiles: [], log: null };
    this.#reports.set(ref.taskId, report);
    link.send({ type: 'report', report });
  }

  #hello(): AgentMessage {
    const { index, instances, isHub = false } = this.#options;
    const id = `agent-${index}`;
    const nodeId = `00000000-0000-4000-8000-${`${index}`.padStart(12, '0')}`;
    return {
      type: 'hello',
      protocolVersions: AGENT_PROTOCOL_VERSIONS,
      agent: {
        id,
        nodeId,
        version: '0.1.0',
        revision: 'simulated',
        installation: { kind: 'FILE', os: 'linux', arch: 'x64' },
      },
      instances: Array.from({ length: instances }, (_, at) => ({
        id: `${id}-${at}`,
        version: '1.0.0',
        revision: '4711',
        labels: ['fem', 'gears'],
        status: 'UP',
        upForMs: 1000,
        ...(isHub ? { lent: 'OFFERED' as const } : {}),
      })),
      ...(isHub ? { hub: { id: nodeId, baseUrl: `https://${id}.example.com`, below: [] } } : {}),
      running: [],
      spooled: [...this.#reports.values()].map(({ taskId, attempt, instanceId }) => ({
        taskId,
        attempt,
        instanceId,
      })),
    };
  }
}
