/** Response schemas of API versions 1.x; the requests are those of 2.x. */
import { AGENT_STATUSES, INSTANCE_STATUSES } from '@workbench-hub/shared/domain/instance';
import { z } from 'zod';
import { pageSchema } from '../../routing/responses/page.js';
import { creationResponse, executeBatchJobResult, simulateWorkResult, taskSchema } from '../v2/schemas.js';
import type { ApiVersion } from './present.js';

/** Schemas of one version; each has its own name in the OpenAPI document. */
export function schemasOf(apiVersion: ApiVersion) {
  const suffix = apiVersion === '1.0' ? 'V10' : 'V11';
  const executingWorkbench =
    apiVersion === '1.0'
      ? {}
      : { executingWorkbench: z.object({ version: z.string(), revision: z.string() }).optional() };
  const result = simulateWorkResult.shape;
  const batchResult = executeBatchJobResult.shape;
  const task = z
    .object({
      id: taskSchema.shape.id,
      type: taskSchema.shape.type,
      priority: taskSchema.shape.priority,
      requestedDatetime: taskSchema.shape.requestedDatetime,
      startedDatetime: taskSchema.shape.startedDatetime,
      status: taskSchema.shape.status,
    })
    .meta({ id: `Task${suffix}` });
  const instance = z
    .object({
      id: z.string(),
      version: z.string(),
      ...(apiVersion === '1.1' ? { revision: z.string() } : {}),
      labels: z.array(z.string()),
      serverId: z.string().optional().meta({ description: 'The connected server that holds the instance.' }),
      status: z.enum(INSTANCE_STATUSES),
      working: z.boolean(),
    })
    .meta({ id: `WorkbenchInstance${suffix}` });
  const server = z
    .object({
      id: z.string(),
      version: z.string(),
      baseUrl: z.string().meta({ description: 'Address of the host; empty when it is not known.' }),
      instances: z.array(instance),
      status: z.enum(AGENT_STATUSES),
    })
    .meta({ id: `Server${suffix}` });

  return {
    creation: creationResponse.omit({ requestedDatetime: true }).meta({ id: `CreationResponse${suffix}` }),
    simulateWorkResult: z
      .object({
        status: result.status,
        id: result.id,
        message: z.string().meta({ description: 'The state of the task in words.' }),
        ...executingWorkbench,
      })
      .meta({ id: `SimulateWorkResult${suffix}` }),
    batchJobResult: z
      .object({
        status: batchResult.status,
        id: batchResult.id,
        batchExecutionStatus: batchResult.batchExecutionStatus,
        outputFiles: batchResult.outputFiles,
        ...executingWorkbench,
      })
      .meta({ id: `ExecuteBatchJobResult${suffix}` }),
    task,
    taskPage: pageSchema(task, `TaskPage${suffix}`),
    instance,
    instancePage: pageSchema(instance, `WorkbenchInstancePage${suffix}`),
    server,
    serverPage: pageSchema(server, `ServerPage${suffix}`),
  };
}
