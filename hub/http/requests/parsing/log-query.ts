/** Query of the endpoints that respond with a log: which part of it. */
import { z } from 'zod';
import { queryInteger } from './validation.js';

const MAX_TAIL_LINES = 10_000;

export const logQuery = z
  .object({
    tail: queryInteger({ minimum: 1, maximum: MAX_TAIL_LINES })
      .optional()
      .meta({ description: 'The last lines only.', example: 100 }),
    offset: queryInteger({ minimum: 0 })
      .optional()
      .meta({
        description:
          'From this position on: the `Log-Next-Offset` of an earlier response, or 0. When the log has begun anew and does ' +
          'not reach it, from the beginning.',
        example: 0,
      }),
  })
  .refine(({ tail, offset }) => tail === undefined || offset === undefined, {
    path: ['tail'],
    error: 'must not be given together with offset',
  });

export type LogQuery = z.output<typeof logQuery>;
