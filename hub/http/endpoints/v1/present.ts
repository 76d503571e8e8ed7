/** Presentation of domain records in API versions 1.x: the fields of the version and no others, since strict clients reject
 *  unknown ones (contract 1.7). */
import { localTimestamp } from '@workbench-hub/shared/domain/timestamp';
import { isOwnAgentId, shownAgentId } from '../../../core/own-agent.js';
import type { AgentView, InstanceView } from '../../../core/ports/nodes.js';
import type { Task } from '../../../core/task.js';
import { describeState } from '../../../core/task-message.js';

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

export function presentSimulateWorkResult(task: Task, apiVersion: ApiVersion) {
  const { status, id } = task;
  return { status, id, message: describeState(task), ...presentExecutingWorkbench(task, apiVersion) };
}

/** Without the output files, which are written into the response as they are read. */
export function presentBatchJobResult(task: Task, apiVersion: ApiVersion) {
  const { status, id, batchExecutionStatus } = task;
  return {
    status,
    id,
    ...(batchExecutionStatus === null ? {} : { batchExecutionStatus }),
    ...presentExecutingWorkbench(task, apiVersion),
  };
}

export function presentInstance({ profile, agentId, status, working }: InstanceView, apiVersion: ApiVersion) {
  const { id, version, revision, labels } = profile;
  const serverId = shownAgentId(agentId);
  return {
    id,
    version,
    ...(apiVersion === '1.1' ? { revision } : {}),
    labels,
    ...(serverId === undefined ? {} : { serverId }),
    status,
    working,
  };
}

/** A connected server is an agent of 2.x, or the hub with its own instances. The base address is that of a joined hub, else that of its
 *  host, if known. */
export function presentServer(
  { id, version, address, hub, instances, status }: AgentView,
  apiVersion: ApiVersion,
  hubUrl: string,
) {
  return {
    id,
    version,
    baseUrl: isOwnAgentId(id) ? hubUrl : (hub?.baseUrl ?? urlOf(address)),
    instances: instances.map((instance) => presentInstance(instance, apiVersion)),
    status,
  };
}

function urlOf(address: string | null): string {
  if (address === null) return '';
  return `http://${address.includes(':') ? `[${address}]` : address}`;
}

/** 1.1 shows version and revision of the instance, without its id. */
function presentExecutingWorkbench({ instance, startedAtMs }: Task, apiVersion: ApiVersion) {
  if (apiVersion === '1.0' || !instance || startedAtMs === null) return {};
  return { executingWorkbench: { version: instance.version, revision: instance.revision } };
}
