/** A new task of a request. */
import {
  type Classifier,
  classify,
  type Requirement,
  withModelType,
} from '@workbench-hub/shared/domain/classifier';
import { type Job, modelTypeOf } from '@workbench-hub/shared/domain/job';
import { nextState } from '@workbench-hub/shared/domain/state-machine';
import { type NewTask, type PointRef, TASK_TRANSITIONS } from '../../core/task.js';
import { notifyAddress } from '../../core/webhook-addresses.js';

export interface TaskRequest {
  readonly name: string | null;
  readonly note?: string | null;
  readonly creator: string | null;
  readonly classifiers: readonly Classifier[];
  readonly timeLimitS: number | null;
  readonly job: Job;
  readonly requestId?: string | null;
  /** Trace context of the request; null when its trace is not kept. */
  readonly traceContext?: string | null;
  /** Fields of the request that the hub does not know, in words. */
  readonly ignoredFields?: string | null;
  /** Address that is told of the end; null or absent for none. */
  readonly notify?: string | null;
  /** Study that creates it; null or absent for none. */
  readonly study?: PointRef | null;
}

export interface NewTaskOptions {
  readonly id: string;
  readonly nowMs: number;
  readonly defaultVersion: string | null;
}

/** The task that a request without validation errors creates. */
export function newTask(request: TaskRequest, { id, nowMs, defaultVersion }: NewTaskOptions): NewTask {
  const { name, creator, classifiers, timeLimitS, job } = request;
  const { note = null, requestId = null, traceContext = null, ignoredFields = null } = request;
  const { notify = null, study = null } = request;
  const { requirement, priority } = classify(classifiers, defaultVersion);
  return {
    id,
    type: job.type,
    name,
    note,
    creator,
    classifiers: classifiers.map(({ type, value }) => ({
      type,
      value: type === 'PRIORITY' ? priority : value,
    })),
    requirement: requirementOfJob(requirement, job),
    priority,
    status: nextState(TASK_TRANSITIONS.create),
    requestedAtMs: nowMs,
    startedAtMs: null,
    endedAtMs: null,
    timeLimitS,
    attempt: 0,
    crashes: 0,
    losses: 0,
    instance: null,
    batchExecutionStatus: null,
    message: null,
    requestId,
    traceContext,
    ignoredFields,
    loan: null,
    study,
    job,
    notify: notify === null ? null : notifyAddress(notify),
  };
}

/** The requirement, with what its job needs. */
function requirementOfJob(requirement: Requirement, job: Job): Requirement {
  const needed = withModelType(requirement, modelTypeOf(job));
  return job.type === 'EXECUTE_BATCH_JOB' && job.points ? { ...needed, points: true } : needed;
}
