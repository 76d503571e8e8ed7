/** The company's sign-on: how programs and browsers log in by it (contract 12.22 and 12.24). */
import { z } from 'zod';
import { type Endpoint, endpoint } from '../../routing/endpoint.js';

const deviceLogin = z
  .object({
    issuer: z
      .string()
      .meta({ description: 'Address of the provider.', example: 'https://sso.example.org/realms/main' }),
    clientId: z.string().meta({ description: 'Public client of the provider.', example: 'workbench-cli' }),
    scopes: z.array(z.string()).meta({ example: ['openid', 'offline_access'] }),
    resource: z.string().optional().meta({ description: 'Name of the hub at the provider (RFC 8707).' }),
  })
  .meta({ id: 'DeviceLogin', description: 'The device authorization grant of the provider (RFC 8628).' });

export type DeviceLogin = z.output<typeof deviceLogin>;

const browserLogin = z
  .object({ issuer: z.string().meta({ description: 'Address of the provider.' }) })
  .meta({ id: 'BrowserLogin', description: 'The authorization code flow, through the hub.' });

export type BrowserLogin = z.output<typeof browserLogin>;

const signOn = z
  .object({
    deviceLogin: deviceLogin.optional().meta({ description: 'Absent where there is none.' }),
    browserLogin: browserLogin.optional().meta({ description: 'Absent where there is none.' }),
    tokenRequired: z.boolean().meta({ description: 'False while security is off: requests need no token.' }),
  })
  .meta({ id: 'SignOn' });

/** Ways to log in by the sign-on; those that are not configured are undefined. */
export interface SignOnWays {
  readonly deviceLogin: DeviceLogin | undefined;
  readonly browserLogin: BrowserLogin | undefined;
  /** False while security is off. */
  readonly tokenRequired: boolean;
}

export function signOnEndpoint(ways: SignOnWays): Endpoint {
  return endpoint(
    {
      method: 'get',
      path: '/api/x/sign-on',
      tag: 'Log-in',
      operationId: 'getSignOn',
      summary: "How to get a token of the company's sign-on",
      description:
        'For programs without a browser of their own (`deviceLogin`): they show their user a code, to be entered at the ' +
        'provider. The hub accepts the access tokens that they get there. For browsers (`browserLogin`): ' +
        '`/api/x/sign-on/begin`.',
      responses: { 200: { description: 'The ways that are configured.', schema: signOn } },
    },
    ({ context }) => context.json(ways),
  );
}
