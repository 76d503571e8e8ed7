/** Schemas of task requests in all API versions. */
import { CLASSIFIER_TYPES } from '@workbench-hub/shared/domain/classifier';
import { MODEL_TYPE } from '@workbench-hub/shared/domain/instance';
import { z } from 'zod';
import { filenameFault } from '../../../core/batch-job.js';
import { INPUT_NAME, INPUT_NAME_ALLOWED, inputNameFault } from '../../../core/storage.js';
import { shown, shownDefault, shownWithoutNull } from '../../wire/openapi-overrides.js';
import { type BlobPaths, StoredBlob } from './body-blob.js';
import { enumeration, queryInteger } from './validation.js';

export const idParams = z.object({ id: z.string() });

const classifierType = z
  .string({ error: `must be one of ${CLASSIFIER_TYPES.join(', ')}` })
  .transform((text) => text.trim().toUpperCase())
  .transform((type) => (type === 'LABELS' ? 'LABLES' : type))
  .pipe(z.enum(CLASSIFIER_TYPES, { error: `must be one of ${CLASSIFIER_TYPES.join(', ')}` }))
  .meta({
    description: 'VERSION (wildcards * and ?), PRIORITY, or LABLES (comma-separated; LABELS is accepted).',
    example: 'VERSION',
    override: shown({ type: 'string', enum: [...CLASSIFIER_TYPES] }),
  });

const classifierSchema = z
  .object({
    type: classifierType,
    value: z.string().max(10_000).meta({ description: 'The requested value.', example: '9.*' }),
  })
  .meta({ id: 'Classifier' });

export const classifiersSchema = z.array(classifierSchema).max(100).nullish().meta({
  description: 'Conditions for the workbench instance, and the priority.',
  override: shownWithoutNull,
});

const requestHead = {
  name: z
    .string()
    .max(1000)
    .nullish()
    .meta({ description: 'Label for the task.', example: 'run 7', override: shownWithoutNull }),
  note: z.string().max(2000).nullish().meta({
    description: 'Text about the task, for people.',
    example: 'second try, with the softer bearing',
    override: shownWithoutNull,
  }),
  classifiers: classifiersSchema,
  timeLimit: z.int().min(1).nullish().meta({
    description: 'Longest run in seconds; a longer one is ended, and the task is FAILED.',
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

const BASE64 = { format: 'byte', description: 'Base64 (RFC 4648 section 4, with padding).' };

export const base64 = z.string().meta(BASE64);

const isFile = (value: unknown): boolean => typeof value === 'string' || value instanceof StoredBlob;

/** Base64, or its replacement in a large body, where it is stored already. */
const contentSchema = z
  .custom<string | StoredBlob>(isFile, {
    error: ({ input }) => (input === undefined ? 'is required' : 'must be a text'),
  })
  .meta({ override: shown({ type: 'string', ...BASE64 }) });

/** The same, or null for none. */
const contentOrNullSchema = z
  .custom<string | StoredBlob | null>((value) => value === null || isFile(value), {
    error: 'must be a text',
  })
  .meta({ override: shown({ type: 'string', ...BASE64 }) });

export const modelTypeSchema = z
  .string()
  .transform((text) => text.trim().toUpperCase())
  .pipe(z.string().regex(MODEL_TYPE, { error: 'must be WBPZ or another name of 1 to 16 letters and digits' }))
  .meta({
    description: 'WBPZ, MJCF, INP, …: staged as model.<type>.',
    example: 'MJCF',
    override: shown({ type: 'string', pattern: '^[A-Za-z0-9]{1,16}$' }),
  });

/** The name of a file in the input storage. */
export const inputNameSchema = z
  .string({ error: INPUT_NAME_ALLOWED })
  .regex(INPUT_NAME, { error: INPUT_NAME_ALLOWED })
  .meta({ description: 'Name of the file, 3 to 64 characters.', example: 'gearbox-7.wbpz' });

/** The same for a new file, with stricter rules; files with older names can still be deleted. */
export const newInputNameSchema = inputNameSchema.check(({ value, issues }) => {
  const message = inputNameFault(value);
  if (message !== undefined) issues.push({ code: 'custom', input: value, message });
});

/** The name of a model or a script for people (contract 12.40). */
const shownFilename = z
  .string()
  .check(({ value, issues }) => {
    const message = filenameFault(value);
    if (message !== undefined) issues.push({ code: 'custom', input: value, message });
  })
  .nullish()
  .meta({
    description: 'Name of the file, a relative path with "/", under which the inputs of the task show it.',
    example: 'gearbox/ball.xml',
    override: shownWithoutNull,
  });

export const modelReferenceSchema = z.object({
  type: enumeration(['LOCAL_FILESYSTEM', 'INPUT_STORAGE']),
  parameters: z.array(z.object({ key: z.string(), value: z.string() })).max(100),
});

export const executeBatchJobRequest = z
  .object({
    ...requestHead,
    inputModel: z
      .object({ type: modelTypeSchema, content: contentSchema, filename: shownFilename })
      .nullish()
      .meta({
        description: 'The model to load; excludes inputModelReference.',
        override: shownWithoutNull,
      }),
    inputModelReference: modelReferenceSchema.extend({ filename: shownFilename }).nullish().meta({
      description:
        'A model in the input storage (parameter name), or one that the simulation host can read itself (pathToFile).',
      override: shownWithoutNull,
    }),
    inputScripts: z
      .array(z.object({ content: contentSchema, filename: shownFilename }))
      .min(1)
      .max(1000)
      .meta({ description: 'Scripts to run, one after the other.' }),
    additionalFiles: z
      .array(
        z.object({
          filename: z
            .string()
            .meta({ description: 'Relative path with "/", by which scripts read the file.' }),
          content: contentOrNullSchema.optional(),
          storageName: inputNameSchema.nullish().meta({
            description: 'Instead of content: the name of a file in the input storage.',
            override: shownWithoutNull,
          }),
        }),
      )
      .nullish()
      .meta({ description: 'Files that the scripts can read.', override: shownWithoutNull }),
    variablesToInject: z
      .array(z.object({ key: z.string(), value: z.string() }))
      .max(10_000)
      .nullish()
      .meta({ description: 'Variables that the scripts can read.', override: shownWithoutNull }),
  })
  .meta({ id: 'ExecuteBatchJobRequest' });
/** Paths of files in {@link executeBatchJobRequest}. */
export const batchJobContents: BlobPaths = ([member, at, last, ...rest]) => {
  if (member === 'inputModel') return at === 'content' && last === undefined;
  const isInList = member === 'inputScripts' || member === 'additionalFiles';
  return isInList && typeof at === 'number' && last === 'content' && rest.length === 0;
};
export type ExecuteBatchJobRequest = z.output<typeof executeBatchJobRequest>;

export const resultQuery = z.object({
  timeout: queryInteger({ minimum: 0, maximum: 86_400 })
    .default(0)
    .meta({
      description: 'How long to wait for the end of the task, in seconds.',
      example: 30,
      override: shownDefault(0),
    }),
});
