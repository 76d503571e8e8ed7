/** Sessions of agents: the connected agents, and the messages to them. An agent has one session at most. */
import { type AttemptRef, attemptKey } from '@workbench-hub/shared/domain/task';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { AgentConnection, AgentReply, AgentRequest } from '../../core/ports/agents.js';
import type { AttemptProofs } from '../../core/ports/attempt-proofs.js';
import { AgentUnavailable } from '../../core/ports/relay.js';
import type { SignalListener } from '../../core/ports/signals.js';
import type { ClaimedTask } from '../../core/ports/task-queue.js';
import type { TaskTraces } from '../transitions/task-traces.js';
import { AgentRequests } from './agent-requests.js';

export interface AgentSessionsOptions {
  readonly runtime: Runtime;
  readonly log: Logger;
  readonly traces: Pick<TaskTraces, 'contextOf'>;
  readonly proofs: Pick<AttemptProofs, 'of'>;
  /** This hub in the origin of its tasks. */
  readonly ownName: string;
}

interface Session {
  readonly connection: AgentConnection;
  /** Number of the join. */
  readonly epoch: number;
  /** Attempts that the agent has, by their names. */
  readonly held: Map<string, HeldByAgent>;
  /** Whether they are those that the store has. */
  isReconciled: boolean;
}

export interface HeldByAgent {
  readonly ref: AttemptRef;
  /** Whether it has ended, and its report is under way. */
  readonly isSpooled: boolean;
}

/** SENT: to the agent, which did not have it. HELD: the agent has it already. AWAY: the agent is not connected, or is joining: what it does not
 *  have then is lost. */
export type AssignOutcome = 'SENT' | 'HELD' | 'AWAY';

export class AgentSessions {
  readonly #options: AgentSessionsOptions;
  readonly #sessions = new Map<string, Session>();
  readonly #requests: AgentRequests;

  constructor(options: AgentSessionsOptions) {
    this.#options = options;
    this.#requests = new AgentRequests(options.runtime);
  }

  /** The number of the join of the agent's current connection; undefined for any other connection. */
  epochOf(agentId: string, connection: AgentConnection): number | undefined {
    const session = this.#sessions.get(agentId);
    return session?.connection === connection ? session.epoch : undefined;
  }

  /** Whether this is the agent's current connection. */
  isCurrent(agentId: string, connection: AgentConnection): boolean {
    return this.epochOf(agentId, connection) !== undefined;
  }

  /** Opens the agent's session on this connection and closes its former one. Closes this one, and returns false, when there is one of
   *  a later join. */
  open(
    agentId: string,
    { epoch, held }: { readonly epoch: number; readonly held: readonly HeldByAgent[] },
    connection: AgentConnection,
  ): boolean {
    const former = this.#sessions.get(agentId);
    const isLatest = former === undefined || former.epoch < epoch;
    const byName = new Map(held.map((each) => [attemptKey(each.ref), each]));
    if (isLatest) this.#sessions.set(agentId, { connection, epoch, held: byName, isReconciled: false });
    (isLatest ? former?.connection : connection)?.close('the same agent has reconnected');
    return isLatest;
  }

  /** Closes the connection of an earlier join: the agent has joined again since. */
  closeBefore(agentId: string, epoch: number): void {
    const session = this.#sessions.get(agentId);
    if (session && session.epoch < epoch) session.connection.close('the same agent has reconnected');
  }

  /** Ends the agent's session; its open requests fail. */
  end(agentId: string): void {
    this.#sessions.delete(agentId);
    this.#requests.agentLeft(agentId);
  }

  /** Sends a claimed task to its agent. */
  assign(claimed: ClaimedTask): AssignOutcome {
    const { ref, agentId, task, job, checkpoint } = claimed;
    const session = this.#sessions.get(agentId);
    if (!session) return 'AWAY';
    if (session.held.has(attemptKey(ref))) return 'HELD';
    if (!session.isReconciled) return 'AWAY';
    session.held.set(attemptKey(ref), { ref, isSpooled: false });
    const { timeLimitS, requestId } = task;
    const timeLimitMs = timeLimitS === null ? null : Math.min(timeLimitS * 1000, Number.MAX_SAFE_INTEGER);
    const traceContext = this.#options.traces.contextOf(claimed);
    const { proofs, ownName } = this.#options;
    const proof = proofs.of(ref, agentId);
    const origin = task.loan?.origin ?? { hub: ownName, user: task.creator };
    session.connection.assign({ ref, job, timeLimitMs, origin, requestId, traceContext, proof, checkpoint });
    this.#options.log.debug({ agentId, requestId, ...ref }, 'task is assigned');
    return 'SENT';
  }

  /** The agent's report of an attempt has been acknowledged, or the agent is about to be told so. */
  settled(agentId: string, ref: AttemptRef): void {
    this.#sessions.get(agentId)?.held.delete(attemptKey(ref));
  }

  /** Whether the agent is connected to this hub. */
  isConnected(agentId: string): boolean {
    return this.#sessions.has(agentId);
  }

  /** Agents that are connected to this hub. */
  get agentIds(): string[] {
    return [...this.#sessions.keys()];
  }

  /** The attempts of the agent have been reconciled. */
  reconciled(agentId: string): void {
    const session = this.#sessions.get(agentId);
    if (session) session.isReconciled = true;
  }

  /** Whether the attempts of the agent have been reconciled since it joined this hub. */
  isReconciled(agentId: string): boolean {
    return this.#sessions.get(agentId)?.isReconciled === true;
  }

  /** Attempts that the agent has. */
  heldBy(agentId: string): HeldByAgent[] {
    return [...(this.#sessions.get(agentId)?.held.values() ?? [])];
  }

  /** Tells the agent that the attempt no longer counts; a disconnected agent is told when it rejoins. */
  cancel(agentId: string, ref: AttemptRef): void {
    this.#sessions.get(agentId)?.connection.cancel(ref);
  }

  /** Sends a request to an agent; rejects with {@link AgentUnavailable} when it is disconnected or does not respond in time. */
  request(agentId: string, request: AgentRequest, timeoutMs: number): Promise<AgentReply> {
    const session = this.#sessions.get(agentId);
    if (!session) return Promise.reject(new AgentUnavailable(`agent ${agentId} is not connected`));
    return this.#requests.ask(agentId, timeoutMs, (requestId) =>
      session.connection.request(requestId, request),
    );
  }

  /** Takes an agent's response to a request. */
  replied(agentId: string, requestId: string, reply: AgentReply): void {
    this.#requests.replied(agentId, requestId, reply);
  }

  /** Asks an agent to join another hub, of these addresses first. False when it is not connected, or too old to be asked. */
  move(agentId: string, reason: string, to: readonly string[] = []): boolean {
    return this.#sessions.get(agentId)?.connection.move(reason, to) ?? false;
  }

  /** Closes all connections. */
  closeAll(reason: string): void {
    for (const { connection } of [...this.#sessions.values()]) connection.close(reason);
  }

  readonly onSignal: SignalListener = {
    CANCELED: ({ agentId, ref }) => this.cancel(agentId, ref),
    CUT_OFF: () => this.closeAll('the hub cannot reach its database'),
    REPLACED: ({ agentId }) =>
      this.#sessions.get(agentId)?.connection.close('the same agent has joined another hub'),
  };
}
