/** Request schemas of studies (contract 12.45). */
import { z } from 'zod';
import type { ValueCondition } from '../../../../core/studies/conditions.js';
import type { Levels } from '../../../../core/studies/levels.js';
import { POINT_OUTCOMES } from '../../../../core/studies/study.js';
import type { ValueRule } from '../../../../core/studies/values/value-rules.js';
import type { StudyVariable } from '../../../../core/studies/variables.js';
import type { RequestedPlan } from '../../../../engine/studies/study-service.js';
import { executeBatchJobRequest } from '../../../requests/parsing/request-schemas.js';
import { enumeration } from '../../../requests/parsing/validation.js';
import { shown, shownWithoutNull } from '../../../wire/openapi-overrides.js';

const nullable = <Schema extends z.ZodType>(schema: Schema, description: string) =>
  schema.nullish().meta({ description, override: shownWithoutNull });

const pointValue = z
  .custom<number | string>((value) => typeof value === 'number' || typeof value === 'string', {
    error: ({ input }) => (input === undefined ? 'is required' : 'must be a number or a text'),
  })
  .meta({ override: shown({ oneOf: [{ type: 'number' }, { type: 'string' }] }) });

const pointSchema = z.record(z.string(), pointValue).meta({
  description: 'Value of each variable by its name.',
  example: { speed: 1500, load: 2 },
});

const variableSchema = z
  .object({
    name: z.string().meta({ description: 'Name by which scripts read it.', example: 'speed' }),
    kind: enumeration(['NUMBER', 'INTEGER', 'TEXT']).nullish().meta({
      description: 'NUMBER by default.',
      override: shownWithoutNull,
    }),
    unit: nullable(z.string().max(64), 'Unit, for people.'),
    lower: nullable(z.number(), 'Lower bound, inclusive.'),
    upper: nullable(z.number(), 'Upper bound, inclusive.'),
    scale: enumeration(['LINEAR', 'LOGARITHMIC']).nullish().meta({
      description: 'LINEAR by default. Spacing of levels and of samples.',
      override: shownWithoutNull,
    }),
  })
  .transform(
    ({ name, kind, unit, lower, upper, scale }): StudyVariable => ({
      name,
      kind: kind ?? 'NUMBER',
      unit: unit ?? null,
      lower: lower ?? null,
      upper: upper ?? null,
      scale: scale ?? 'LINEAR',
    }),
  )
  .meta({ id: 'NewStudyVariable' });

const LEVEL_FORMS =
  'must have, beside variable, either values, or from, to and step, or from, to and count, and nothing else';

const levelsSchema = z
  .object({
    variable: z.string().meta({ example: 'speed' }),
    values: nullable(z.array(pointValue).min(1).max(100_000), 'The levels themselves.'),
    from: nullable(z.number(), 'First level.'),
    to: nullable(z.number(), 'Last level.'),
    step: nullable(z.number(), 'Distance of two levels.'),
    count: nullable(z.int().min(1), 'Number of levels, spaced by the scale of the variable.'),
  })
  .transform((given, context): Levels => {
    const { variable, values = null, from = null, to = null, step = null, count = null } = given;
    const isRange = from !== null && to !== null && values === null;
    if (values !== null && from === null && to === null && step === null && count === null)
      return { variable, values };
    if (isRange && step !== null && count === null) return { variable, from, to, step };
    if (isRange && count !== null && step === null) return { variable, from, to, count };
    context.issues.push({ code: 'custom', input: given, message: LEVEL_FORMS });
    return z.NEVER;
  })
  .meta({ id: 'StudyLevels' });

const levels = z.array(levelsSchema).max(100);
const sampled = { count: z.int().min(1).meta({ description: 'Number of points.', example: 200 }) };
const seed = z.int().min(0);

const tablePlan = z
  .object({
    kind: z.literal('TABLE'),
    csv: z.string().meta({
      description: 'A header with the names of the variables, and a row for each point.',
      example: 'speed,load\n500,1\n1500,2\n',
    }),
    delimiter: z.enum([',', ';', '\t'], { error: 'must be a comma, semicolon or tab' }).nullish().meta({
      description: 'A comma by default.',
      override: shownWithoutNull,
    }),
    decimal: z.enum(['.', ','], { error: 'must be "." or ","' }).nullish().meta({
      description: 'A point by default.',
      override: shownWithoutNull,
    }),
  })
  .transform((plan) => ({
    ...plan,
    delimiter: plan.delimiter ?? (',' as const),
    decimal: plan.decimal ?? ('.' as const),
  }))
  .meta({ id: 'StudyPlanTable' });

const planKinds = [
  tablePlan,
  z.object({ kind: z.literal('LIST'), points: z.array(pointSchema) }).meta({ id: 'StudyPlanList' }),
  z.object({ kind: z.literal('GRID'), levels }).meta({ id: 'StudyPlanGrid' }),
  z
    .object({ kind: z.literal('ONE_AT_A_TIME'), base: pointSchema, levels })
    .meta({ id: 'StudyPlanOneAtATime' }),
  z.object({ kind: z.literal('LATIN_HYPERCUBE'), ...sampled, seed }).meta({ id: 'StudyPlanLatinHypercube' }),
  z
    .object({
      kind: z.literal('SOBOL'),
      ...sampled,
      seed: nullable(seed, 'Seed of the scrambling; without one, the sequence is not scrambled.'),
    })
    .transform((plan) => ({ ...plan, seed: plan.seed ?? null }))
    .meta({ id: 'StudyPlanSobol' }),
] as const;

const addedPlanSchema: z.ZodType<RequestedPlan> = z.discriminatedUnion('kind', planKinds, {
  error: 'must have a kind: LIST, TABLE, GRID, ONE_AT_A_TIME, LATIN_HYPERCUBE or SOBOL',
});

const planSchema: z.ZodType<RequestedPlan> = z.discriminatedUnion(
  'kind',
  [...planKinds, z.object({ kind: z.literal('OPEN') }).meta({ id: 'StudyPlanOpen' })],
  { error: 'must have a kind: LIST, TABLE, GRID, ONE_AT_A_TIME, LATIN_HYPERCUBE, SOBOL or OPEN' },
);

const sourceSchema = z
  .discriminatedUnion(
    'kind',
    [
      z
        .object({ kind: z.literal('FILE'), path: z.string().meta({ example: 'result.json' }) })
        .meta({ id: 'StudyValueFile' }),
      z.object({ kind: z.literal('LOG') }).meta({ id: 'StudyValueLog' }),
    ],
    { error: 'must have a kind: FILE or LOG' },
  )
  .meta({ description: 'An output file by its path, or the log.' });

const takeSchema = z.union(
  [z.enum(['FIRST', 'LAST', 'MIN', 'MAX', 'MEAN', 'SUM', 'COUNT']), z.object({ row: z.int().min(0) })],
  { error: 'must be FIRST, LAST, MIN, MAX, MEAN, SUM, COUNT or {"row": n}, counted from 0' },
);

const readerSchema = z.discriminatedUnion(
  'kind',
  [
    z
      .object({
        kind: z.literal('JSON_PATH'),
        path: z.string().meta({ description: 'RFC 9535; leads to one value.', example: '$.stress.max' }),
      })
      .meta({ id: 'StudyValueJsonPath' }),
    z
      .object({
        kind: z.literal('CSV'),
        column: z.union([z.string(), z.int().min(0)], { error: 'must be a name, or a number from 0' }).meta({
          description: 'Name in the header, or number from 0 in a table without one.',
          example: 'stress',
          override: shown({ oneOf: [{ type: 'string' }, { type: 'integer', minimum: 0 }] }),
        }),
        take: takeSchema.meta({ description: 'Row of the column, or what to make of all.', example: 'MAX' }),
        delimiter: z
          .enum([',', ';', '\t', ' '], { error: 'must be a comma, semicolon, tab or blank' })
          .nullish()
          .meta({
            description: 'A comma by default. A blank stands for any run of blanks and tabs.',
            override: shownWithoutNull,
          }),
        decimal: z.enum(['.', ','], { error: 'must be "." or ","' }).nullish().meta({
          description: 'A point by default.',
          override: shownWithoutNull,
        }),
      })
      .transform((reader) => ({
        ...reader,
        delimiter: reader.delimiter ?? ',',
        decimal: reader.decimal ?? '.',
      }))
      .meta({ id: 'StudyValueCsv' }),
    z
      .object({
        kind: z.literal('REGULAR_EXPRESSION'),
        pattern: z.string().meta({
          description: 'Syntax of RE2. Its first group is the value, or without groups all of a match.',
          example: 'max stress: (\\S+)',
        }),
        take: enumeration(['FIRST', 'LAST']).nullish().meta({
          description: 'Which match; FIRST by default.',
          override: shownWithoutNull,
        }),
      })
      .transform((reader) => ({ ...reader, take: reader.take ?? ('FIRST' as const) }))
      .meta({ id: 'StudyValuePattern' }),
  ],
  { error: 'must have a kind: JSON_PATH, CSV or REGULAR_EXPRESSION' },
);

const valueSchema = z
  .object({
    name: z.string().meta({ example: 'stress' }),
    unit: nullable(z.string(), 'Unit, for people.'),
    kind: enumeration(['NUMBER', 'TEXT']).nullish().meta({
      description: 'NUMBER by default.',
      override: shownWithoutNull,
    }),
    source: sourceSchema,
    reader: readerSchema,
  })
  .transform(
    ({ name, unit, kind, source, reader }): ValueRule => ({
      name,
      unit: unit ?? null,
      kind: kind ?? 'NUMBER',
      source,
      reader,
    }),
  )
  .meta({ id: 'NewStudyValue' });

const conditionSchema = z
  .object({
    value: z.string().meta({ description: 'Name of a value; it must not be missing.', example: 'stress' }),
    lower: nullable(z.number(), 'Lower bound, inclusive.'),
    upper: nullable(z.number(), 'Upper bound, inclusive.'),
  })
  .transform(
    ({ value, lower, upper }): ValueCondition => ({ value, lower: lower ?? null, upper: upper ?? null }),
  )
  .meta({ id: 'NewStudyCondition' });

/** Ten years. */
const MAX_STOP_AFTER_S = 315_360_000;

const { name: _, ...jobShape } = executeBatchJobRequest.shape;

export const newStudy = z
  .object({
    name: z.string().min(1).max(200).meta({ description: 'Name for people.', example: 'bearing, 10 speeds' }),
    ...jobShape,
    variables: z
      .array(variableSchema)
      .min(1)
      .meta({ description: 'Variables that differ from point to point.' }),
    plan: planSchema.meta({ description: 'Points of the study.' }),
    values: z.array(valueSchema).nullish().meta({
      description: 'Numbers and texts that are read from the outputs of each point.',
      override: shownWithoutNull,
    }),
    success: z.array(conditionSchema).max(100).nullish().meta({
      description: 'Conditions on the values; a point that does not meet them all has failed.',
      override: shownWithoutNull,
    }),
    stopAfterFailures: nullable(
      z.int().min(1),
      'Number of failed points at which the study stops by itself. Failures from before it was resumed or ran again do not count.',
    ),
    stopAfter: nullable(
      z.int().min(1).max(MAX_STOP_AFTER_S),
      'Seconds after which the study stops by itself, since it was created, resumed, or ran again.',
    ),
    stopWhen: z.array(conditionSchema).max(100).nullish().meta({
      description:
        'Conditions on the values at which the study stops by itself: when one point meets them all.',
      override: shownWithoutNull,
    }),
    notify: nullable(
      z.string().max(2000),
      'Address that gets a webhook when the study finishes, is stopped, or pauses by itself. An administrator decides which are allowed.',
    ),
    reuse: z.boolean().nullish().meta({
      description:
        'Whether points take the results of earlier tasks with equal inputs, computed by the same build of the workbench. false by default.',
      override: shownWithoutNull,
    }),
    bundle: z
      .boolean()
      .nullish()
      .meta({
        description:
          'Whether several points that take less than a tenth of a second may run as one task, in one working directory. Its outputs are ' +
          'then lines of a file, with those of each point. false by default.',
        override: shownWithoutNull,
      }),
  })
  .meta({ id: 'NewStudy' });

export const addedPoints = z
  .object({ plan: addedPlanSchema.meta({ description: 'The further points.' }) })
  .meta({ id: 'AddStudyPointsRequest' });

export const retryRequest = z
  .object({
    outcomes: z
      .array(enumeration(POINT_OUTCOMES))
      .min(1)
      .meta({
        description: 'Points with these outcomes are tried again.',
        example: ['INFRASTRUCTURE'],
      }),
  })
  .meta({ id: 'RetryStudyRequest' });
