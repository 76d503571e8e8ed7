/** Requests and answers of the 2.x interface. `openapi.json` is made of these. */
import { CLASSIFIER_TYPES } from '@workbench-hub/shared/domain/classifier';
import { AGENT_STATUSES, INSTANCE_STATUSES } from '@workbench-hub/shared/domain/instance';
import { PRIORITIES } from '@workbench-hub/shared/domain/priority';
import { BATCH_EXECUTION_STATUSES, TASK_STATUSES, TASK_TYPES } from '@workbench-hub/shared/domain/task';
import { z } from 'zod';
import { pageSchema } from '../page.js';
import { shown, shownDefault, shownWithoutNull } from '../shown.js';
import { enumeration, pageQuery, queryBoolean, queryInteger, queryList, queryText } from '../validation.js';

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

export const idParams = z.object({ id: z.string() });

const classifierType = z
  .string({ error: `must be one of ${CLASSIFIER_TYPES.join(', ')}` })
  .transform((text) => text.trim().toUpperCase())
  .transform((type) => (type === 'LABELS' ? 'LABLES' : type))
  .pipe(z.enum(CLASSIFIER_TYPES, { error: `must be one of ${CLASSIFIER_TYPES.join(', ')}` }))
  .meta({
    description: 'VERSION (wildcards * and ?), PRIORITY, or LABLES (comma-separated; LABELS is understood).',
    example: 'VERSION',
    override: shown({ type: 'string', enum: [...CLASSIFIER_TYPES] }),
  });

const classifierSchema = z
  .object({
    type: classifierType,
    value: z.string().max(10_000).meta({ description: 'What is asked for.', example: '9.*' }),
  })
  .meta({ id: 'Classifier' });

export const classifiersSchema = z
  .array(classifierSchema)
  .max(100)
  .nullish()
  .meta({ description: 'What the workbench instance must offer.', override: shownWithoutNull });

const requestHead = {
  name: z
    .string()
    .max(1000)
    .nullish()
    .meta({ description: 'Label for the task.', example: 'run 7', override: shownWithoutNull }),
  classifiers: classifiersSchema,
  timeLimit: z.int().min(1).nullish().meta({
    description: 'A longer run is ended and the task FAILED, in seconds.',
    example: 3600,
    override: shownWithoutNull,
  }),
};

export const simulateWorkRequest = z
  .object({
    ...requestHead,
    duration: z
      .int()
      .min(0)
      .max(2_592_000)
      .meta({ description: 'How long the simulated job takes, in seconds.', example: 5 }),
  })
  .meta({ id: 'SimulateWorkRequest' });
export type SimulateWorkRequest = z.output<typeof simulateWorkRequest>;

const base64 = z.string().meta({ format: 'byte', description: 'Base64 (RFC 4648 section 4, with padding).' });

const modelTypeSchema = z
  .string()
  .transform((text) => text.trim().toUpperCase())
  .pipe(
    z
      .string()
      .regex(/^[A-Z0-9]{1,16}$/, { error: 'must be WBPZ or another name of 1 to 16 letters and digits' }),
  )
  .meta({
    description: 'WBPZ, MJCF, INP, …: staged as model.<type>.',
    example: 'MJCF',
    override: shown({ type: 'string', pattern: '^[A-Za-z0-9]{1,16}$' }),
  });

const modelReferenceSchema = z.object({
  type: enumeration(['LOCAL_FILESYSTEM', 'INPUT_STORAGE']),
  parameters: z.array(z.object({ key: z.string(), value: z.string() })).max(100),
});

export const executeBatchJobRequest = z
  .object({
    ...requestHead,
    inputModel: z.object({ type: modelTypeSchema, content: base64 }).nullish().meta({
      description: 'The model to load; excludes inputModelReference.',
      override: shownWithoutNull,
    }),
    inputModelReference: modelReferenceSchema.nullish().meta({
      description: 'A model that the simulation host can read itself.',
      override: shownWithoutNull,
    }),
    inputScripts: z
      .array(z.object({ content: base64 }))
      .min(1)
      .max(1000)
      .meta({ description: 'Scripts to run, one after the other.' }),
    additionalFiles: z
      .array(
        z.object({
          filename: z
            .string()
            .meta({ description: 'Relative path with "/", by which scripts read the file.' }),
          content: base64,
        }),
      )
      .max(10_000)
      .nullish()
      .meta({ description: 'Files that the scripts can read.', override: shownWithoutNull }),
    variablesToInject: z
      .array(z.object({ key: z.string(), value: z.string() }))
      .max(10_000)
      .nullish()
      .meta({ description: 'Variables that the scripts can read.', override: shownWithoutNull }),
  })
  .meta({ id: 'ExecuteBatchJobRequest' });
export type ExecuteBatchJobRequest = z.output<typeof executeBatchJobRequest>;

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
    message: z.string().meta({ description: 'The state of the task in words.' }),
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
    message: z.string().optional().meta({ description: 'Why a FAILED task failed.' }),
    executingWorkbench: executingWorkbench.optional(),
    requestedDatetime,
    startedDatetime,
    endedDatetime,
    outputFiles: z
      .array(outputFile)
      .optional()
      .meta({ description: 'Files that the scripts produced, sorted by path; absent before the end.' }),
  })
  .meta({ id: 'ExecuteBatchJobResult' });

export const resultQuery = z.object({
  timeout: queryInteger({ minimum: 0, maximum: 86_400 })
    .default(0)
    .meta({
      description: 'How long to wait for the end of the task, in seconds.',
      example: 30,
      override: shownDefault(0),
    }),
});

export const taskSchema = z
  .object({
    id,
    type: z.enum(TASK_TYPES),
    name: z.string().optional(),
    priority: z.enum(PRIORITIES),
    creator: z.string().optional().meta({ description: 'Present when security is enabled.' }),
    classifiers: z.array(z.object({ type: z.enum(CLASSIFIER_TYPES), value: z.string() })),
    requestedDatetime,
    startedDatetime,
    endedDatetime,
    status: taskStatus,
  })
  .meta({ id: 'Task' });

export const taskPage = pageSchema(taskSchema, 'TaskPage');

export const taskListQuery = z.object({
  ...pageQuery,
  id: queryText().optional().meta({ description: 'Whole identifier, with the wildcards * and ?.' }),
  type: enumeration(TASK_TYPES).optional(),
  name: queryText().optional().meta({ description: 'Whole name, with the wildcards * and ?, without case.' }),
  priority: enumeration(PRIORITIES).optional(),
  creator: queryText().optional().meta({ description: 'Whole user name, with the wildcards * and ?.' }),
  status: queryList(enumeration(TASK_STATUSES))
    .default([])
    .meta({
      description: 'Any of these.',
      override: shown({ type: 'array', items: { type: 'string', enum: [...TASK_STATUSES] } }),
    }),
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
    agentId: z
      .string()
      .optional()
      .meta({ description: 'The agent that holds the instance.', example: 'sim-host-1' }),
    status: z.enum(INSTANCE_STATUSES),
    startedDatetime: timestamp(
      'When the instance process became ready; absent when it is not up.',
    ).optional(),
    working: z.boolean().meta({ description: 'True while the instance processes a task.' }),
  })
  .meta({ id: 'WorkbenchInstance' });

export const instancePage = pageSchema(instanceSchema, 'WorkbenchInstancePage');

export const instanceListQuery = z.object({
  ...pageQuery,
  id: queryText().optional().meta({ description: 'Whole identifier, with the wildcards * and ?.' }),
  version: queryText()
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
  id: queryText().optional().meta({ description: 'Whole identifier, with the wildcards * and ?.' }),
  version: queryText().optional().meta({ description: 'Whole version, with the wildcards * and ?.' }),
  status: queryList(enumeration(AGENT_STATUSES))
    .default([])
    .meta({ override: shown({ type: 'array', items: { type: 'string', enum: [...AGENT_STATUSES] } }) }),
});
