/** Agents join, report and leave. The adapter (`hub/agent-link`) knows the form of their messages. */
import type { AttemptReport } from '@workbench-hub/shared/domain/attempt';
import type { InstanceReport } from '@workbench-hub/shared/domain/instance';
import type { AttemptRef } from '@workbench-hub/shared/domain/task';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import type { AgentStore } from '../core/ports/agent-store.js';
import type { AgentConnection, AgentIntroduction, AgentReply, JoinRefusal } from '../core/ports/agents.js';
import type { BlobStore, Hold } from '../core/ports/blobs.js';
import type { TaskMetrics } from '../core/ports/metrics.js';
import type { TaskQueue } from '../core/ports/task-queue.js';
import type { AgentSessions } from './agent-sessions.js';
import type { Attempts } from './attempts.js';
import type { Instances } from './instances.js';
import type { Leases } from './leases.js';
import { reconcile } from './reconciliation.js';
import { withStoredFiles } from './report-files.js';
import type { SentBlobs } from './sent-blobs.js';
import type { TaskOutput } from './task-output.js';
import type { TaskTransitions } from './task-transitions.js';

export interface AgentsOptions {
  readonly queue: Pick<TaskQueue, 'runningOn'>;
  readonly transitions: TaskTransitions;
  readonly store: AgentStore;
  readonly files: BlobStore;
  readonly sessions: AgentSessions;
  readonly sentBlobs: SentBlobs;
  readonly instances: Instances;
  readonly attempts: Attempts;
  readonly leases: Leases;
  readonly output: TaskOutput;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Pick<TaskMetrics, 'agentLeft'>;
  /** Whether the output storage is enabled. */
  readonly isOutputStorageOn: boolean;
}

export class Agents {
  readonly #options: AgentsOptions;

  constructor(options: AgentsOptions) {
    this.#options = options;
  }

  /** Lets an agent join; false when it was refused; the refusal has been sent. */
  async join(introduction: AgentIntroduction, connection: AgentConnection): Promise<boolean> {
    const { sessions, instances, log, leases, clock, isOutputStorageOn } = this.#options;
    const { agent, address, clockMs, running } = introduction;
    const refusal = this.#refusalOf(introduction);
    if (refusal) {
      log.warn({ agentId: agent.id, ...refusal }, 'agent refused');
      connection.refuse(refusal);
      return false;
    }
    sessions.open(agent.id, agent.nodeId, connection);
    leases.end(agent.id);
    const clockOffsetMs = clockMs === null ? null : clockMs - clock.nowMs();
    instances.connected({ ...agent, address, clockOffsetMs }, introduction.instances, running);
    connection.welcome({ outputStorage: isOutputStorageOn });
    await reconcile(introduction, connection, this.#options);
    if (!sessions.isCurrent(agent.id, connection)) return true;
    instances.ready(agent.id);
    log.info(
      { agentId: agent.id, instances: introduction.instances.length, running: running.length },
      'agent joined',
    );
    await this.#saveAgent(agent.id);
    return true;
  }

  /** The connection has ended. */
  leave(agentId: string, connection: AgentConnection, reason: string): void {
    const { sessions, metrics, instances, attempts, leases, log } = this.#options;
    if (!sessions.isCurrent(agentId, connection)) return;
    sessions.end(agentId);
    metrics.agentLeft();
    attempts.forgetAllOf(agentId);
    leases.begin(agentId);
    instances.disconnected(agentId);
    log.warn({ agentId, reason }, 'agent is unreachable');
    void this.#saveAgent(agentId);
  }

  /** An instance of the agent has changed. Here and below, a connection that is not the agent's current one is ignored. */
  instanceChanged(agentId: string, connection: AgentConnection, report: InstanceReport): void {
    if (this.#isCurrent(agentId, connection)) this.#options.instances.changed(agentId, report);
  }

  /** Output of a running script; `offset` counts UTF-16 units since the attempt began. */
  printed(agentId: string, connection: AgentConnection, ref: AttemptRef, offset: number, text: string): void {
    if (this.#isCurrent(agentId, connection)) this.#options.output.append(agentId, ref, offset, text);
  }

  /** The agent responds to a request. */
  replied(agentId: string, connection: AgentConnection, requestId: string, reply: AgentReply): void {
    if (this.#isCurrent(agentId, connection)) this.#options.sessions.replied(agentId, requestId, reply);
  }

  /** The agent reports the end of an attempt; resolves when that is durable and acknowledged. `blobs` are some of the report's, the
   *  others were uploaded before. Rejects as the store does. */
  async reported(
    agentId: string,
    connection: AgentConnection,
    report: AttemptReport,
    blobs: readonly Buffer[] = [],
  ): Promise<void> {
    if (!this.#isCurrent(agentId, connection)) return;
    const { files, sentBlobs } = this.#options;
    const hold = files.hold();
    try {
      const counted = await this.#process(agentId, connection, report, blobs, hold);
      if (counted !== undefined) sentBlobs.reported(agentId, digestsOf(report), counted);
      if (counted === false) hold.abandon();
    } finally {
      hold.release();
    }
  }

  /** Processes a report, whose blobs are held; tells whether it counted, or undefined when the agent has to send it again. */
  async #process(
    agentId: string,
    connection: AgentConnection,
    report: AttemptReport,
    blobs: readonly Buffer[],
    hold: Hold,
  ): Promise<boolean | undefined> {
    const { instances, attempts, files } = this.#options;
    const stored = await withStoredFiles(report, blobs, files, hold);
    if ('missing' in stored) {
      connection.fail(`a report of task ${report.taskId} names ${stored.missing}, which was not sent`);
      return undefined;
    }
    // First, so that a task whose attempt is adopted is not dispatched again, not even to the same instance.
    await attempts.adoptOnReport(report, agentId);
    // The instance is released before the end of the task is durable.
    const reported = attempts.report(stored.report, agentId);
    instances.release(agentId, report, { coolsDown: report.outcome === 'RETURNED' });
    const counted = await reported;
    const { taskId, attempt, instanceId } = report;
    connection.acknowledge({ taskId, attempt, instanceId }, counted);
    return counted;
  }

  /** Never rejects: an agent can work while the disk of the hub is full. */
  async #saveAgent(agentId: string): Promise<void> {
    const { instances: known, store, log } = this.#options;
    const view = known.findAgent(agentId);
    if (!view) return;
    const { id, version, revision, seenAtMs, clockOffsetMs } = view;
    const instances = view.instances.map(({ profile }) => profile);
    try {
      await store.save({ id, version, revision, seenAtMs, clockOffsetMs, instances });
    } catch (error) {
      log.error({ err: error, agentId }, 'the time at which the agent was last seen could not be saved');
    }
  }

  #refusalOf({ agent, instances }: AgentIntroduction): JoinRefusal | undefined {
    const nodeId = this.#options.sessions.nodeIdOf(agent.id);
    if (nodeId !== undefined && nodeId !== agent.nodeId) {
      return {
        code: 'AGENT_ID_TAKEN',
        message: `an agent with the id ${agent.id} is connected from elsewhere: give one of them another "id"`,
      };
    }
    for (const { id } of instances) {
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

  #isCurrent(agentId: string, connection: AgentConnection): boolean {
    return this.#options.sessions.isCurrent(agentId, connection);
  }
}

function digestsOf({ outputFiles, storedFiles = [], log }: AttemptReport): string[] {
  return [...outputFiles, ...storedFiles, ...(log ? [log] : [])].map(({ digest }) => digest);
}
