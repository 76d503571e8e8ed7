import type { Context } from 'hono';
import type { LoginOrigin } from '../../../engine/accounts/password-check.js';
import type { Client } from '../../wire/client.js';

/** Origin of a login request. */
export function loginOrigin({ address }: Client, context: Context): LoginOrigin {
  return { address, client: context.req.raw.signal };
}
