/** Schemas of tasks under `/api/x`. Timestamps carry an offset. */
import { CLASSIFIER_TYPES } from '@workbench-hub/shared/domain/classifier';
import { PRIORITIES } from '@workbench-hub/shared/domain/priority';
import { BATCH_EXECUTION_STATUSES, TASK_STATUSES, TASK_TYPES } from '@workbench-hub/shared/domain/task';
import { z } from 'zod';
import { DELIVERY_STATES } from '../../../core/ports/webhook-deliveries.js';
import { CRITERION_TYPES, VERDICTS } from '../../../core/wait-reason.js';
import { kindsSchema } from '../common/job-kind-schemas.js';
import { textFields } from '../common/task-fields.js';
import { endingSchema, keptSchema, recipesSchema } from './fitting-instances.js';

const EXAMPLE_ID = '019aa4f2-6d3c-7c41-9f0e-5b2f6f1d2a77';

const time = (description: string) =>
  z.string().meta({ description, example: '2026-11-21T06:53:00.123+01:00' });

export const instanceSchema = z
  .object({
    id: z.string().meta({ example: 'sim-1' }),
    version: z.string().meta({ example: '9.1.0' }),
    revision: z.string().meta({ example: '4711' }),
    agentId: z.string().optional().meta({
      description: "Agent that holds it; absent for an instance of the hub's own machine.",
      example: 'sim-host-1',
    }),
  })
  .meta({ id: 'AttemptInstance' });

const count = z.int().min(0);

const waitReason = z
  .object({
    verdict: z.enum(VERDICTS).meta({
      description:
        'NEVER: no known instance fits. NONE_UP: all that fit are down, unreachable, kept, of drained agents, or on hosts with too little ' +
        'time. COMING: the same, but a recipe can bring hosts. BUSY: those that are up are working. SOON: one is free. PAUSED: a shutdown is ' +
        'initiated.',
    }),
    unsatisfied: z
      .array(z.object({ type: z.enum(CRITERION_TYPES), value: z.string() }))
      .meta({ description: 'Criteria that no known instance satisfies.' }),
    instances: z
      .object({
        satisfyingAll: count,
        idle: count,
        busy: count,
        kept: keptSchema,
        ending: endingSchema,
        down: count,
        unreachable: count,
        drained: count,
      })
      .meta({ description: 'Number of instances that satisfy all criteria, and of those in each state.' }),
    kinds: kindsSchema.optional(),
    recipes: recipesSchema.optional(),
  })
  .meta({ id: 'WaitReason' });

/** Requirement of a task. */
export const requirementSchema = z
  .object({
    version: z.string().nullable(),
    labels: z.array(z.string()),
    modelType: z
      .string()
      .optional()
      .meta({ description: 'Type of the model; absent without one.', example: 'MJCF' }),
  })
  .meta({
    description:
      'Version (null for any) and labels that an instance must have, and the models that it must read.',
  });

export const taskFields = {
  id: z.string().meta({ description: 'Identifier of the task.', example: EXAMPLE_ID }),
  type: z.enum(TASK_TYPES),
  ...textFields,
  priority: z.enum(PRIORITIES),
  classifiers: z.array(z.object({ type: z.enum(CLASSIFIER_TYPES), value: z.string() })),
  loan: z
    .object({
      upstream: z
        .string()
        .meta({ description: 'Name of the hub for which it runs.', example: 'headquarters' }),
      hub: z
        .string()
        .meta({ description: 'Hub that it was handed in to.', example: 'https://hub.example.com' }),
      user: z.string().optional().meta({ description: 'Its creator there.', example: 'anna' }),
      taskId: z.string().meta({ description: 'Its id at the upstream.' }),
    })
    .optional()
    .meta({ description: 'Only of a task that this hub runs for another one.' }),
  study: z
    .object({
      id: z.string().meta({ description: 'Id of the study, which may be deleted.', example: EXAMPLE_ID }),
      point: z.int().meta({ description: 'Number of the point.', example: 17 }),
    })
    .optional()
    .meta({ description: 'Only of a task that is the try of a point of a study.' }),
  status: z.enum(TASK_STATUSES),
  message: z.string().optional().meta({
    description: 'Why the task waits, failed or was canceled; absent otherwise.',
    example: 'The task waits for a workbench instance. 2 fitting instances are busy.',
  }),
  waitReason: waitReason
    .optional()
    .meta({ description: 'Why the task waits, as data; absent when it does not wait.' }),
  requestedAt: time('When the request was received.'),
  startedAt: time('When the latest attempt began; absent while the task waits.').optional(),
  endedAt: time('When the task ended; absent before.').optional(),
  attempt: z.int().meta({ description: 'Number of the latest attempt; 0 before the first.', example: 1 }),
  instance: instanceSchema
    .optional()
    .meta({ description: 'Instance of the latest attempt, while it counts.' }),
  batchExecutionStatus: z
    .enum(BATCH_EXECUTION_STATUSES)
    .optional()
    .meta({ description: 'How the scripts ended; absent when they could not be run.' }),
};

export const taskItem = z.object(taskFields).meta({ id: 'TaskItem' });

const size = z.int().min(0).meta({ description: 'Bytes.', example: 10_485_760 });
const digest = z
  .string()
  .meta({ description: 'SHA-256 of the content, in hexadecimal: the entity tag of its download.' });

export const attemptSchema = z
  .object({
    attempt: z.int().meta({ description: 'Counted from 1.', example: 1 }),
    instance: instanceSchema,
    startedAt: time('When it began.').optional(),
    endedAt: time('When it ended; absent while it runs.').optional(),
    outcome: z
      .enum(['RUNNING', 'FINISHED', 'FAILED', 'CANCELED', 'CRASH', 'LOSS', 'HOST_FAULT', 'RETURN'])
      .meta({
        description:
          'CRASH: the instance program died. LOSS: the agent was lost. HOST_FAULT: returned for a fault of the host. ' +
          'RETURN: returned before it could end.',
      }),
    reason: z.string().optional().meta({ description: 'Why it was lost, returned or failed.' }),
  })
  .meta({ id: 'TaskAttempt' });

export const inputFile = z
  .object({
    kind: z.enum(['MODEL', 'SCRIPT', 'ADDITIONAL_FILE']),
    path: z.string().meta({
      description: 'Path for its download: `model/…`, `scripts/1` and so on, `files/…`.',
      example: 'scripts/1',
    }),
    filename: z.string().optional().meta({
      description: 'Name of a model or a script, if the request gave one.',
      example: 'throw.js',
    }),
    size,
    digest,
  })
  .meta({ id: 'TaskInputFile' });

export const outputFile = z
  .object({ path: z.string().meta({ example: 'plots/motion.csv' }), size, digest })
  .meta({ id: 'TaskOutputFile' });

export const inputFiles = z.object({ files: z.array(inputFile) }).meta({ id: 'TaskInputFiles' });
export const outputFiles = z.object({ files: z.array(outputFile) }).meta({ id: 'TaskOutputFiles' });

export const delivery = z
  .object({
    name: z.string().optional().meta({
      description:
        'Name of the webhook in the configuration; absent for the address that the task or study names.',
      example: 'ci',
    }),
    receiver: z.string().meta({ description: 'Origin of the address.', example: 'https://ci.example.org' }),
    state: z.enum(DELIVERY_STATES),
    tries: z.int().meta({ example: 1 }),
    nextTryAt: time('When it is tried again; absent when it has ended.').optional(),
    endedAt: time('When it was delivered or given up.').optional(),
    fault: z.string().optional().meta({
      description: 'Why the latest try failed; absent when none did.',
      example: 'responded with 503',
    }),
  })
  .meta({ id: 'TaskWebhook' });

export const hostModel = z
  .object({
    path: z.string().meta({ example: '/models/gear.wbpz' }),
    copied: z.boolean().meta({ description: 'Whether it is copied into the working directory.' }),
  })
  .meta({ id: 'HostModel' });

export const bundledPoints = z
  .array(z.object({ number: z.int(), variables: z.array(z.object({ key: z.string(), value: z.string() })) }))
  .meta({ description: 'Points of a study, if it runs several: each has these variables, too.' });

export const storedFiles = z.array(z.object({ name: z.string(), size }));

export const logFile = z.object({ size, digest }).meta({ description: 'Absent when there is none.' });

export const taskDetails = z
  .object({
    ...taskFields,
    requirement: requirementSchema,
    timeLimit: z.int().optional().meta({ description: 'Longest run in seconds.', example: 3600 }),
    duration: z.int().optional().meta({ description: 'Duration of simulated work, in seconds.', example: 5 }),
    hostModel: hostModel.optional().meta({ description: 'A model that lies on the simulation host.' }),
    inputs: z.array(inputFile).meta({ description: 'Model, scripts in their order, and additional files.' }),
    variables: z.array(z.object({ key: z.string(), value: z.string() })),
    points: bundledPoints.optional(),
    attempts: z.array(attemptSchema).meta({ description: 'In their order.' }),
    outputs: z.array(outputFile).optional().meta({ description: 'By path; absent before the end.' }),
    storedFiles: storedFiles
      .optional()
      .meta({ description: 'Files in the output storage, some of which may have expired.' }),
    notify: z.string().optional().meta({
      description:
        'Address that gets a webhook at the end. Others than the creator and the role ADMIN see its origin only.',
      example: 'https://ci.example.org/hooks/hub',
    }),
    webhooks: z.array(delivery).optional().meta({ description: 'Webhooks about the end of the task.' }),
    log: logFile.optional(),
  })
  .meta({ id: 'TaskDetails' });

export const filePath = z
  .string()
  .meta({ description: 'Path of the file; its slashes may be encoded.', example: 'plots/motion.csv' });
