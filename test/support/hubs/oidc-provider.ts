/** An identity provider: the real OpenID Connect server `oidc-provider` on loopback, whose clients are machines that get
 *  access tokens for their secret. */
import { readFileSync } from 'node:fs';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import Provider from 'oidc-provider';

/** A key pair of the provider. */
export interface ProviderKey {
  readonly privateKey: CryptoKey;
  readonly jwk: JWK;
}

export async function providerKey(kid: string, alg = 'RS256'): Promise<ProviderKey> {
  const { privateKey } = await generateKeyPair(alg, { extractable: true });
  return { privateKey, jwk: { ...(await exportJWK(privateKey)), kid, alg, use: 'sig' } };
}

export interface ProviderSetup {
  readonly keys: readonly ProviderKey[];
  /** The claim `roles` in the tokens of each client; the client `x` has the secret `secret-of-x`. */
  readonly clients: Readonly<Record<string, unknown>>;
  /** Lifetime of a token. */
  readonly tokenLifetimeS?: number;
  /** A public client with the device flow, and the roles that its users get. */
  readonly deviceClient?: { readonly id: string; readonly roles: readonly string[] };
  /** A client with the authorization code flow, and the roles that its users get; public without a secret. */
  readonly browserClient?: {
    readonly id: string;
    readonly secret?: string;
    readonly roles: readonly string[];
  };
  /** 0 takes any free port. */
  readonly port?: number;
  /** Starts a proxy before the provider's port, and resolves with its own, which is then part of the issuer. */
  readonly proxied?: (port: number) => Promise<number>;
  /** Files of its certificate and key; without them it speaks plain HTTP. */
  readonly tls?: { readonly cert: string; readonly key: string };
}

export interface SignOnProvider {
  /** Its address, and the `iss` of its tokens. */
  readonly issuer: string;
  readonly port: number;
  /** Number of times its keys were fetched. */
  readonly keyFetches: () => number;
  /** An access token by the client credentials grant, for this audience. */
  token(client: string, audience?: string): Promise<string>;
  /** A user enters the code of a device in a browser, and agrees. */
  approve(userCode: string, user: string): Promise<void>;
  /** Refresh tokens that were used. */
  readonly refreshes: () => number;
  stop(): Promise<void>;
}

/** Tokens of machines are signed and not stored. */
class KeepsNothing {
  async upsert(): Promise<void> {}
  async find(): Promise<undefined> {}
  async findByUserCode(): Promise<undefined> {}
  async findByUid(): Promise<undefined> {}
  async consume(): Promise<void> {}
  async destroy(): Promise<void> {}
  async revokeByGrantId(): Promise<void> {}
}

/** The provider's name for the hub. */
export const AUDIENCE = 'https://hub.example.org';

export async function startProvider(setup: ProviderSetup): Promise<SignOnProvider> {
  const { keys, clients, tokenLifetimeS = 600, deviceClient, browserClient, port = 0, proxied, tls } = setup;
  let listener: RequestListener = (_request, response) => void response.writeHead(503).end();
  let keyFetches = 0;
  const listen: RequestListener = (request, response) => {
    if (request.url === '/jwks') keyFetches++;
    // A provider that starts again on the same port finds no connections of the one before.
    response.setHeader('connection', 'close');
    listener(request, response);
  };
  const server = tls
    ? createTlsServer({ cert: readFileSync(tls.cert), key: readFileSync(tls.key) }, listen)
    : createServer(listen);
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const address = server.address() as AddressInfo;
  const issuerPort = proxied ? await proxied(address.port) : address.port;
  const issuer = `${tls ? 'https' : 'http'}://127.0.0.1:${issuerPort}`;
  const [signing] = keys;
  const provider = new Provider(issuer, {
    ...(deviceClient || browserClient ? {} : { adapter: KeepsNothing }),
    ttl: { ClientCredentials: tokenLifetimeS, AccessToken: tokenLifetimeS, ...DEVICE_TTL_S },
    jwks: { keys: keys.map(({ jwk }) => jwk) as never },
    cookies: { keys: ['a key for cookies that no test uses'] },
    clients: [
      ...Object.keys(clients).map((client) => ({
        client_id: client,
        client_secret: `secret-of-${client}`,
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
        id_token_signed_response_alg: (signing?.jwk.alg ?? 'RS256') as 'RS256',
      })),
      ...(deviceClient ? [publicClient(deviceClient.id)] : []),
      ...(browserClient ? [codeClient(browserClient)] : []),
    ],
    interactions: { url: (_context, { uid }) => `${LOG_IN_PATH}${uid}` },
    issueRefreshToken: async (_context, { clientId }, code) =>
      clientId === browserClient?.id || code.scopes.has('offline_access'),
    findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    rotateRefreshToken: true,
    pkce: { required: () => true },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      deviceFlow: { enabled: deviceClient !== undefined },
      revocation: { enabled: deviceClient !== undefined || browserClient !== undefined },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => AUDIENCE,
        useGrantedResource: () => true,
        getResourceServerInfo: (_context, resource) => ({
          scope: '',
          audience: resource,
          accessTokenTTL: tokenLifetimeS,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: (signing?.jwk.alg ?? 'RS256') as 'RS256', kid: signing?.jwk.kid as string } },
        }),
      },
    },
    extraTokenClaims: (_context, token) => {
      const ofUsers = [deviceClient, browserClient].find((client) => client?.id === token.clientId);
      const roles = ofUsers ? ofUsers.roles : clients[token.clientId ?? ''];
      return roles === undefined ? undefined : { roles };
    },
  });
  let refreshes = 0;
  provider.on('grant.success', ({ oidc: { params } }) => {
    if (params?.['grant_type'] === 'refresh_token') refreshes++;
  });
  const callback = provider.callback();
  listener = (request, response) => {
    if (request.url?.startsWith(LOG_IN_PATH)) void showLogIn(provider, request, response);
    else void callback(request, response);
  };
  return {
    issuer,
    port: address.port,
    keyFetches: () => keyFetches,
    token: async (client, audience = AUDIENCE) => {
      const response = await fetch(`${issuer}/token`, {
        method: 'POST',
        headers: {
          authorization: `Basic ${Buffer.from(`${client}:secret-of-${client}`).toString('base64')}`,
          'content-type': 'application/x-www-form-urlencoded',
        },
        body: new URLSearchParams({ grant_type: 'client_credentials', resource: audience }),
      });
      const body = (await response.json()) as { access_token?: string };
      if (body.access_token === undefined) throw new Error(`no token: ${JSON.stringify(body)}`);
      return body.access_token;
    },
    approve: (userCode, user) => approve(provider, userCode, user),
    refreshes: () => refreshes,
    stop: () => closed(server),
  };
}

const DEVICE_TTL_S = { DeviceCode: 600, Grant: 3600, RefreshToken: 3600, IdToken: 600 };

function publicClient(id: string) {
  return {
    client_id: id,
    token_endpoint_auth_method: 'none' as const,
    grant_types: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
    redirect_uris: [],
    response_types: [],
  };
}

function codeClient({ id, secret }: NonNullable<ProviderSetup['browserClient']>) {
  return {
    client_id: id,
    ...(secret === undefined
      ? { token_endpoint_auth_method: 'none' as const }
      : { client_secret: secret, token_endpoint_auth_method: 'client_secret_basic' as const }),
    // Its addresses on loopback may have any port.
    application_type: 'native' as const,
    redirect_uris: ['http://127.0.0.1/sign-on'],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code' as const],
  };
}

const LOG_IN_PATH = '/log-in/';

/** The page of the provider on which a user logs in or refuses: `?user=ada` does it without a page. */
async function showLogIn(
  provider: Provider,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { searchParams } = new URL(request.url ?? '', provider.issuer);
  const user = searchParams.get('user');
  if (user === null && !searchParams.has('refuse')) {
    response.setHeader('content-type', 'text/html; charset=utf-8');
    response.end(
      '<!doctype html><html lang="en"><title>Provider</title><main><h1>The provider</h1>' +
        '<form><label>Name <input name="user"></label><button>Let me in</button></form>' +
        '<a href="?refuse">Cancel</a></main></html>',
    );
    return;
  }
  const { params } = await provider.interactionDetails(request, response);
  const result =
    user === null
      ? { error: 'access_denied' }
      : { login: { accountId: user }, consent: { grantId: await grantFor(provider, user, params) } };
  await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
}

function grantFor(provider: Provider, user: string, params: Record<string, unknown>): Promise<string> {
  const grant = new provider.Grant({ accountId: user, clientId: String(params['client_id']) });
  grant.addOIDCScope(String(params['scope']));
  grant.addResourceScope(AUDIENCE, '');
  return grant.save();
}

/** Does what the page of the provider does when its user has logged in, entered the code and agreed. */
async function approve(provider: Provider, userCode: string, user: string): Promise<void> {
  const code = await provider.DeviceCode.findByUserCode(userCode.replaceAll(/[^A-Z0-9]/g, ''), {});
  if (!code) throw new Error(`the provider knows no code ${userCode}`);
  const scope = 'openid offline_access';
  const grant = new provider.Grant({ accountId: user, clientId: code.clientId ?? '' });
  grant.addOIDCScope(scope);
  grant.addResourceScope(AUDIENCE, '');
  Object.assign(code, {
    accountId: user,
    authTime: Math.floor(Date.now() / 1000),
    grantId: await grant.save(),
    resource: AUDIENCE,
    scope,
  });
  await code.save();
}

/** A token that the provider never issued: these claims, signed with any key. */
export function forged(
  claims: Readonly<Record<string, unknown>>,
  key: CryptoKey | Uint8Array,
  header: { readonly alg: string; readonly kid?: string },
): Promise<string> {
  return new SignJWT({ ...claims }).setProtectedHeader(header).sign(key);
}

function closed(server: Pick<Server, 'close' | 'closeAllConnections'>): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
