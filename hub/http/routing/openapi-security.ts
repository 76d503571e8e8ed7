/** Security in the OpenAPI document: what this hub requires of the caller of each operation, by the access table. */
import type { ZodOpenApiComponentsObject, ZodOpenApiOperationObject } from 'zod-openapi';
import { accessTo } from '../requests/access-table.js';
import { REFRESH_COOKIE } from '../wire/refresh-cookie.js';
import type { Endpoint } from './endpoint.js';

type SecuritySchemes = NonNullable<ZodOpenApiComponentsObject['securitySchemes']>;
type SecurityRequirements = NonNullable<ZodOpenApiOperationObject['security']>;

const BEARER = 'bearer';
const COOKIE = 'refreshCookie';

const COOKIE_SCHEME: SecuritySchemes = {
  [COOKIE]: {
    type: 'apiKey',
    in: 'cookie',
    name: REFRESH_COOKIE,
    description: 'Cookie that login and refresh set.',
  },
};

const BEARER_SCHEME: SecuritySchemes = {
  [BEARER]: {
    type: 'http',
    scheme: 'bearer',
    description:
      'Access token of a login, personal access token, or token of the company’s sign-on if the hub accepts one.',
  },
};

/** Schemes that the operations of this hub use. */
export function securitySchemes(isSecurityOn: boolean): SecuritySchemes {
  return isSecurityOn ? { ...BEARER_SCHEME, ...COOKIE_SCHEME } : COOKIE_SCHEME;
}

/** Requirements of an operation. Refresh and logout need their cookie also while security is off. */
export function securityOf(
  { method, path, cookies }: Endpoint['spec'],
  isSecurityOn: boolean,
): SecurityRequirements {
  if (cookies) return [{ [COOKIE]: [] }];
  return isSecurityOn && accessTo(method.toUpperCase(), path) !== 'OPEN' ? [{ [BEARER]: [] }] : [];
}

/** Sentence on the role that an operation requires while security is on. */
export function describedRole({ method, path }: Endpoint['spec']): string {
  const access = accessTo(method.toUpperCase(), path);
  if (access === 'OPEN') return 'Needs no access token.';
  if (access === 'METRICS')
    return 'Requires the role ADMIN, or a personal access token with the role METRICS.';
  return access === 'ADMIN' ? 'Requires the role ADMIN.' : `Requires the role ${access} or a higher one.`;
}
