/** The caller of a request with its roles (contract 12.23). */
import { z } from 'zod';
import { ROLES } from '../../../core/access.js';
import { type Endpoint, endpoint } from '../../routing/endpoint.js';

const caller = z
  .object({
    username: z.string().meta({ example: 'anna' }),
    roles: z
      .array(z.enum(ROLES))
      .meta({ description: 'Each includes those before it: VIEWER, USER, ADMIN.' }),
    by: z.enum(['OPEN_HUB', 'SESSION', 'PERSONAL_TOKEN', 'SIGN_ON']).meta({
      description: 'Means of authentication. OPEN_HUB: none, since security is off.',
    }),
  })
  .meta({ id: 'Caller' });

export function callerEndpoint(): Endpoint {
  return endpoint(
    {
      method: 'get',
      path: '/api/x/caller',
      tag: 'Log-in',
      operationId: 'getCaller',
      summary: 'The caller and its roles',
      description:
        'User whose token the request carries; `anonymous` with the role ADMIN while security is off.',
      responses: { 200: { description: 'The caller.', schema: caller } },
    },
    ({ caller: { username, roles, by }, context }) => context.json({ username, roles: [...roles], by }),
  );
}
