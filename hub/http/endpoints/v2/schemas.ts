/** Schemas of requests and responses in API version 2.x. `openapi.json` is generated from them. */
import { CLASSIFIER_TYPES } from '@workbench-hub/shared/domain/classifier';
import { AGENT_STATUSES, INSTANCE_STATUSES, LENT_STATES } from '@workbench-hub/shared/domain/instance';
import { PRIORITIES } from '@workbench-hub/shared/domain/priority';
import { BATCH_EXECUTION_STATUSES, TASK_STATUSES, TASK_TYPES } from '@workbench-hub/shared/domain/task';
import { z } from 'zod';
import { base64 } from '../../requests/parsing/request-schemas.js';
import {
  enumeration,
  pageQuery,
  queryBoolean,
  queryList,
  queryPattern,
} from '../../requests/parsing/validation.js';
import { pageSchema } from '../../routing/responses/page.js';
import { shown, shownDefault } from '../../wire/openapi-overrides.js';
import { jobKindSchema } from '../common/job-kind-schemas.js';
import { commonFilterFields, textFields } from '../common/task-fields.js';

const EXAMPLE_ID = '019aa4f2-6d3c-7c41-9f0e-5b2f6f1d2a77';

const id = z.string().meta({ description: 'Identifier of the task.', example: EXAMPLE_ID });
const timestamp = (description: string) =>
  z
    .string()
    .meta({ description: `${description} Local time of the hub.`, example: '2026-11-21T06:53:00.123' });
const requestedDatetime = timestamp('When the request was received.');
const startedDatetime = timestamp('When execution began; absent before.').optional();
const endedDatetime = timestamp('When execution ended; absent before.').optional();
const taskStatus = z.enum(TASK_STATUSES).meta({ description: 'Status of the task.', example: 'RUNNING' });

export const creationResponse = z
  .object({ status: taskStatus, id, requestedDatetime })
  .meta({ id: 'CreationResponse' });

const executingWorkbench = z
  .object({ id: z.string(), version: z.string(), revision: z.string() })
  .meta({ id: 'ExecutingWorkbench', description: 'The instance that ran the task; absent before it began.' });

export const simulateWorkResult = z
  .object({
    status: taskStatus,
    id,
    message: z.string().meta({ description: 'The state of the task in words; while it waits, also why.' }),
    executingWorkbench: executingWorkbench.optional(),
    requestedDatetime,
    startedDatetime,
    endedDatetime,
  })
  .meta({ id: 'SimulateWorkResult' });

const outputFile = z
  .object({
    directory: z
      .string()
      .optional()
      .meta({ description: 'Folder of the file; absent at the top.', example: 'plots' }),
    filename: z.string().meta({ example: 'motion.csv' }),
    content: base64,
  })
  .meta({ id: 'OutputFile' });

export const executeBatchJobResult = z
  .object({
    status: taskStatus,
    id,
    batchExecutionStatus: z
      .enum(BATCH_EXECUTION_STATUSES)
      .optional()
      .meta({ description: 'How the scripts ended; absent when they could not be run.' }),
    message: z
      .string()
      .optional()
      .meta({ description: 'Why the task waits, failed or was canceled; absent otherwise.' }),
    executingWorkbench: executingWorkbench.optional(),
    requestedDatetime,
    startedDatetime,
    endedDatetime,
    outputFiles: z
      .array(outputFile)
      .optional()
      .meta({ description: 'Files that the scripts produced, sorted by path; absent before the end.' }),
    storedFiles: z
      .array(
        z.object({
          name: z.string().meta({ example: `${EXAMPLE_ID}-motion.csv` }),
          size: z.int().min(0).meta({ description: 'Bytes.', example: 10_485_760 }),
        }),
      )
      .optional()
      .meta({
        description:
          'Files that the scripts put into WORKBENCH_OUTPUT_STORAGE, to be downloaded from the output storage under these ' +
          'names until they expire; absent when there are none.',
      }),
  })
  .meta({ id: 'ExecuteBatchJobResult' });

export const taskSchema = z
  .object({
    id,
    type: z.enum(TASK_TYPES),
    ...textFields,
    priority: z.enum(PRIORITIES),
    classifiers: z.array(z.object({ type: z.enum(CLASSIFIER_TYPES), value: z.string() })),
    requestedDatetime,
    startedDatetime,
    endedDatetime,
    status: taskStatus,
    message: z.string().optional().meta({
      description: 'Why the task waits; absent otherwise.',
      example: 'The task waits for a workbench instance. 2 fitting instances are busy.',
    }),
  })
  .meta({ id: 'Task' });

export const taskPage = pageSchema(taskSchema, 'TaskPage');

export const taskListQuery = z.object({
  ...pageQuery,
  ...commonFilterFields,
});

export const cancelQuery = z.object({
  force: queryBoolean()
    .default(false)
    .meta({
      description: 'Also end a running task, on its instance.',
      example: false,
      override: shownDefault(false),
    }),
});

export const instanceSchema = z
  .object({
    id: z.string().meta({ example: 'sim-1' }),
    version: z.string().meta({ example: '9.1.0' }),
    revision: z.string().meta({ example: '4711' }),
    labels: z.array(z.string()).meta({ example: ['gears', 'linux'] }),
    agentId: z.string().optional().meta({
      description: "The agent that holds the instance; absent for an instance of the hub's own machine.",
      example: 'sim-host-1',
    }),
    runs: jobKindSchema.optional().meta({
      description:
        'What its program says that it runs; absent when it does not say, and before it has been up.',
    }),
    status: z.enum(INSTANCE_STATUSES),
    startedDatetime: timestamp(
      'When the instance process became ready; absent when it is not up.',
    ).optional(),
    working: z.boolean().meta({ description: 'True while the instance processes a task.' }),
    lent: z
      .enum(LENT_STATES)
      .optional()
      .meta({
        description:
          'Only of an instance that a joined hub lends, or that this hub lends for good. OFFERED: it takes tasks of this hub, or works on ' +
          'one. IN_USE: it works for its own hub. KEPT: it takes no task of this hub at present.',
      }),
  })
  .meta({ id: 'WorkbenchInstance' });

export const instancePage = pageSchema(instanceSchema, 'WorkbenchInstancePage');

export const instanceListQuery = z.object({
  ...pageQuery,
  id: queryPattern().optional().meta({ description: 'Whole identifier, with the wildcards * and ?.' }),
  version: queryPattern()
    .optional()
    .meta({ description: 'Whole version, with the wildcards * and ?.', example: '9.*' }),
  labels: queryList(z.string())
    .default([])
    .meta({
      description: 'All of these, without case.',
      override: shown({ type: 'array', items: { type: 'string' } }),
    }),
  status: queryList(enumeration(INSTANCE_STATUSES))
    .default([])
    .meta({
      description: 'Any of these.',
      override: shown({ type: 'array', items: { type: 'string', enum: [...INSTANCE_STATUSES] } }),
    }),
  working: queryBoolean().optional(),
});

export const agentSchema = z
  .object({
    id: z.string().meta({ example: 'sim-host-1' }),
    version: z.string(),
    revision: z.string(),
    instances: z.array(instanceSchema.omit({ startedDatetime: true })),
    status: z.enum(AGENT_STATUSES),
  })
  .meta({ id: 'Agent' });

export const agentPage = pageSchema(agentSchema, 'AgentPage');

export const agentListQuery = z.object({
  ...pageQuery,
  id: queryPattern().optional().meta({ description: 'Whole identifier, with the wildcards * and ?.' }),
  version: queryPattern().optional().meta({ description: 'Whole version, with the wildcards * and ?.' }),
  status: queryList(enumeration(AGENT_STATUSES))
    .default([])
    .meta({ override: shown({ type: 'array', items: { type: 'string', enum: [...AGENT_STATUSES] } }) }),
});
