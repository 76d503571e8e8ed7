/** Presentation of domain records in API version 2.x. */
import { localTimestamp } from '@workbench-hub/shared/domain/timestamp';
import { shownAgentId } from '../../../core/own-agent.js';
import type { AgentView, InstanceView } from '../../../core/ports/nodes.js';
import type { NamedSize, Task } from '../../../core/task.js';
import { describeState, withIgnoredFields } from '../../../core/task-message.js';
import { presentTexts } from '../common/task-fields.js';

/** `waitMessage` is why it waits; null when it does not. */
export function presentTask(task: Task, waitMessage: string | null) {
  return {
    id: task.id,
    type: task.type,
    ...presentTexts(task),
    priority: task.priority,
    classifiers: task.classifiers,
    ...presentTimestamps(task),
    status: task.status,
    ...(waitMessage === null ? {} : { message: waitMessage }),
  };
}

export function presentCreation({ status, id, requestedAtMs }: Task) {
  return { status, id, requestedDatetime: localTimestamp(requestedAtMs) };
}

export function presentSimulateWorkResult(task: Task, waitMessage: string | null) {
  return {
    status: task.status,
    id: task.id,
    message: waitMessage ?? withIgnoredFields(task, describeState(task)),
    ...presentExecutingWorkbench(task),
    ...presentTimestamps(task),
  };
}

/** Without the output files, which are written into the response as they are read. */
export function presentBatchJobResult(
  task: Task,
  storedFiles: readonly NamedSize[],
  waitMessage: string | null,
) {
  const reason = task.status === 'CANCELED' ? describeState(task) : task.message;
  const message = waitMessage ?? withIgnoredFields(task, reason);
  return {
    status: task.status,
    id: task.id,
    ...(task.batchExecutionStatus === null ? {} : { batchExecutionStatus: task.batchExecutionStatus }),
    ...(message === null ? {} : { message }),
    ...presentExecutingWorkbench(task),
    ...presentTimestamps(task),
    ...(storedFiles.length === 0
      ? {}
      : { storedFiles: storedFiles.map(({ name, sizeBytes }) => ({ name, size: sizeBytes })) }),
  };
}

export function presentInstance(view: InstanceView) {
  const { startedAtMs } = view;
  return {
    ...presentInstanceOfAgent(view),
    ...(startedAtMs === null ? {} : { startedDatetime: localTimestamp(startedAtMs) }),
  };
}

export function presentAgent({ id, version, revision, instances, status }: AgentView) {
  return { id, version, revision, instances: instances.map(presentInstanceOfAgent), status };
}

/** An agent's instances carry no startedDatetime (contract 6.5). */
function presentInstanceOfAgent({ profile, agentId: holder, status, working, lent }: InstanceView) {
  const agentId = shownAgentId(holder);
  return {
    id: profile.id,
    version: profile.version,
    revision: profile.revision,
    labels: profile.labels,
    ...(agentId === undefined ? {} : { agentId }),
    ...(profile.runs ? { runs: profile.runs } : {}),
    status,
    working,
    ...(lent === undefined ? {} : { lent }),
  };
}

function presentTimestamps({ requestedAtMs, startedAtMs, endedAtMs }: Task) {
  return {
    requestedDatetime: localTimestamp(requestedAtMs),
    ...(startedAtMs === null ? {} : { startedDatetime: localTimestamp(startedAtMs) }),
    ...(endedAtMs === null ? {} : { endedDatetime: localTimestamp(endedAtMs) }),
  };
}

function presentExecutingWorkbench({ instance, startedAtMs }: Task) {
  if (!instance || startedAtMs === null) return {};
  const { id, version, revision } = instance;
  return { executingWorkbench: { id, version, revision } };
}
