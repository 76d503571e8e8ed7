/** What the parts of the hub tell of their work, for whoever watches the hub. None of these waits, and none throws. */
import type { Priority } from '@workbench-hub/shared/domain/priority';
import type { TaskStatus, TaskType } from '@workbench-hub/shared/domain/task';
import type { LossKind } from '../report-consequences.js';

export interface TaskMetrics {
  created(type: TaskType): void;
  /** A task begins for the first time, so long after its request. */
  began(priority: Priority, waitedMs: number): void;
  /** `ranMs` is how long its last attempt took, null when it was canceled. */
  ended(type: TaskType, status: TaskStatus, ranMs: number | null): void;
  /** An attempt came to nothing, whether or not the task is given out again. */
  attemptLost(cause: LossKind): void;
  /** The connection of an agent that had joined has ended. */
  agentLeft(): void;
}

export interface StoreMetrics {
  /** A transaction of so many operations was written, and is not synced yet. */
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
  /** Tells of requests to one endpoint, which is named as in the description of the interface: `task/{id}`. */
  ofRoute(method: string, route: string): RouteMetrics;
}

export interface RouteMetrics {
  /** `durationMs` is null for an answer that the client wanted to come late. */
  answered(status: number, durationMs: number | null): void;
}

export interface LoginMetrics {
  /** A wrong name or password; THROTTLED: none was looked at, since there had been too many. */
  failed(reason: 'REFUSED' | 'THROTTLED'): void;
}

const ignore = () => undefined;

/** Nobody watches. */
export const NO_TASK_METRICS: TaskMetrics = {
  created: ignore,
  began: ignore,
  ended: ignore,
  attemptLost: ignore,
  agentLeft: ignore,
};
