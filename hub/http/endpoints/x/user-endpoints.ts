/** Administration of users (contract 12.38). */
import { localTimestamp } from '@workbench-hub/shared/domain/timestamp';
import { z } from 'zod';
import { ROLES, type Role } from '../../../core/access.js';
import {
  MAX_PASSWORD_LENGTH,
  MIN_PASSWORD_LENGTH,
  USERNAME,
  USERNAME_ALLOWED,
} from '../../../core/accounts.js';
import { invalidInput } from '../../../core/errors.js';
import type { UserAdministration, UserView } from '../../../engine/accounts/user-administration.js';
import { enumeration, pageQuery } from '../../requests/parsing/validation.js';
import { type Endpoint, endpoint } from '../../routing/endpoint.js';
import { pageFrom, pageSchema } from '../../routing/responses/page.js';
import { shownWithoutNull } from '../../wire/openapi-overrides.js';

const PATH = '/api/x/users';

const NAME_ALLOWED = `must have ${USERNAME_ALLOWED}`;
const username = z
  .string()
  .regex(USERNAME, { error: NAME_ALLOWED })
  .meta({ description: 'Name by which the user logs in, compared exactly.', example: 'nora' });

// No message has any part of the password.
const PASSWORD_ALLOWED = `must have ${MIN_PASSWORD_LENGTH} to ${MAX_PASSWORD_LENGTH} characters, without line breaks and other control characters`;
const password = z
  .string()
  .min(MIN_PASSWORD_LENGTH, { error: PASSWORD_ALLOWED })
  .max(MAX_PASSWORD_LENGTH, { error: PASSWORD_ALLOWED })
  .regex(/^\P{Cc}*$/u, { error: PASSWORD_ALLOWED })
  .meta({ example: 'correct horse battery staple' });

const roles = z.array(enumeration(ROLES)).min(1).max(ROLES.length);

const newUser = z
  .object({
    username,
    password,
    roles: roles.meta({
      description: 'Roles of the user; each includes the lesser ones.',
      example: ['USER'],
    }),
  })
  .meta({ id: 'NewUser' });

const userChange = z
  .object({
    roles: roles.nullish().meta({
      description: 'Roles in place of the present ones; these when left out.',
      example: ['VIEWER'],
      override: shownWithoutNull,
    }),
    disabled: z.boolean().nullish().meta({
      description: 'True: the sessions end, and nobody can log in by this name or use its tokens.',
      example: true,
      override: shownWithoutNull,
    }),
  })
  .meta({ id: 'UserChange' });

const passwordChange = z.object({ password }).meta({ id: 'UserPassword' });

const hubUser = z
  .object({
    username: z.string().meta({ example: 'nora' }),
    roles: z.array(z.enum(ROLES)).meta({ description: 'Roles of the user.', example: ['USER'] }),
    origin: z.enum(['CONFIGURATION', 'HUB']).meta({
      description:
        'CONFIGURATION: from `security.users`, and changed only there; HUB: added here or by `workbench-hub user`.',
      example: 'HUB',
    }),
    disabled: z.boolean().meta({ description: 'Whether the user can neither log in nor use tokens.' }),
    createdDatetime: z.string().meta({
      description: 'Time at which the hub got to know the user. Local time of the hub.',
      example: '2026-11-21T06:53:00.123',
    }),
    sessions: z.int().meta({ description: 'Number of sessions that have not ended.', example: 2 }),
    latestLoginDatetime: z.string().optional().meta({
      description: 'Start of the latest of these sessions; absent without one. Local time of the hub.',
      example: '2026-11-21T06:53:00.123',
    }),
  })
  .meta({ id: 'HubUser' });

const params = z.object({ name: z.string() });
const MISSING = { description: 'There is no such user.' };

export function userEndpoints(users: UserAdministration): Endpoint[] {
  return [listEndpoint(users), addEndpoint(users), changeEndpoint(users), ...sessionEndpoints(users)];
}

function listEndpoint(users: UserAdministration): Endpoint {
  return endpoint(
    {
      method: 'get',
      path: PATH,
      operationId: 'listUsers',
      tag: 'Users',
      summary: 'List the users of the hub, by name',
      description: 'Without users of the company’s sign-on, which are managed there.',
      query: z.object(pageQuery),
      responses: { 200: { description: 'One page of users.', schema: pageSchema(hubUser, 'HubUserPage') } },
    },
    async ({ query, caller, context }) =>
      context.json(pageFrom((await users.list(caller)).map(present), query)),
  );
}

function addEndpoint(users: UserAdministration): Endpoint {
  return endpoint(
    {
      method: 'post',
      path: PATH,
      operationId: 'addUser',
      tag: 'Users',
      summary: 'Add a user with a password',
      description:
        'The user can log in at once. For administrators who have logged in, not for personal tokens.',
      body: newUser,
      responses: {
        201: { description: 'The user.', schema: hubUser },
        409: { description: 'There is a user of this name.' },
      },
    },
    async ({ body, caller, context, audit }) => {
      const user = { ...body, roles: distinct(body.roles) };
      audit.detail = `user ${user.username}: roles ${user.roles.join(', ')}`;
      return context.json(present(await users.add(caller, user)), 201);
    },
  );
}

function changeEndpoint(users: UserAdministration): Endpoint {
  return endpoint(
    {
      method: 'patch',
      path: `${PATH}/{name}`,
      operationId: 'changeUser',
      tag: 'Users',
      summary: 'Set the roles of a user, or disable or enable the user',
      description:
        'Takes effect with the next request of the user; disabling ends the sessions. What is left out stays. For ' +
        'administrators who have logged in, not for personal tokens.',
      params,
      body: userChange,
      responses: {
        200: { description: 'The user.', schema: hubUser },
        404: MISSING,
        409: {
          description:
            'The user comes from the configuration, or no longer would be an administrator and is the caller or the last one.',
        },
      },
    },
    async ({ params: { name }, body, caller, context, audit }) => {
      const change = {
        roles: body.roles ? distinct(body.roles) : undefined,
        disabled: body.disabled ?? undefined,
      };
      if (change.roles === undefined && change.disabled === undefined) {
        throw invalidInput([{ where: 'body', what: 'must have roles, disabled or both' }]);
      }
      audit.detail = [
        ...(change.roles ? [`roles ${change.roles.join(', ')}`] : []),
        ...(change.disabled === undefined ? [] : [change.disabled ? 'disabled' : 'enabled']),
      ].join('; ');
      return context.json(present(await users.change(caller, name, change)));
    },
  );
}

function sessionEndpoints(users: UserAdministration): Endpoint[] {
  return [
    endpoint(
      {
        method: 'post',
        path: `${PATH}/{name}/password`,
        operationId: 'setUserPassword',
        tag: 'Users',
        summary: 'Set the password of a user',
        description:
          'Ends the sessions of the user; personal tokens stay valid. For administrators who have logged in, not for personal tokens.',
        params,
        body: passwordChange,
        responses: {
          204: { description: 'The user logs in with this password from now on.' },
          404: MISSING,
          409: { description: 'The user comes from the configuration.' },
        },
      },
      async ({ params: { name }, body, caller, context }) => {
        await users.setPassword(caller, name, body.password);
        return context.body(null, 204);
      },
    ),
    endpoint(
      {
        method: 'delete',
        path: `${PATH}/{name}/sessions`,
        operationId: 'endUserSessions',
        tag: 'Users',
        summary: 'End all sessions of a user',
        description:
          'The user can log in again; personal tokens stay valid. For administrators who have logged in, not for personal tokens.',
        params,
        responses: { 204: { description: 'No session is left.' }, 404: MISSING },
      },
      async ({ params: { name }, caller, context }) => {
        await users.endSessions(caller, name);
        return context.body(null, 204);
      },
    ),
  ];
}

function distinct(given: readonly Role[]): Role[] {
  return ROLES.filter((role) => given.includes(role));
}

function present({ username: name, roles: held, source, disabled, createdAtMs, ...rest }: UserView) {
  const { sessions, latestLoginAtMs } = rest;
  return {
    username: name,
    roles: held,
    origin: source === 'CONFIGURATION' ? source : 'HUB',
    disabled,
    createdDatetime: localTimestamp(createdAtMs),
    sessions,
    ...(latestLoginAtMs === null ? {} : { latestLoginDatetime: localTimestamp(latestLoginAtMs) }),
  };
}
