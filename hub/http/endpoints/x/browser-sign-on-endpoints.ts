/** Log-in of browsers by the company's sign-on (contract 12.24). */
import type { Context } from 'hono';
import { z } from 'zod';
import { HubError } from '../../../core/errors.js';
import { type BrowserSignOn, LOG_IN_MS, type SignedOn } from '../../../engine/accounts/browser-sign-on.js';
import type { AuditDetails } from '../../requests/audit.js';
import { type Endpoint, endpoint } from '../../routing/endpoint.js';
import type { Client } from '../../wire/client.js';
import { type HubCookie, type HubCookieOptions, hubCookie } from '../../wire/hub-cookie.js';
import { loginResponse } from '../common/login-schemas.js';

const TAG = 'Log-in';
const PATH = '/api/x/sign-on';

/** Screen of the console to which the provider sends the browser. */
const RETURN_PATH = '/sign-on';

const MAX_QUERY_LENGTH = 8192;

const begun = z
  .object({ location: z.string().meta({ description: 'Address at the provider, to which the page goes.' }) })
  .meta({ id: 'BegunSignOn' });

const finished = z
  .object({
    query: z.string().max(MAX_QUERY_LENGTH).meta({
      description: 'Query of the address to which the provider sent the browser, without the question mark.',
      example: 'code=SplxlOBeZQQYbYS6WxSbIA&state=af0ifjsldkj',
    }),
  })
  .meta({ id: 'FinishedSignOn' });

const OFF = { 404: { description: 'The hub has no such log-in.' } };
const AWAY = { 503: { description: 'The provider cannot be reached.' } };

type CookieOptions = Pick<HubCookieOptions, 'lifetimeMs' | 'publicUrl'>;

interface Request {
  readonly context: Context;
  readonly client: Client;
  readonly audit: AuditDetails;
}

/** Null: each of them is a 404. */
export function browserSignOnEndpoints(signOn: BrowserSignOn | null, options: CookieOptions): Endpoint[] {
  const logInCookie = hubCookie({ ...options, name: 'signOnLogIn', path: PATH, lifetimeMs: LOG_IN_MS });
  const refreshCookie = hubCookie({ ...options, name: 'signOnRefresh', path: PATH });
  const admit = (signedOn: SignedOn, request: Request) => admitted(signedOn, request, refreshCookie);
  return [
    beginEndpoint(signOn, logInCookie, options.publicUrl),
    endpoint(
      {
        method: 'post',
        path: `${PATH}/finish`,
        tag: TAG,
        operationId: 'finishSignOn',
        summary: 'End a log-in by the sign-on',
        description:
          'Exchanges what the provider gave the browser for an access token, and sets the cookie by which it is renewed.',
        body: finished,
        responses: {
          200: { description: 'The access token.', schema: loginResponse },
          401: { description: 'The provider refused, or the log-in was begun elsewhere or too long ago.' },
          ...OFF,
          ...AWAY,
        },
      },
      async (request) => {
        const { context, client, body } = request;
        const logIn = logInCookie.read(context);
        logInCookie.clear(context, client);
        return admit(await configured(signOn).finish(body.query, logIn), request);
      },
    ),
    endpoint(
      {
        method: 'post',
        path: `${PATH}/refresh`,
        tag: TAG,
        operationId: 'refreshSignOn',
        summary: 'Renew the access token of a log-in by the sign-on',
        description:
          'Asks the provider for it. A second request with the same cookie within 15 seconds, by another tab or after a ' +
          'lost response, gets the same tokens.',
        responses: {
          200: { description: 'The new access token.', schema: loginResponse },
          401: { description: 'The cookie is missing, or the provider has ended the log-in.' },
          ...OFF,
          ...AWAY,
        },
      },
      async (request) => {
        const { context } = request;
        return admit(await configured(signOn).refresh(refreshCookie.read(context)), request);
      },
    ),
    endpoint(
      {
        method: 'post',
        path: `${PATH}/end`,
        tag: TAG,
        operationId: 'endSignOn',
        summary: 'Log out of a log-in by the sign-on',
        description:
          'Revokes the refresh token at the provider, if the provider can do that, and clears the cookie. Access tokens stay ' +
          'valid until they expire, and so does the session of the browser at the provider.',
        responses: { 204: { description: 'The log-in has ended.' }, ...OFF },
      },
      async ({ context, client }) => {
        refreshCookie.clear(context, client);
        await configured(signOn).end(refreshCookie.read(context));
        return context.body(null, 204);
      },
    ),
  ];
}

function beginEndpoint(
  signOn: BrowserSignOn | null,
  logInCookie: HubCookie,
  publicUrl: string | null,
): Endpoint {
  return endpoint(
    {
      method: 'post',
      path: `${PATH}/begin`,
      tag: TAG,
      operationId: 'beginSignOn',
      summary: 'Begin a log-in by the sign-on',
      description:
        `The provider sends the browser back to \`${RETURN_PATH}\` of the origin that begins, or else of \`server.publicUrl\`. ` +
        'A cookie holds the secrets of the log-in for 15 minutes.',
      responses: {
        200: { description: 'Where to go.', schema: begun },
        ...OFF,
        ...AWAY,
      },
    },
    async ({ context, client }) => {
      const begins = configured(signOn);
      const origin = context.req.header('origin') ?? publicUrl;
      if (origin === null || !URL.canParse(origin)) {
        throw new HubError(
          'INVALID_INPUT',
          'Origin: missing or no address, and there is no server.publicUrl: the address to return to is unknown',
        );
      }
      const { location, logIn } = await begins.begin(new URL(RETURN_PATH, origin).href);
      logInCookie.set(context, client, logIn);
      return context.json({ location });
    },
  );
}

function admitted(
  { username, accessToken, refresh }: SignedOn,
  { context, client, audit }: Request,
  cookie: HubCookie,
): Response {
  audit.user = username;
  audit.by = 'SIGN_ON';
  if (refresh === undefined) cookie.clear(context, client);
  else cookie.set(context, client, refresh);
  return context.json({ accessToken });
}

function configured(signOn: BrowserSignOn | null): BrowserSignOn {
  if (signOn) return signOn;
  throw new HubError(
    'UNKNOWN_PATH',
    'browsers do not log in by a sign-on here: an administrator sets security.oidc.browserLogin',
  );
}
