/** Login in API version 1.0 (contract 11.6), which has no refresh. */
import type { Sessions } from '../../../engine/accounts/sessions.js';
import { type Endpoint, endpoint } from '../../routing/endpoint.js';
import { loginOrigin } from '../common/login-origin.js';
import { LOGIN_FAILURES, loginRequest, loginResponse } from '../common/login-schemas.js';
import { operationIdOf } from './operation-id.js';

export function authEndpointsV1(sessions: Sessions): Endpoint[] {
  return [
    endpoint(
      {
        method: 'post',
        path: '/api/1.0/auth/login',
        tag: 'Log-in (1.0)',
        operationId: operationIdOf('logIn', '1.0'),
        summary: 'Log in',
        description: 'Begins a session that ends with its access token. Sets no cookie.',
        body: loginRequest,
        responses: { 200: { description: 'The access token.', schema: loginResponse }, ...LOGIN_FAILURES },
      },
      async ({ body, context, client, audit }) => {
        audit.user = body.username;
        const { accessToken } = await sessions.logInOnce(
          body.username,
          body.password,
          loginOrigin(client, context),
        );
        audit.by = 'PASSWORD';
        return context.json({ accessToken });
      },
    ),
  ];
}
