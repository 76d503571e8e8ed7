/** Metrics of the hub's parts. No method waits or throws. */
import type { Priority } from '@workbench-hub/shared/domain/priority';
import type { TaskStatus, TaskType } from '@workbench-hub/shared/domain/task';
import type { LossKind } from '../attempt-consequences.js';
import type { PointOutcome } from '../studies/study.js';

export interface TaskMetrics {
  created(type: TaskType): void;
  /** First start of a task, `waitedMs` after its request. */
  began(priority: Priority, waitedMs: number): void;
  /** `ranMs` is the duration of the last attempt, null for a canceled task. */
  ended(type: TaskType, status: TaskStatus, ranMs: number | null): void;
  /** An attempt was lost, whether or not the task is requeued. */
  attemptLost(cause: LossKind): void;
  /** The connection of a joined agent ended. */
  agentLeft(): void;
  /** An agent has gone back from the version of the hub. */
  agentWentBack(): void;
}

export interface StoreMetrics {
  /** A transaction was committed and is not synced yet. */
  written(operations: number, durationMs: number): void;
  synced(durationMs: number): void;
  /** An operation could not be written. */
  failed(): void;
}

export interface FileMetrics {
  stored(bytes: number): void;
  read(bytes: number): void;
}

export interface RequestMetrics {
  /** Metrics of one endpoint, with its path template: `task/{id}`. */
  ofRoute(method: string, route: string): RouteMetrics;
}

export interface RouteMetrics {
  /** `durationMs` is null for a deferred response. */
  answered(status: number, durationMs: number | null): void;
}

export interface LoginMetrics {
  /** REFUSED: wrong name or password. THROTTLED: not checked, after too many failures. */
  failed(reason: 'REFUSED' | 'THROTTLED'): void;
}

export interface WebhookMetrics {
  /** Outcome of one try. */
  tried(outcome: 'DELIVERED' | 'FAILED'): void;
  /** Deliveries were given up. */
  gaveUp(count: number): void;
}

export interface StudyMetrics {
  /** A point got its outcome. */
  ended(outcome: PointOutcome): void;
}

export interface HostMetrics {
  ofRecipe(recipe: string): RecipeMetrics;
}

export interface RecipeMetrics {
  /** An allocation ended before an instance of its agent was up. */
  startFailed(): void;
  /** A call of the workload manager had no answer, or one that is not understood. */
  managerFailed(): void;
}

const ignore = () => undefined;

/** Discards everything. */
export const NO_TASK_METRICS: TaskMetrics = {
  created: ignore,
  began: ignore,
  ended: ignore,
  attemptLost: ignore,
  agentLeft: ignore,
  agentWentBack: ignore,
};

/** Discards everything. */
export const NO_HOST_METRICS: HostMetrics = {
  ofRecipe: () => ({ startFailed: ignore, managerFailed: ignore }),
};

/** Discards everything. */
export const NO_STUDY_METRICS: StudyMetrics = { ended: ignore };
