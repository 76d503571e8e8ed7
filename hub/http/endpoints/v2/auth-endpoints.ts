/** Login, refresh, logout, and the current user (contract 8.2 to 8.6). */
import { z } from 'zod';
import type { Sessions } from '../../../engine/accounts/sessions.js';
import type { AuditDetails } from '../../requests/audit.js';
import { type Endpoint, endpoint } from '../../routing/endpoint.js';
import { REFRESH_COOKIE, type RefreshCookie } from '../../wire/refresh-cookie.js';
import { loginOrigin } from '../common/login-origin.js';
import { LOGIN_FAILURES, loginRequest, loginResponse } from '../common/login-schemas.js';

const TAG = 'Log-in';

const cookies = z.object({
  [REFRESH_COOKIE]: z.string().meta({ description: 'As set by the latest login or refresh.' }),
});

const NO_SESSION = { description: 'The cookie is missing, or its session is not valid.' };

const user = z.object({ username: z.string().meta({ example: 'anna' }) }).meta({ id: 'User' });

export function authEndpoints(sessions: Sessions, cookie: RefreshCookie): Endpoint[] {
  return [
    endpoint(
      {
        method: 'post',
        path: '/api/2.0/auth/login',
        tag: TAG,
        operationId: 'logIn',
        summary: 'Log in',
        description:
          'Begins a session. Sets the cookie `refreshToken`, with which the access token is renewed. While security is ' +
          'off, any username and password are accepted.',
        body: loginRequest,
        responses: { 200: { description: 'The access token.', schema: loginResponse }, ...LOGIN_FAILURES },
      },
      async ({ body, context, client, audit }) => {
        audit.user = body.username;
        const { accessToken, refreshToken } = await sessions.logIn(
          body.username,
          body.password,
          loginOrigin(client, context),
        );
        audit.by = 'PASSWORD';
        cookie.set(context, client, refreshToken);
        return context.json({ accessToken });
      },
    ),
    endpoint(
      {
        method: 'get',
        path: '/api/2.0/auth/refresh',
        tag: TAG,
        operationId: 'refreshAccessToken',
        summary: 'Renew the access token',
        description:
          'Sets a new cookie `refreshToken`: each is valid for one use. A second use within 15 seconds, by another tab or ' +
          'after a lost response, sets the same new cookie again; a later one ends the session, since the cookie must ' +
          'have been stolen.',
        cookies,
        responses: {
          200: { description: 'The new access token.', schema: loginResponse },
          401: NO_SESSION,
          429: {
            description:
              'The session is refreshed too often; the header `Retry-After` gives the seconds until the next try.',
          },
        },
      },
      async ({ context, client, audit }) => {
        const { accessToken, refreshToken } = await sessions.refresh(cookie.read(context), holderInto(audit));
        audit.by = 'REFRESH_TOKEN';
        cookie.set(context, client, refreshToken);
        return context.json({ accessToken });
      },
    ),
    endpoint(
      {
        method: 'get',
        path: '/api/2.0/auth/logout',
        tag: TAG,
        operationId: 'logOut',
        summary: 'Log out',
        description:
          'Ends the session immediately: its access tokens are no longer valid. Clears the cookie.',
        cookies,
        responses: { 200: { description: 'The session has ended.' }, 401: NO_SESSION },
      },
      async ({ context, client, audit }) => {
        cookie.clear(context, client);
        await sessions.logOut(cookie.read(context), holderInto(audit));
        audit.by = 'REFRESH_TOKEN';
        return context.body(null, 200);
      },
    ),
    userEndpoint(),
  ];
}

function userEndpoint(): Endpoint {
  return endpoint(
    {
      method: 'get',
      path: '/api/2.0/user',
      tag: TAG,
      operationId: 'getCurrentUser',
      summary: 'The logged-in user',
      description: 'Name of the user whose token the request carries.',
      responses: { 200: { description: 'The caller; `anonymous` while security is off.', schema: user } },
    },
    ({ caller, context }) => context.json({ username: caller.username }),
  );
}

/** Records the user of a session in the audit log, also when its token is refused. */
function holderInto(audit: AuditDetails): (username: string) => void {
  return (username) => {
    audit.user = username;
  };
}
