/** Domain records as the 1.x interfaces show them: the fields of the generation and no other, since strict clients refuse
 *  what they do not know (contract 1.7). */
import { localTimestamp } from '@workbench-hub/shared/domain/timestamp';
import type { Task } from '../../core/task.js';
import { describeState } from '../../core/task-message.js';
import type { AgentView, InstanceView } from '../../engine/instances.js';

export type ApiVersion = '1.0' | '1.1';

export function presentTask({ id, type, priority, requestedAtMs, startedAtMs, status }: Task) {
  return {
    id,
    type,
    priority,
    requestedDatetime: localTimestamp(requestedAtMs),
    ...(startedAtMs === null ? {} : { startedDatetime: localTimestamp(startedAtMs) }),
    status,
  };
}

export function presentCreation({ status, id }: Task) {
  return { status, id };
}

export function presentSimulateWorkResult(task: Task, generation: ApiVersion) {
  const { status, id } = task;
  return { status, id, message: describeState(task), ...presentExecutingWorkbench(task, generation) };
}

/** Without the output files, which are written into the answer as they are read. */
export function presentBatchJobResult(task: Task, generation: ApiVersion) {
  const { status, id, batchExecutionStatus } = task;
  return {
    status,
    id,
    ...(batchExecutionStatus === null ? {} : { batchExecutionStatus }),
    ...presentExecutingWorkbench(task, generation),
  };
}

export function presentInstance({ profile, agentId, status, working }: InstanceView, generation: ApiVersion) {
  const { id, version, revision, labels } = profile;
  return {
    id,
    version,
    ...(generation === '1.1' ? { revision } : {}),
    labels,
    serverId: agentId,
    status,
    working,
  };
}

/** A connected server is what 2.x calls an agent; its base address is that of its host, as far as it is known. */
export function presentServer(
  { id, version, address, instances, status }: AgentView,
  generation: ApiVersion,
) {
  return {
    id,
    version,
    baseUrl: address === null ? '' : `http://${address.includes(':') ? `[${address}]` : address}`,
    instances: instances.map((instance) => presentInstance(instance, generation)),
    status,
  };
}

/** 1.1 shows version and revision of the instance, without its id. */
function presentExecutingWorkbench({ instance, startedAtMs }: Task, generation: ApiVersion) {
  if (generation === '1.0' || !instance || startedAtMs === null) return {};
  return { executingWorkbench: { version: instance.version, revision: instance.revision } };
}
