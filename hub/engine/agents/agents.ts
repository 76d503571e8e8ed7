/** Agents join, report and leave. The adapter (`hub/agent-link`) knows the form of their messages. */
import type { AttemptReport } from '@workbench-hub/shared/domain/attempt';
import type { InstanceReport } from '@workbench-hub/shared/domain/instance';
import { circleOf } from '@workbench-hub/shared/domain/joined-hub';
import type { AttemptRef } from '@workbench-hub/shared/domain/task';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import type { AgentConnection, AgentIntroduction, AgentReply, JoinRefusal } from '../../core/ports/agents.js';
import type { Allocations } from '../../core/ports/allocations.js';
import type { AttemptProofs } from '../../core/ports/attempt-proofs.js';
import type { BlobStore, Hold } from '../../core/ports/blobs.js';
import type { TaskMetrics } from '../../core/ports/metrics.js';
import type { Joined, JoiningAgent, Presence } from '../../core/ports/presence.js';
import type { Signals } from '../../core/ports/signals.js';
import type { TaskQueue } from '../../core/ports/task-queue.js';
import type { TaskOutput } from '../following/task-output.js';
import type { Instances } from '../instances/instances.js';
import type { TaskTransitions } from '../transitions/task-transitions.js';
import type { AgentSessions } from './agent-sessions.js';
import type { AgentUpdates } from './agent-updates.js';
import type { Attempts } from './attempts.js';
import { reconcile } from './reconciliation.js';
import { withStoredFiles } from './report-files.js';
import type { SentBlobs } from './sent-blobs.js';

export interface AgentsOptions {
  readonly allocations: Pick<Allocations, 'find'>;
  readonly queue: Pick<TaskQueue, 'runningOn'>;
  readonly transitions: TaskTransitions;
  readonly presence: Presence;
  readonly signals: Pick<Signals, 'tell'>;
  readonly files: BlobStore;
  readonly sessions: AgentSessions;
  readonly instances: Pick<Instances, 'joining' | 'changing'>;
  readonly sentBlobs: SentBlobs;
  readonly attempts: Attempts;
  readonly proofs: Pick<AttemptProofs, 'holds'>;
  readonly output: TaskOutput;
  readonly updates: Pick<AgentUpdates, 'prove'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Pick<TaskMetrics, 'agentLeft'>;
  /** Whether the output storage is enabled. */
  readonly isOutputStorageOn: boolean;
  /** Identity of this hub, or of all hubs on its database. */
  readonly ownHubId: string;
}

export class Agents {
  readonly #options: AgentsOptions;
  /** Connections whose agents are about to join. */
  readonly #joining = new Set<AgentConnection>();

  constructor(options: AgentsOptions) {
    this.#options = options;
  }

  /** Lets an agent join; false when it was refused; the refusal has been sent. Rejects as the store does. */
  async join(introduction: AgentIntroduction, connection: AgentConnection): Promise<boolean> {
    const { sessions, signals, log, isOutputStorageOn } = this.#options;
    const { agent, running, spooled, instances } = introduction;
    const joining = this.#joiningOf(introduction);
    const joined = this.#circleOf(introduction) ?? (await this.#present(joining, connection));
    if (joined === undefined) return true;
    if ('code' in joined) {
      log.warn({ agentId: agent.id, ...joined }, 'agent refused');
      connection.refuse(joined);
      return false;
    }
    const held = [
      ...running.map(({ ref }) => ({ ref, isSpooled: false })),
      ...spooled.map(({ ref }) => ({ ref, isSpooled: true })),
    ];
    const { epoch } = joined;
    if (!joined.isOpen || !sessions.open(agent.id, { epoch, held }, connection)) return true;
    const refs = { running: running.map(({ ref }) => ref), spooled: spooled.map(({ ref }) => ref) };
    signals.tell({ kind: 'JOINED', agent: joining, ...refs });
    connection.welcome({ outputStorage: isOutputStorageOn });
    if (!(await reconcile(introduction, connection, this.#options))) return true;
    sessions.reconciled(agent.id);
    signals.tell({ kind: 'READY', agentId: agent.id });
    log.info({ agentId: agent.id, instances: instances.length, running: running.length }, 'agent joined');
    if (introduction.isTrial) void this.#options.updates.prove(agent.id);
    return true;
  }

  /** Refusal of a hub that lends what is this hub's own. */
  #circleOf({ agent, hub }: AgentIntroduction): JoinRefusal | undefined {
    const path = hub && circleOf(this.#options.ownHubId, agent.id, hub);
    if (!path) return undefined;
    const message = `this hub would lend instances to itself, by way of ${path.join(' > ')}: remove one of these upstreams`;
    return { code: 'HUB_CIRCLE', message };
  }

  /** Makes the agent present, unless that is refused; `isOpen` is false when its connection has ended meanwhile, and undefined is the result
   *  when it ended before. */
  async #present(agent: JoiningAgent, connection: AgentConnection) {
    const { presence, sessions, clock } = this.#options;
    this.#joining.add(connection);
    let joined: Joined | JoinRefusal | undefined;
    let isOpen: boolean;
    try {
      joined = await presence.join(agent, () => this.#joining.has(connection));
    } finally {
      isOpen = this.#joining.delete(connection);
    }
    if (joined === undefined || 'code' in joined) return joined;
    if (!isOpen) {
      sessions.closeBefore(agent.id, joined.epoch);
      await presence.leave(agent.id, joined.epoch, clock.nowMs());
    }
    return { ...joined, isOpen };
  }

  #joiningOf({ agent, address, clockMs, joinNumber, instances, hub }: AgentIntroduction): JoiningAgent {
    const nowMs = this.#options.clock.nowMs();
    const clockOffsetMs = clockMs === null ? null : clockMs - nowMs;
    const started = instances.map((report) => this.#options.instances.joining(agent.id, report));
    return { ...agent, joinNumber, address, hub, clockOffsetMs, seenAtMs: nowMs, instances: started };
  }

  /** The connection has ended. */
  leave(agentId: string, connection: AgentConnection, reason: string): void {
    const { sessions, metrics, presence, signals, attempts, clock, log } = this.#options;
    if (this.#joining.delete(connection)) return;
    const epoch = sessions.epochOf(agentId, connection);
    if (epoch === undefined) return;
    sessions.end(agentId);
    metrics.agentLeft();
    attempts.forgetAllOf(agentId);
    signals.tell({ kind: 'LEFT', agentId });
    log.warn({ agentId, reason }, 'agent is unreachable');
    presence.leave(agentId, epoch, clock.nowMs()).catch((error: unknown) => {
      log.error({ err: error, agentId }, 'the departure of an agent could not be recorded');
    });
  }

  /** An instance of the agent has changed. Here and below, a connection that is not the agent's current one is ignored. */
  instanceChanged(agentId: string, connection: AgentConnection, changed: InstanceReport): void {
    const { sessions, presence, signals, instances } = this.#options;
    const epoch = sessions.epochOf(agentId, connection);
    if (epoch === undefined) return;
    const report = instances.changing(agentId, changed);
    presence.changed(agentId, epoch, report);
    signals.tell({ kind: 'INSTANCE', agentId, report });
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
    const { signals, attempts, files } = this.#options;
    const stored = await withStoredFiles(report, blobs, files, hold);
    if ('fault' in stored) {
      connection.fail(`a report of task ${report.taskId} names ${stored.fault}`);
      return undefined;
    }
    // First, so that a task whose attempt is adopted is not dispatched again, not even to the same instance.
    await attempts.adoptOnReport(report, agentId);
    const { taskId, attempt, instanceId, outcome } = report;
    const ref = { taskId, attempt, instanceId };
    // The instance is free as soon as the store calls back, which may be before the end of the task is durable.
    const counted = await attempts.report(stored.report, agentId, () =>
      signals.tell({ kind: 'FREED', agentId, ref, coolsDown: outcome === 'RETURNED' }),
    );
    this.#options.sessions.settled(agentId, ref);
    connection.acknowledge(ref, counted);
    return counted;
  }

  #isCurrent(agentId: string, connection: AgentConnection): boolean {
    return this.#options.sessions.isCurrent(agentId, connection);
  }
}

function digestsOf({ outputFiles, storedFiles = [], checkpoint = [], log }: AttemptReport): string[] {
  return [...outputFiles, ...storedFiles, ...checkpoint, ...(log ? [log] : [])].map(({ digest }) => digest);
}
