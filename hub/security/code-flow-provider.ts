/** The provider of the sign-on, as the client that logs browsers in by the authorization code flow. */
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import type { Configuration, CustomFetchOptions, TokenEndpointResponse } from 'openid-client';
import {
  type LogInChecks,
  ProviderRefusal,
  type ProviderTokens,
  type SignOnProvider,
} from '../core/ports/sign-on.js';
import { boundedRequest, type ForeignServer } from './bounded-request.js';
import { isSafeAddress } from './safe-address.js';

export interface SignOnClient {
  readonly issuer: string;
  readonly clientId: string;
  /** Null for a public client. */
  readonly clientSecret: string | null;
  readonly scopes: readonly string[];
  /** Name of the hub in requests (RFC 8707); null for none. */
  readonly resource: string | null;
}

/** Age at which the description of the provider is fetched again. */
const FRESH_MS = 5 * 60_000;

export class CodeFlowProvider implements SignOnProvider {
  readonly #client: SignOnClient;
  readonly #server: ForeignServer;
  readonly #clock: Clock;
  #known: { readonly configuration: Promise<Configuration>; readonly atMs: number } | undefined;

  constructor(client: SignOnClient, server: ForeignServer, clock: Clock) {
    this.#client = client;
    this.#server = server;
    this.#clock = clock;
  }

  async begin(redirectUri: string): Promise<{ readonly location: string; readonly checks: LogInChecks }> {
    const { buildAuthorizationUrl, calculatePKCECodeChallenge, randomPKCECodeVerifier, randomState } =
      await import('openid-client');
    const configuration = await this.#configuration();
    const checks = { state: randomState(), verifier: randomPKCECodeVerifier(), redirectUri };
    const location = buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      scope: this.#client.scopes.join(' '),
      state: checks.state,
      code_challenge: await calculatePKCECodeChallenge(checks.verifier),
      code_challenge_method: 'S256',
      ...this.#resource(),
    });
    return { location: location.href, checks };
  }

  async finish(query: string, { state, verifier, redirectUri }: LogInChecks): Promise<ProviderTokens> {
    const { authorizationCodeGrant } = await import('openid-client');
    const configuration = await this.#configuration();
    const checks = { expectedState: state, pkceCodeVerifier: verifier };
    const address = new URL(`${redirectUri}?${query}`);
    return granted(() => authorizationCodeGrant(configuration, address, checks, this.#resource()));
  }

  async refresh(refreshToken: string): Promise<ProviderTokens> {
    const { refreshTokenGrant } = await import('openid-client');
    const configuration = await this.#configuration();
    const tokens = await granted(() => refreshTokenGrant(configuration, refreshToken, this.#resource()));
    return { refreshToken, ...withoutUndefined(tokens) };
  }

  async revoke(refreshToken: string): Promise<void> {
    const { tokenRevocation } = await import('openid-client');
    const configuration = await this.#configuration();
    if (configuration.serverMetadata().revocation_endpoint === undefined) return;
    await tokenRevocation(configuration, refreshToken, { token_type_hint: 'refresh_token' });
  }

  #resource(): Record<string, string> {
    const { resource } = this.#client;
    return resource === null ? {} : { resource };
  }

  /** One request serves all who need the description at the same time. */
  #configuration(): Promise<Configuration> {
    const atMs = this.#clock.monotonicMs();
    if (this.#known && atMs < this.#known.atMs + FRESH_MS) return this.#known.configuration;
    const configuration = this.#discover();
    const known = { configuration, atMs };
    this.#known = known;
    configuration.catch(() => {
      if (this.#known === known) this.#known = undefined;
    });
    return configuration;
  }

  async #discover(): Promise<Configuration> {
    const { allowInsecureRequests, ClientSecretBasic, customFetch, discovery, None } = await import(
      'openid-client'
    );
    const { issuer, clientId, clientSecret } = this.#client;
    const address = new URL(issuer);
    const authentication = clientSecret === null ? None() : ClientSecretBasic(clientSecret);
    return discovery(address, clientId, undefined, authentication, {
      [customFetch]: (url: string, options: CustomFetchOptions) => this.#fetch(url, options),
      // The configuration permits it for loopback only.
      execute: address.protocol === 'http:' ? [allowInsecureRequests] : [],
    });
  }

  async #fetch(address: string, { method, headers, body }: CustomFetchOptions): Promise<Response> {
    if (!isSafeAddress(address)) throw new Error(`${address} is not https`);
    const text = body === null || body === undefined ? '' : String(body);
    const received = await boundedRequest(address, { method, headers, body: text }, this.#server);
    const hasBody = ![204, 205, 304].includes(received.status);
    const answered = Object.entries(received.headers).map(([name, value]) => [name, String(value)] as const);
    return new Response(hasBody ? received.body : null, {
      status: received.status,
      headers: Object.fromEntries(answered),
    });
  }
}

async function granted(ask: () => Promise<TokenEndpointResponse>): Promise<ProviderTokens> {
  const { AuthorizationResponseError, ResponseBodyError, WWWAuthenticateChallengeError } = await import(
    'openid-client'
  );
  try {
    const { access_token: accessToken, refresh_token: refreshToken } = await ask();
    return { accessToken, refreshToken };
  } catch (error) {
    if (error instanceof AuthorizationResponseError || error instanceof ResponseBodyError)
      throw new ProviderRefusal(error.error, { cause: error });
    if (error instanceof WWWAuthenticateChallengeError)
      throw new ProviderRefusal(error.cause[0]?.parameters['error'] ?? 'invalid_client', { cause: error });
    throw error;
  }
}

function withoutUndefined({ accessToken, refreshToken }: ProviderTokens) {
  return { accessToken, ...(refreshToken === undefined ? {} : { refreshToken }) };
}
