/** Presentation of tasks under `/api/x`. */
import type { Requirement } from '@workbench-hub/shared/domain/classifier';
import { offsetTimestamp } from '@workbench-hub/shared/domain/timestamp';
import { shownAgentId } from '../../../core/own-agent.js';
import type { Delivery } from '../../../core/ports/webhook-deliveries.js';
import type { ExecutingInstance, Loan, Task } from '../../../core/task.js';
import { describeState } from '../../../core/task-message.js';
import type { WaitReason } from '../../../core/wait-reason.js';
import { originOf } from '../../../core/webhook-addresses.js';
import type { AttemptDetails, InputFile, TaskDetails } from '../../../engine/tasks/task-details.js';
import { presentTexts } from '../common/task-fields.js';
import { presentCounts } from './fitting-instances.js';

/** `wait` is why it waits; null when it does not. */
export function presentTaskItem(task: Task, wait: WaitReason | null) {
  const message = wait?.message ?? (task.status === 'CANCELED' ? describeState(task) : task.message);
  return {
    id: task.id,
    type: task.type,
    ...presentTexts(task),
    priority: task.priority,
    classifiers: task.classifiers,
    status: task.status,
    ...(message === null ? {} : { message }),
    ...(wait === null ? {} : { waitReason: presentWait(wait) }),
    requestedAt: offsetTimestamp(task.requestedAtMs),
    ...presentPeriod(task),
    attempt: task.attempt,
    ...(task.instance === null ? {} : { instance: presentInstance(task.instance) }),
    ...(task.batchExecutionStatus === null ? {} : { batchExecutionStatus: task.batchExecutionStatus }),
    ...(task.loan === null ? {} : { loan: presentLoan(task.loan) }),
    ...(task.study === null ? {} : { study: task.study }),
  };
}

function presentLoan({ upstream, origin: { hub, user }, ref: { taskId } }: Loan) {
  return { upstream, hub, ...(user === null ? {} : { user }), taskId };
}

/** `mayChange`: whether the caller may change the task, and so sees the address that it names, which may hold a secret. */
export function presentTaskDetails(
  { task, job, attempts, files, notify, deliveries }: TaskDetails,
  inputs: readonly InputFile[],
  { wait, mayChange }: { readonly wait: WaitReason | null; readonly mayChange: boolean },
) {
  const model = job.type === 'EXECUTE_BATCH_JOB' ? job.model : null;
  const { storedFiles = [], log = null, outputFiles = [] } = files ?? {};
  return {
    ...presentTaskItem(task, wait),
    requirement: presentRequirement(task.requirement),
    ...(task.timeLimitS === null ? {} : { timeLimit: task.timeLimitS }),
    ...(job.type === 'SIMULATE_WORK' ? { duration: job.durationS } : {}),
    ...(model?.kind === 'LOCAL_FILESYSTEM'
      ? { hostModel: { path: model.pathToFile, copied: model.copyToWorkingDirectory } }
      : {}),
    inputs: inputs.map(presentInput),
    variables: job.type === 'SIMULATE_WORK' ? [] : job.variables,
    ...(job.type === 'EXECUTE_BATCH_JOB' && job.points ? { points: job.points } : {}),
    attempts: attempts.map(presentAttempt),
    ...(files === null ? {} : { outputs: presentOutputs(outputFiles) }),
    ...(storedFiles.length === 0
      ? {}
      : { storedFiles: storedFiles.map(({ name, sizeBytes }) => ({ name, size: sizeBytes })) }),
    ...(log === null ? {} : { log: { size: log.sizeBytes, digest: log.digest } }),
    ...(notify === null ? {} : { notify: mayChange ? notify.url : originOf(notify.receiver) }),
    ...(deliveries.length === 0 ? {} : { webhooks: deliveries.map(presentDelivery) }),
  };
}

function presentRequirement({ version, labels, modelType }: Requirement) {
  return { version, labels, ...(modelType === undefined ? {} : { modelType }) };
}

function presentWait({ verdict, facts }: WaitReason) {
  const { unsatisfied, satisfyingAll, fitting, kinds, recipes } = facts;
  const instances = { satisfyingAll, ...presentCounts(fitting) };
  return {
    ...{ verdict, unsatisfied, instances },
    ...(kinds.length === 0 ? {} : { kinds }),
    ...(recipes.length === 0 ? {} : { recipes }),
  };
}

export function presentInput({ kind, path, filename, ref }: InputFile) {
  return {
    kind,
    path,
    ...(filename === null ? {} : { filename }),
    size: ref.sizeBytes,
    digest: ref.digest,
  };
}

/** Sorted by path. */
export function presentOutputs(
  files: readonly { readonly path: string; readonly sizeBytes: number; readonly digest: string }[],
) {
  return [...files]
    .sort((a, b) => (a.path < b.path ? -1 : 1))
    .map(({ path, sizeBytes, digest }) => ({ path, size: sizeBytes, digest }));
}

function presentAttempt({ attempt, instance, outcome, reason, ...times }: AttemptDetails) {
  return {
    attempt,
    instance: presentInstance(instance),
    ...presentPeriod(times),
    outcome,
    ...(reason === null ? {} : { reason }),
  };
}

export function presentDelivery({ hook, receiver, state, tries, nextAtMs, endedAtMs, fault }: Delivery) {
  return {
    ...(hook === null ? {} : { name: hook }),
    receiver: originOf(receiver),
    state,
    tries,
    ...(nextAtMs === null ? {} : { nextTryAt: offsetTimestamp(nextAtMs) }),
    ...(endedAtMs === null ? {} : { endedAt: offsetTimestamp(endedAtMs) }),
    ...(fault === null ? {} : { fault }),
  };
}

function presentInstance({ id, version, revision, agentId: holder }: ExecutingInstance) {
  const agentId = shownAgentId(holder);
  return { id, version, revision, ...(agentId === undefined ? {} : { agentId }) };
}

function presentPeriod({ startedAtMs, endedAtMs }: Pick<Task, 'startedAtMs' | 'endedAtMs'>) {
  return {
    ...(startedAtMs === null ? {} : { startedAt: offsetTimestamp(startedAtMs) }),
    ...(endedAtMs === null ? {} : { endedAt: offsetTimestamp(endedAtMs) }),
  };
}
