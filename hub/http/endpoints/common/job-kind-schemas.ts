/** Kinds of jobs that instances run (contract 12.39). */
import { z } from 'zod';

export const jobKindSchema = z
  .object({
    models: z
      .array(z.string())
      .optional()
      .meta({ description: 'Types of models; absent for any.', example: ['MJCF', 'XML'] }),
    scripts: z
      .array(z.string())
      .optional()
      .meta({
        description: 'Languages of scripts; absent when the program does not say.',
        example: ['JavaScript'],
      }),
    points: z
      .literal(true)
      .optional()
      .meta({ description: 'Present if it runs points of a study in bundles.' }),
  })
  .meta({ id: 'JobKind' });

/** Kinds of the instances that fit a task. */
export const kindsSchema = z.array(z.object({ runs: jobKindSchema, instances: z.int() })).meta({
  description:
    'What the fitting instances run that are up, when that differs and the task is a batch job without labels.',
});
