/** Personal access tokens, an extension of the contract. */
import { localTimestamp } from '@workbench-hub/shared/domain/timestamp';
import { z } from 'zod';
import { TOKEN_ROLES } from '../../../core/access.js';
import type { PersonalTokenRecord } from '../../../core/ports/personal-tokens.js';
import {
  DEFAULT_TOKEN_DAYS,
  MAX_TOKEN_DAYS,
  TOKEN_NAME,
  TOKEN_NAME_ALLOWED,
} from '../../../core/token-names.js';
import type { PersonalTokens } from '../../../engine/accounts/personal-tokens.js';
import { idParams } from '../../requests/parsing/request-schemas.js';
import { enumeration, pageQuery, queryString } from '../../requests/parsing/validation.js';
import { type Endpoint, endpoint } from '../../routing/endpoint.js';
import { pageFrom, pageSchema } from '../../routing/responses/page.js';
import { shownWithoutNull } from '../../wire/openapi-overrides.js';

const PATH = '/api/x/tokens';

const name = z
  .string()
  .regex(TOKEN_NAME, { error: `must be ${TOKEN_NAME_ALLOWED}` })
  .meta({ description: 'Purpose of the token.', example: 'nightly build' });

const tokenRequest = z
  .object({
    name,
    expiresInDays: z
      .int()
      .min(1)
      .max(MAX_TOKEN_DAYS)
      .nullish()
      .meta({
        description: `After how many days it expires; ${DEFAULT_TOKEN_DAYS} when left out.`,
        example: 30,
        override: shownWithoutNull,
      }),
    role: enumeration(TOKEN_ROLES)
      .nullish()
      .meta({
        description:
          'Highest role of the token, limited by that of its user, which is also the default; or METRICS, with which an ADMIN ' +
          'has the token read the metrics and nothing else.',
        example: 'USER',
        override: shownWithoutNull,
      }),
  })
  .meta({ id: 'PersonalTokenRequest' });

const time = (description: string) =>
  z
    .string()
    .meta({ description: `${description} Local time of the hub.`, example: '2026-11-21T06:53:00.123' });

const fields = {
  id: z.string().meta({ description: 'Identifier for revoking it; not a secret.' }),
  name,
  role: z
    .enum(TOKEN_ROLES)
    .meta({ description: 'Highest role of the token, limited by that of its user; or METRICS.' }),
  createdDatetime: time('Time of its creation.'),
  expiresDatetime: time('Time of its expiry.'),
};

const listedToken = z
  .object({
    ...fields,
    lastUsedDatetime: time('Time of its last use; absent before the first.').optional(),
  })
  .meta({ id: 'PersonalToken' });

const createdToken = z
  .object({
    ...fields,
    token: z.string().meta({ description: 'The token itself, which is shown only once.', example: 'wbh_…' }),
  })
  .meta({ id: 'CreatedPersonalToken' });

export function tokenEndpoints(tokens: PersonalTokens): Endpoint[] {
  return [
    endpoint(
      {
        method: 'post',
        path: PATH,
        tag: 'Personal access tokens',
        operationId: 'createPersonalToken',
        summary: 'Create a token for a script',
        description:
          'For users of the hub who have logged in by password; users of the company’s sign-on get tokens there.',
        body: tokenRequest,
        responses: {
          201: { description: 'The token, which is shown only once.', schema: createdToken },
          409: { description: 'The user has the maximum number of tokens.' },
        },
      },
      async ({ body, caller, context }) => {
        const { record, token } = await tokens.create(caller, {
          name: body.name,
          expiresInDays: body.expiresInDays ?? DEFAULT_TOKEN_DAYS,
          role: body.role ?? null,
        });
        return context.json({ ...present(record), token }, 201);
      },
    ),
    endpoint(
      {
        method: 'get',
        path: PATH,
        tag: 'Personal access tokens',
        operationId: 'listPersonalTokens',
        summary: 'List tokens that have not expired, latest first',
        description: 'Tokens of the caller, or as ADMIN of any user.',
        query: z.object({
          ...pageQuery,
          user: queryString()
            .optional()
            .meta({ description: 'Owner, for the role ADMIN; the caller by default.' }),
        }),
        responses: {
          200: {
            description: 'One page of tokens, without the secrets.',
            schema: pageSchema(listedToken, 'PersonalTokenPage'),
          },
        },
      },
      async ({ query, caller, context }) => {
        const records = await tokens.list(caller, query.user ?? caller.username);
        return context.json(pageFrom(records.map(presentListed), query));
      },
    ),
    endpoint(
      {
        method: 'delete',
        path: `${PATH}/{id}`,
        tag: 'Personal access tokens',
        operationId: 'revokePersonalToken',
        summary: 'Revoke one of the caller’s tokens, or as ADMIN any token',
        description: 'The token is refused from then on.',
        params: idParams,
        responses: {
          204: { description: 'The token is no longer valid.' },
          404: { description: 'There is no such token, or it belongs to another user.' },
        },
      },
      async ({ params, caller, context }) => {
        await tokens.revoke(caller, params.id);
        return context.body(null, 204);
      },
    ),
  ];
}

function present({ id, name: title, role, createdAtMs, expiresAtMs }: PersonalTokenRecord) {
  return {
    id,
    name: title,
    role,
    createdDatetime: localTimestamp(createdAtMs),
    expiresDatetime: localTimestamp(expiresAtMs),
  };
}

function presentListed(record: PersonalTokenRecord) {
  const { lastUsedAtMs } = record;
  return {
    ...present(record),
    ...(lastUsedAtMs === null ? {} : { lastUsedDatetime: localTimestamp(lastUsedAtMs) }),
  };
}
