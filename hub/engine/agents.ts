/** Agents that join, what they say, and what is said to them. One session an agent; sockets are somebody else's. */
import {
  AGENT_PROTOCOL_VERSIONS,
  type AgentMessage,
  type HelloMessage,
  type HubMessage,
  type HubRequest,
  type REFUSALS,
} from '@workbench-hub/shared/agent-protocol/messages';
import type { AttemptReport } from '@workbench-hub/shared/domain/attempt';
import type { FileRef, NamedFileRef } from '@workbench-hub/shared/domain/job';
import { type AttemptRef, sameAttempt } from '@workbench-hub/shared/domain/task';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { AgentStore } from '../core/ports/agent-store.js';
import type { FileStore } from '../core/ports/files.js';
import type { TaskMetrics } from '../core/ports/metrics.js';
import type { ClaimedTask, TaskQueue } from '../core/ports/task-store.js';
import { attemptOf } from '../core/task.js';
import { AgentRequests, AgentUnavailable } from './agent-requests.js';
import type { Attempts } from './attempts.js';
import { type Instances, profileOf } from './instances.js';
import type { Leases } from './leases.js';
import type { Storage } from './storage.js';
import type { TaskOutput } from './task-output.js';
import type { TaskTraces } from './task-traces.js';

/** The hub's end of a connection. */
export interface AgentSession {
  send(message: HubMessage): void;
  close(reason: string): void;
  /** Ends it because the agent broke the protocol. */
  fail(fault: string): void;
}

export interface AgentsOptions {
  readonly queue: TaskQueue;
  readonly store: AgentStore;
  readonly files: FileStore;
  readonly storage: Storage;
  readonly instances: Instances;
  readonly attempts: Attempts;
  readonly leases: Leases;
  readonly output: TaskOutput;
  readonly runtime: Runtime;
  readonly log: Logger;
  readonly metrics: TaskMetrics;
  readonly traces: TaskTraces;
  readonly hubVersion: string;
  readonly heartbeatIntervalMs: number;
  readonly silenceLimitMs: number;
  /** An instance may have become able to begin a task. */
  readonly onCapacity: () => void;
}

interface Joined {
  readonly session: AgentSession;
  readonly nodeId: string;
}

/** An agent that gave a task back although it looked idle gets nothing for so long. */
const REST_MS = 1000;

export class Agents {
  readonly #options: AgentsOptions;
  readonly #joined = new Map<string, Joined>();
  readonly #requests: AgentRequests;

  constructor(options: AgentsOptions) {
    this.#options = options;
    this.#requests = new AgentRequests(options.runtime);
  }

  /** Takes the first message of a connection from `remoteAddress`, as far as that is known; false when the agent is refused, which it has been told. */
  async join(
    hello: HelloMessage,
    session: AgentSession,
    remoteAddress: string | null = null,
  ): Promise<boolean> {
    const { instances, log, leases, runtime } = this.#options;
    const { agent } = hello;
    const refusal = this.#refusalOf(hello);
    if (refusal) {
      log.warn({ agentId: agent.id, ...refusal }, 'agent refused');
      session.send({ type: 'refused', ...refusal });
      return false;
    }
    const former = this.#joined.get(agent.id);
    this.#joined.set(agent.id, { session, nodeId: agent.nodeId });
    former?.session.close('the same agent has connected anew');
    leases.end(agent.id);
    const clockOffsetMs = hello.clockMs === undefined ? null : hello.clockMs - runtime.clock.nowMs();
    instances.connected({ ...agent, address: remoteAddress, clockOffsetMs }, hello.instances, hello.running);
    session.send({
      type: 'welcome',
      protocolVersion: Math.max(...sharedVersions(hello)),
      hubVersion: this.#options.hubVersion,
      heartbeatIntervalMs: this.#options.heartbeatIntervalMs,
      silenceLimitMs: this.#options.silenceLimitMs,
      outputStorage: this.#options.storage.isOutputOn,
    });
    await this.#reconcile(hello, session);
    if (!this.#isCurrent(agent.id, session)) return true;
    instances.ready(agent.id);
    log.info(
      { agentId: agent.id, instances: hello.instances.length, running: hello.running.length },
      'agent joined',
    );
    this.#options.onCapacity();
    await this.#remember(agent.id);
    return true;
  }

  /** The connection has ended. */
  leave(agentId: string, session: AgentSession, reason: string): void {
    if (!this.#isCurrent(agentId, session)) return;
    this.#joined.delete(agentId);
    this.#options.metrics.agentLeft();
    this.#options.instances.away(agentId);
    this.#options.attempts.forgetAllOf(agentId);
    this.#options.leases.begin(agentId);
    this.#requests.agentLeft(agentId);
    // What waits for this agent rather than for one that has given it back need not any more.
    this.#options.onCapacity();
    this.#options.log.warn({ agentId, reason }, 'agent is unreachable');
    void this.#remember(agentId);
  }

  /** Takes a later message of a connection that joined. */
  async receive(agentId: string, session: AgentSession, message: AgentMessage): Promise<void> {
    if (!this.#isCurrent(agentId, session)) return;
    switch (message.type) {
      case 'hello':
        return session.fail('a second hello');
      case 'instance':
        this.#options.instances.changed(agentId, message.instance);
        return this.#options.onCapacity();
      case 'output':
        return this.#options.output.append(agentId, message.ref, message.offset, message.text);
      case 'ended':
        return this.#ended(agentId, session, message.report);
      case 'reply':
        return this.#requests.answered(agentId, message.requestId, message.error, message.text);
      case 'heartbeat':
    }
  }

  /** Sends a claimed task to its agent; false when the agent is away. */
  assign(claimed: ClaimedTask): boolean {
    const { ref, agentId, task, job } = claimed;
    const joined = this.#joined.get(agentId);
    if (!joined) return false;
    const { timeLimitS, requestId } = task;
    this.#options.attempts.begun(task);
    const timeLimitMs = timeLimitS === null ? null : Math.min(timeLimitS * 1000, Number.MAX_SAFE_INTEGER);
    this.#options.output.expect(agentId, ref);
    const traceContext = this.#options.traces.contextOf(claimed);
    joined.session.send({
      type: 'assign',
      ref,
      timeLimitMs,
      job,
      ...(requestId === null ? {} : { requestId }),
      ...(traceContext === null ? {} : { traceContext }),
    } as HubMessage);
    this.#options.log.debug({ ...ref, agentId, requestId }, 'task is assigned');
    return true;
  }

  /** Tells the agent to end an attempt that no longer counts; an agent that is away hears it when it is back. */
  cancel(agentId: string, ref: AttemptRef): void {
    this.#options.attempts.forget(ref.taskId);
    this.#joined.get(agentId)?.session.send({ type: 'cancel', ref });
  }

  /** Asks something of an agent; rejects with {@link AgentUnavailable} when it is away or does not answer in time. */
  request(agentId: string, request: HubRequest): Promise<string | null> {
    const joined = this.#joined.get(agentId);
    if (!joined) return Promise.reject(new AgentUnavailable(`agent ${agentId} is not connected`));
    return this.#requests.ask(agentId, request, (message) => joined.session.send(message));
  }

  /** Says good-bye to all; their leases begin with the next start. */
  closeAll(reason: string): void {
    for (const { session } of [...this.#joined.values()]) session.close(reason);
  }

  /** Never rejects: a disk that is full is no reason to do without an agent. */
  async #remember(agentId: string): Promise<void> {
    const { instances: known, store, log } = this.#options;
    const view = known.findAgent(agentId);
    if (!view) return;
    const { id, version, revision, seenAtMs, clockOffsetMs } = view;
    const instances = view.instances.map(({ profile }) => profile);
    try {
      await store.save({ id, version, revision, seenAtMs, clockOffsetMs, instances });
    } catch (error) {
      log.error({ err: error, agentId }, 'when the agent was last seen could not be kept');
    }
  }

  #refusalOf(hello: HelloMessage): { code: (typeof REFUSALS)[number]; message: string } | undefined {
    const { agent } = hello;
    if (sharedVersions(hello).length === 0) {
      return {
        code: 'PROTOCOL_VERSION',
        message:
          `this hub speaks version ${AGENT_PROTOCOL_VERSIONS.join(', ')} of the agent protocol, agent ${agent.id} ` +
          `version ${hello.protocolVersions.join(', ')}: update ${olderOf(hello)}`,
      };
    }
    const joined = this.#joined.get(agent.id);
    if (joined && joined.nodeId !== agent.nodeId) {
      return {
        code: 'AGENT_ID_TAKEN',
        message: `an agent with the id ${agent.id} is connected from elsewhere: give one of them another "id"`,
      };
    }
    for (const { id } of hello.instances) {
      const holder = this.#options.instances.holderOf(id, agent.id);
      if (holder !== undefined) {
        return {
          code: 'INSTANCE_ID_TAKEN',
          message: `the instance id ${id} is in use by the connected agent ${holder}: ids are unique in the cluster`,
        };
      }
    }
    return undefined;
  }

  /** Brings together what the agent holds and what the hub believes to run on it. */
  async #reconcile(hello: HelloMessage, session: AgentSession): Promise<void> {
    const { queue, attempts, log } = this.#options;
    const agentId = hello.agent.id;
    const held = [...hello.running, ...hello.spooled];
    const inForce = await this.#adopt(held, hello);
    const believed = await queue.runningOn(agentId);
    // It went away meanwhile, or came anew and was given other work, of which this hello knows nothing.
    if (!this.#isCurrent(agentId, session)) return;
    for (const [index, ref] of hello.running.entries()) {
      if (inForce[index]) this.#options.output.expect(agentId, ref);
      else {
        log.info(
          { agentId, ...ref, step: 'adopt' },
          'a step that an attempt cannot take any more was refused',
        );
        session.send({ type: 'cancel', ref });
      }
    }
    const missing = believed.filter((task) => {
      const ref = attemptOf(task);
      return !ref || !held.some((other) => sameAttempt(other, ref));
    });
    await Promise.all(
      missing.map((task) => attempts.lose(task, 'LOSS', `agent ${agentId} came back without it`)),
    );
  }

  /** Takes over what the agent holds; says of each attempt whether it is in force. */
  async #adopt(held: readonly AttemptRef[], { agent, instances }: HelloMessage): Promise<boolean[]> {
    if (held.length === 0) return [];
    const { queue, runtime } = this.#options;
    const profiles = new Map(instances.map((report) => [report.id, profileOf(report)]));
    const startedAtMs = runtime.clock.nowMs();
    return queue.adopt(
      held.map((ref) => ({
        ref,
        startedAtMs,
        instance: {
          id: ref.instanceId,
          version: profiles.get(ref.instanceId)?.version ?? '',
          revision: profiles.get(ref.instanceId)?.revision ?? '',
          agentId: agent.id,
        },
      })),
    );
  }

  async #ended(agentId: string, session: AgentSession, report: AttemptReport): Promise<void> {
    const { instances, attempts } = this.#options;
    const kept = await this.#kept(report);
    if ('missing' in kept) {
      return session.fail(`a report of task ${report.taskId} names ${kept.missing}, which was not sent`);
    }
    // First of all: a task that the report takes back must not be given out anew, not even to the same instance.
    await attempts.believe(report, agentId);
    // For the end of the task the instance need not wait.
    const reported = attempts.report(kept.report, agentId);
    const rests = report.outcome === 'RETURNED';
    const wake = instances.vacate(agentId, report, rests);
    if (rests) {
      this.#options.runtime.timers.after(REST_MS, () => {
        wake();
        this.#options.onCapacity();
      });
    }
    this.#options.onCapacity();
    const counted = await reported;
    session.send({
      type: 'settled',
      ref: { taskId: report.taskId, attempt: report.attempt, instanceId: report.instanceId },
      counted,
    });
  }

  /** The report with its files as the hub keeps them, or the first that it does not have. */
  async #kept(
    report: AttemptReport,
  ): Promise<{ readonly report: AttemptReport } | { readonly missing: string }> {
    let missing: string | undefined;
    const keptAs = async <File extends FileRef>(file: File): Promise<File> => {
      const found = missing === undefined ? await this.#options.files.find(file.digest) : undefined;
      if (!found) missing ??= file.digest;
      return found?.isEncrypted ? { ...file, encrypted: true } : file;
    };
    const outputFiles: NamedFileRef[] = [];
    for (const file of report.outputFiles) outputFiles.push(await keptAs(file));
    const storedFiles: NamedFileRef[] = [];
    for (const file of report.storedFiles ?? []) storedFiles.push(await keptAs(file));
    const log = report.log && (await keptAs(report.log));
    return missing === undefined ? { report: { ...report, outputFiles, storedFiles, log } } : { missing };
  }

  #isCurrent(agentId: string, session: AgentSession): boolean {
    return this.#joined.get(agentId)?.session === session;
  }
}

function sharedVersions({ protocolVersions }: HelloMessage): number[] {
  return AGENT_PROTOCOL_VERSIONS.filter((version) => protocolVersions.includes(version));
}

/** Which of the two is the older one, in words. */
function olderOf({ protocolVersions }: HelloMessage): string {
  return Math.max(...protocolVersions) < Math.min(...AGENT_PROTOCOL_VERSIONS) ? 'the agent' : 'the hub';
}
