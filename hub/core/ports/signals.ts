/**
 * Signals: news between the parts of all hubs of a store, also of one hub, told after the commit that they tell of. Rows are the truth:
 * a signal makes a reaction fast. It may come late, twice or not at all; after a gap comes {@link Resync}. A signal is heard whole: a
 * store that sends ids only reads the rest before it passes the signal on.
 */
import type { AttemptRef } from '@workbench-hub/shared/domain/task';
import type { WaitingTask } from '../match-tasks.js';
import type { FinishedRun } from '../run-times.js';
import type { Task } from '../task.js';
import type { JoiningAgent, StartedInstance } from './presence.js';
import type { TaskExclusion } from './task-exclusions.js';
import type { ClaimedTask } from './task-queue.js';

/** New tasks can be claimed. */
export interface TasksWait {
  readonly kind: 'WAITS';
  readonly tasks: readonly WaitingTask[];
}

/** A task waits again, at its old place. */
export interface TaskReturned {
  readonly kind: 'RETURNED';
  readonly taskId: string;
}

/** A task left the queue without being claimed. */
export interface TaskWithdrawn {
  readonly kind: 'WITHDRAWN';
  readonly taskId: string;
  /** Its queue group, or what tells it. */
  readonly from: { readonly groupId: number } | Pick<Task, 'requirement'>;
}

/** A task was claimed for an instance of this agent, and is to be sent there. Only the hub to which the agent is connected hears it,
 *  or the one that tells it when there is none; the others hear {@link InstanceOccupied}. */
export interface TaskAssigned {
  readonly kind: 'ASSIGNED';
  readonly claimed: ClaimedTask;
  readonly startedAtMs: number;
}

/** Tasks have changed without any other signal. */
export interface TasksChanged {
  readonly kind: 'CHANGED';
}

/** An instance of an agent of another hub has got this attempt. */
export interface InstanceOccupied {
  readonly kind: 'OCCUPIED';
  readonly agentId: string;
  readonly ref: AttemptRef;
}

/** A task has ended or was canceled. */
export interface TaskOver {
  readonly kind: 'ENDED';
  readonly taskId: string;
  /** Its latest attempt if it has finished; left out by hubs of earlier versions. */
  readonly run?: FinishedRun | undefined;
}

/** An attempt no longer counts: its agent is to end it. */
export interface AttemptCanceled {
  readonly kind: 'CANCELED';
  readonly agentId: string;
  readonly ref: AttemptRef;
}

/** An instance no longer runs this attempt, and a claim of the instance would be accepted. */
export interface InstanceFreed {
  readonly kind: 'FREED';
  readonly agentId: string;
  readonly ref: AttemptRef;
  /** Whether its cooldown begins. */
  readonly coolsDown: boolean;
}

/** An agent has joined; it gets no tasks yet. */
export interface AgentJoined {
  readonly kind: 'JOINED';
  readonly agent: JoiningAgent;
  readonly running: readonly AttemptRef[];
  /** Attempts that have ended, with reports that are not acknowledged yet; undefined from hubs of earlier versions. */
  readonly spooled?: readonly AttemptRef[];
}

/** The attempts of an agent that joined have been reconciled: it may get tasks. */
export interface AgentReady {
  readonly kind: 'READY';
  readonly agentId: string;
}

/** An agent has joined another hub: its connection to this one no longer counts. Only the hub with the connection hears it. */
export interface AgentReplaced {
  readonly kind: 'REPLACED';
  readonly agentId: string;
}

/** An instance of a joined agent has changed its status. */
export interface InstanceChanged {
  readonly kind: 'INSTANCE';
  readonly agentId: string;
  readonly report: StartedInstance;
}

/** An agent is disconnected. */
export interface AgentLeft {
  readonly kind: 'LEFT';
  readonly agentId: string;
}

/** An agent has returned a task for a host fault, and does not get it again for a while. */
export interface AgentExcluded extends TaskExclusion {
  readonly kind: 'EXCLUDED';
}

/** Drains of agents have changed. */
export interface DrainsChanged {
  readonly kind: 'DRAINS';
}

/** A shutdown preparation was initiated or ended. */
export interface PreparationChanged {
  readonly kind: 'PREPARATION';
}

/** This hub has become the only live one of the store, or is so no more. Only this hub hears it. */
export interface HubsChanged {
  readonly kind: 'HUBS';
}

/** Signals may have been lost: what was known from them is to be read again. */
export interface Resync {
  readonly kind: 'RESYNC';
}

/** This hub has not reached the store for so long that its agents had better join another one. Only this hub hears it. */
export interface HubCutOff {
  readonly kind: 'CUT_OFF';
}

export type Signal =
  | TasksWait
  | TaskReturned
  | TaskWithdrawn
  | TaskAssigned
  | InstanceOccupied
  | TaskOver
  | TasksChanged
  | AttemptCanceled
  | InstanceFreed
  | AgentJoined
  | AgentReady
  | AgentReplaced
  | InstanceChanged
  | AgentLeft
  | AgentExcluded
  | DrainsChanged
  | PreparationChanged
  | HubCutOff
  | HubsChanged
  | Resync;

/** Handlers of signals. A handler acts in memory, and does not throw. */
export type SignalListener = {
  readonly [Kind in Signal['kind']]?: (signal: Extract<Signal, { readonly kind: Kind }>) => void;
};

export interface Signals {
  /** Tells all hubs, this one included. Never throws, and does not wait. */
  tell(signal: Signal): void;
  /** Adds a listener; of one hub, each signal reaches listeners in the order in which they were added. Returns its removal. */
  hear(listener: SignalListener): () => void;
  /** Resolves when this hub has heard what other hubs have sent before, and what it told itself has been sent; at once when it has its
   *  store alone, and in any case after {@link CATCH_UP_LIMIT_MS}. Never rejects. */
  caughtUp(): Promise<void>;
}

/** Time after which a hub goes on with what it knows, such as while its database is away. */
export const CATCH_UP_LIMIT_MS = 2000;
