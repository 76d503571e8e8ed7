import type { Context } from 'hono';
import type { Caller } from '../../../core/access.js';
import type { ListClient } from '../../../engine/tasks/list-turns.js';
import type { Client } from '../../wire/client.js';

/** Client of a list: the user, or the address while security is off. */
export function listClient({
  caller,
  client,
  context,
}: {
  readonly caller: Caller;
  readonly client: Client;
  readonly context: Context;
}): ListClient {
  const name = caller.by === 'OPEN_HUB' ? `address ${client.address}` : `user ${caller.username}`;
  return { name, signal: context.req.raw.signal };
}
