/** Signals between the hubs of a database: own listeners hear at once, those of other hubs by messages. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Signal, SignalListener, Signals, TaskAssigned } from '../../../../core/ports/signals.js';
import type { ClaimedTask } from '../../../../core/ports/task-queue.js';
import { ownSignals } from '../../../sole-hub/own-signals.js';
import type { AgentHolders } from '../common/agent-holders.js';
import type { SentAssignment, SentSignal } from './messages.js';

export interface ClusterSignalsOptions {
  readonly holders: AgentHolders;
  /** Sends a signal to the other hubs, if there are any. */
  readonly send: (signal: SentSignal) => void;
  /** Reads running tasks by id; those that no longer run may be missing. */
  readonly claimedTasks: (taskIds: readonly string[]) => Promise<readonly ClaimedTask[]>;
  readonly log: Pick<Logger, 'error'>;
}

/** Kinds that only the hub hears that they concern. */
type OwnKind = 'RESYNC' | 'REPLACED' | 'OCCUPIED' | 'HUBS' | 'CUT_OFF';

/** News of an agent's connection, which count as long as that connection does. */
type ConnectionSignal = Extract<Signal, { readonly kind: 'JOINED' | 'READY' | 'INSTANCE' | 'LEFT' }>;

export class ClusterSignals implements Pick<Signals, 'tell' | 'hear'> {
  readonly #options: ClusterSignalsOptions;
  readonly #own: Pick<Signals, 'tell' | 'hear'>;

  constructor(options: ClusterSignalsOptions) {
    this.#options = options;
    this.#own = ownSignals(options.log);
  }

  hear(listener: SignalListener): () => void {
    return this.#own.hear(listener);
  }

  tell(signal: Signal): void {
    if (isOwn(signal)) this.#own.tell(signal);
    else if (signal.kind === 'ASSIGNED') this.#tellAssigned(signal);
    else if (isOfConnection(signal)) this.#tellOfConnection(signal);
    else {
      this.#own.tell(signal);
      this.#options.send({ signal });
    }
  }

  /** Tells that an agent of a hub that is gone is disconnected. */
  tellLost(agentId: string, epoch: number): void {
    if (!this.#options.holders.left(agentId, epoch)) return;
    const signal = { kind: 'LEFT', agentId } as const;
    this.#own.tell(signal);
    this.#options.send({ signal, epoch });
  }

  /** Passes on the signals of another hub, in their order. Rejects when assigned tasks cannot be read. */
  async take(hubId: string, signals: readonly SentSignal[]): Promise<void> {
    const { holders, claimedTasks } = this.#options;
    const assigned = signals.map(({ signal }) => signal).filter(isAssigned);
    const taskIds = assigned
      .filter(({ agentId, isTaken }) => !isTaken && holders.isOwn(agentId))
      .map(({ taskId }) => taskId);
    const claimed = taskIds.length === 0 ? [] : await claimedTasks([...new Set(taskIds)]);
    const byId = new Map(claimed.map((task) => [task.ref.taskId, task]));
    for (const sent of signals) {
      const { signal } = sent;
      if (isAssigned(signal)) this.#hearAssigned(signal, byId.get(signal.taskId));
      else if (isOfConnection(signal)) this.#hearOfConnection(hubId, signal, sent.epoch);
      else if (!isOwn(signal)) this.#own.tell(signal);
    }
  }

  /** Either this hub sends the task, or the one that holds the agent, even when that one seems to be gone: two that act would run it twice. */
  #tellAssigned(signal: TaskAssigned): void {
    const { holders, send } = this.#options;
    const { ref, agentId } = signal.claimed;
    const isElsewhere = holders.hubOf(agentId) !== undefined && !holders.isOwn(agentId);
    this.#own.tell(isElsewhere ? { kind: 'OCCUPIED', agentId, ref } : signal);
    const sent = { kind: 'ASSIGNED', ...ref, agentId, startedAtMs: signal.startedAtMs } as const;
    send({ signal: isElsewhere ? sent : { ...sent, isTaken: true } });
  }

  #hearAssigned(
    { taskId, attempt, instanceId, agentId, startedAtMs, isTaken }: SentAssignment,
    claimed: ClaimedTask | undefined,
  ): void {
    const ref = { taskId, attempt, instanceId };
    if (isTaken || !this.#options.holders.isOwn(agentId)) {
      this.#own.tell({ kind: 'OCCUPIED', agentId, ref });
      return;
    }
    const isCurrent =
      claimed?.agentId === agentId &&
      claimed.ref.attempt === attempt &&
      claimed.ref.instanceId === instanceId;
    if (isCurrent) this.#own.tell({ kind: 'ASSIGNED', claimed, startedAtMs });
  }

  #tellOfConnection(signal: ConnectionSignal): void {
    const { holders, send } = this.#options;
    const agentId = agentOf(signal);
    const holder = holders.hubOf(agentId);
    if (holder !== undefined && holder !== holders.ownId) {
      // The agent has joined another hub meanwhile.
      if (signal.kind === 'JOINED' || signal.kind === 'READY') this.#own.tell({ kind: 'REPLACED', agentId });
      return;
    }
    this.#own.tell(signal);
    send({ signal, epoch: holders.epochOf(agentId) });
  }

  #hearOfConnection(hubId: string, signal: ConnectionSignal, epoch: number | undefined): void {
    const { holders } = this.#options;
    const agentId = agentOf(signal);
    const wasOwn = holders.isOwn(agentId);
    if (epoch !== undefined) {
      const counts =
        signal.kind === 'LEFT' ? holders.left(agentId, epoch) : holders.joined(agentId, hubId, epoch);
      if (!counts) return;
      // Another hub has it, or the scheduler took this hub for gone.
      if (wasOwn) this.#own.tell({ kind: 'REPLACED', agentId });
    }
    this.#own.tell(signal);
  }
}

function agentOf(signal: ConnectionSignal): string {
  return signal.kind === 'JOINED' ? signal.agent.id : signal.agentId;
}

function isOwn<Each extends SentSignal['signal'] | Signal>(
  signal: Each,
): signal is Extract<Each, { readonly kind: OwnKind }> {
  return ['RESYNC', 'REPLACED', 'OCCUPIED', 'HUBS', 'CUT_OFF'].includes(signal.kind);
}

function isAssigned(signal: SentSignal['signal']): signal is SentAssignment {
  return signal.kind === 'ASSIGNED';
}

function isOfConnection(signal: { readonly kind: string }): signal is ConnectionSignal {
  return ['JOINED', 'READY', 'INSTANCE', 'LEFT'].includes(signal.kind);
}
