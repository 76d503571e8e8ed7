/** The header Idempotency-Key of create requests (contract 12.12). */
import type { Context } from 'hono';
import { z } from 'zod';
import { invalidInput } from '../../../core/errors.js';

/** Header parameter of a create request, for the OpenAPI document. */
export function idempotencyHeaders(effect: string) {
  return z.object({
    'Idempotency-Key': z
      .string()
      .optional()
      .meta({
        description: `Makes the request safe to repeat: with the same key and the same content, ${effect}. 1 to 255 visible ASCII characters.`,
        example: '8e03978e-40d5-43e8-bc93-6894a57f9324',
      }),
  });
}

/** Header parameter of requests that create tasks. */
export const TASK_KEY = idempotencyHeaders('no second task is created, for 24 hours');

/** Response of a request whose key was used by another one. */
export const KEY_REUSED = { description: 'Another request was made with this Idempotency-Key.' };

const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;

/** The key of a request; undefined without such a header. Throws INVALID_INPUT. */
export function idempotencyKeyOf({ req }: Context): string | undefined {
  const key = req.header('idempotency-key');
  if (key === undefined || IDEMPOTENCY_KEY.test(key)) return key;
  throw invalidInput([{ where: 'Idempotency-Key', what: 'must be 1 to 255 visible ASCII characters' }]);
}

/** Marks the response to a repeated request. */
export function markReplayed(context: Context): void {
  context.header('Idempotency-Replayed', 'true');
}
