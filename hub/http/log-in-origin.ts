import type { Context } from 'hono';
import type { LogInOrigin } from '../engine/accounts/password-check.js';
import type { Client } from './client.js';

/** From where the request of a log-in comes. */
export function logInOrigin({ address }: Client, context: Context): LogInOrigin {
  return { address, client: context.req.raw.signal };
}
