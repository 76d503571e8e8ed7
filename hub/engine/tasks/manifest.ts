/** The content of a manifest. Its fields are in this order in what is signed. */

import type { Variable } from '@workbench-hub/shared/domain/job';
import { byPath } from '@workbench-hub/shared/domain/relative-path';
import { shownAgentId } from '../../core/own-agent.js';
import type { ExecutingInstance, Loan, Task } from '../../core/task.js';
import { describeState } from '../../core/task-message.js';
import type { AttemptDetails, InputFile, TaskDetails } from './task-details.js';

export const MANIFEST_FORMAT = 'workbench-hub-manifest';
export const MANIFEST_VERSION = 1;

/** Hub that signs. */
export interface SigningHub {
  /** Identity, the same for all hubs on one database. */
  readonly id: string;
  /** Public address; null without one. */
  readonly baseUrl: string | null;
}

export type Manifest = ReturnType<typeof manifestOf>;

/** The manifest of an ended task. */
export function manifestOf(
  { task, job, attempts, files }: TaskDetails,
  inputs: readonly InputFile[],
  hub: SigningHub,
) {
  const { outputFiles = [], log = null, storedFiles = [] } = files ?? {};
  const model = job.type === 'EXECUTE_BATCH_JOB' ? job.model : null;
  return {
    format: MANIFEST_FORMAT,
    version: MANIFEST_VERSION,
    hub: { id: hub.id, ...optional('address', hub.baseUrl) },
    task: taskOf(task),
    ...(job.type === 'SIMULATE_WORK' ? { duration: job.durationS } : {}),
    ...(model?.kind === 'LOCAL_FILESYSTEM'
      ? { hostModel: { path: model.pathToFile, copied: model.copyToWorkingDirectory } }
      : {}),
    inputs: inputs.map(({ kind, path, filename, ref }) => {
      return { kind, path, ...optional('filename', filename), ...fileOf(ref) };
    }),
    variables: job.type === 'SIMULATE_WORK' ? [] : namedValues(job.variables),
    ...(job.type === 'EXECUTE_BATCH_JOB' && job.points
      ? { points: job.points.map(({ number, variables }) => ({ number, variables: namedValues(variables) })) }
      : {}),
    ...(task.instance === null ? {} : { instance: instanceOf(task.instance) }),
    attempts: attempts.map(attemptOf),
    outputs: [...outputFiles].sort(byPath).map(({ path, ...ref }) => ({ path, ...fileOf(ref) })),
    ...(log === null ? {} : { log: fileOf(log) }),
    storedFiles: storedFiles.map(({ name, sizeBytes }) => ({ name, size: sizeBytes })),
  };
}

function namedValues(variables: readonly Variable[]): Variable[] {
  return variables.map(({ key, value }) => ({ key, value }));
}

function taskOf(task: Task) {
  const { requirement, classifiers, loan, study } = task;
  return {
    id: task.id,
    type: task.type,
    ...optional('name', task.name),
    ...optional('note', task.note),
    ...optional('creator', task.creator),
    ...(loan === null ? {} : { loan: loanOf(loan) }),
    ...(study === null ? {} : { study: { id: study.id, point: study.point } }),
    priority: task.priority,
    classifiers: classifiers.map(({ type, value }) => ({ type, value })),
    requirement: {
      version: requirement.version,
      labels: [...requirement.labels],
      ...(requirement.modelType === undefined ? {} : { modelType: requirement.modelType }),
    },
    ...optional('timeLimit', task.timeLimitS),
    status: task.status,
    ...optional('batchExecutionStatus', task.batchExecutionStatus),
    ...optional('message', task.status === 'CANCELED' ? describeState(task) : task.message),
    requestedAt: timestamp(task.requestedAtMs),
    ...periodOf(task),
  };
}

function loanOf({ upstream, origin: { hub, user }, ref: { taskId } }: Loan) {
  return { upstream, hub, ...optional('user', user), taskId };
}

function attemptOf({ attempt, instance, outcome, reason, ...times }: AttemptDetails) {
  return {
    attempt,
    instance: instanceOf(instance),
    ...periodOf(times),
    outcome,
    ...optional('reason', reason),
  };
}

function instanceOf({ id, version, revision, agentId }: ExecutingInstance) {
  return { id, version, revision, ...optional('agentId', shownAgentId(agentId) ?? null) };
}

function fileOf({ sizeBytes, digest }: { readonly sizeBytes: number; readonly digest: string }) {
  return { size: sizeBytes, digest };
}

function periodOf({ startedAtMs, endedAtMs }: Pick<Task, 'startedAtMs' | 'endedAtMs'>) {
  return {
    ...(startedAtMs === null ? {} : { startedAt: timestamp(startedAtMs) }),
    ...(endedAtMs === null ? {} : { endedAt: timestamp(endedAtMs) }),
  };
}

/** UTC: the time zone of a hub must not change what is signed. */
function timestamp(timeMs: number): string {
  return new Date(timeMs).toISOString();
}

/** The field, unless it has no value. */
function optional<Name extends string, Value>(
  name: Name,
  value: Value | null,
): { readonly [name in Name]?: Value } {
  return value === null ? {} : ({ [name]: value } as { readonly [name in Name]?: Value });
}
