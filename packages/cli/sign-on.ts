/** The company's sign-on: tokens by the device flow (RFC 8628), which all programs of a profile renew in turn. */
import { type Credentials, UnreachableError } from '@workbench-hub/client';
import type { Configuration, TokenEndpointResponse } from 'openid-client';
import { SignOnError } from './exit-codes.js';
import {
  changeProfiles,
  type Profile,
  profilesFile,
  readProfiles,
  type SignOn,
  withLock,
} from './profiles.js';

/** Time before its expiry in which a token is renewed. */
const EARLY_MS = 30_000;
/** Longest time of a request to the provider. */
const PROVIDER_TIMEOUT_S = 15;
/** A renewal this old was left by a killed program. */
const STALE_MS = 60_000;

/** Step that the user takes in a browser. */
export interface DeviceCode {
  readonly code: string;
  readonly url: string;
  /** Address that already has the code; some providers have none. */
  readonly completeUrl: string | undefined;
}

/** Token of a sign-on with what renews it. */
export type SignedOn = Required<Pick<Profile, 'token' | 'signOn'>>;

/** Gets a token for a user who enters the code in any browser. Rejects with {@link SignOnError} when that is refused or late. */
export async function signOnByDevice(
  signOn: SignOn,
  fetch: typeof globalThis.fetch,
  show: (code: DeviceCode) => void,
): Promise<SignedOn> {
  const { initiateDeviceAuthorization, pollDeviceAuthorizationGrant } = await import('openid-client');
  return asked(async () => {
    const configuration = await providerOf(signOn, fetch);
    const device = await initiateDeviceAuthorization(configuration, parametersOf(signOn));
    show({
      code: device.user_code,
      url: device.verification_uri,
      completeUrl: device.verification_uri_complete,
    });
    return signedOn(signOn, await pollDeviceAuthorizationGrant(configuration, device, resourceOf(signOn)));
  });
}

/** Ends the sign-on at the provider, if that can be done there. */
export async function endSignOn(signOn: SignOn, fetch: typeof globalThis.fetch): Promise<void> {
  const { refreshToken } = signOn;
  if (refreshToken === undefined) return;
  const { tokenRevocation } = await import('openid-client');
  await asked(async () => {
    const configuration = await providerOf(signOn, fetch);
    if (configuration.serverMetadata().revocation_endpoint === undefined) return;
    await tokenRevocation(configuration, refreshToken, { token_type_hint: 'refresh_token' });
  });
}

/** The token of a profile, which is renewed before its expiry, and written back for the other programs of the profile. */
export class SignOnCredentials implements Credentials {
  readonly #name: string;
  readonly #fetch: typeof globalThis.fetch;
  #current: Profile;
  #underway: Promise<string> | undefined;

  constructor(name: string, profile: Profile, fetch: typeof globalThis.fetch) {
    this.#name = name;
    this.#current = profile;
    this.#fetch = fetch;
  }

  async token(): Promise<string> {
    const { token } = this.#current;
    return token !== undefined && isFresh(this.#current) ? token : this.#renewed(token);
  }

  async renew(rejected: string | undefined): Promise<boolean> {
    return (await this.#renewed(rejected)) !== rejected;
  }

  #renewed(old: string | undefined): Promise<string> {
    this.#underway ??= this.#renew(old).finally(() => {
      this.#underway = undefined;
    });
    return this.#underway;
  }

  /** A provider may end a sign-on whose refresh token is used twice, so programs take turns, and look what the others have done. */
  #renew(old: string | undefined): Promise<string> {
    const lock = `${profilesFile()}.${encodeURIComponent(this.#name)}.lock`;
    return withLock(lock, STALE_MS, async () => {
      const profile = (await readProfiles()).profiles[this.#name];
      if (profile?.signOn === undefined) throw ended('the profile is gone');
      this.#current = profile;
      if (profile.token !== undefined && profile.token !== old && isFresh(profile)) return profile.token;
      const next = await refreshed(profile.signOn, this.#fetch);
      const renewed = { ...profile, ...next };
      if (!(await this.#keep(renewed, profile.signOn))) {
        // A provider that cannot be reached now ends it at its expiry; nobody has its token.
        await endSignOn(next.signOn, this.#fetch).catch(() => undefined);
        throw ended('its profile was removed or replaced meanwhile');
      }
      this.#current = renewed;
      return next.token;
    });
  }

  /** Whether the profile still has the sign-on that was renewed: the user may have logged out, or in as somebody else. */
  async #keep(renewed: Profile, { refreshToken }: SignOn): Promise<boolean> {
    let isKept = false;
    await changeProfiles((all) => {
      isKept = all.profiles[this.#name]?.signOn?.refreshToken === refreshToken;
      return isKept ? { ...all, profiles: { ...all.profiles, [this.#name]: renewed } } : all;
    });
    return isKept;
  }
}

async function refreshed(signOn: SignOn, fetch: typeof globalThis.fetch): Promise<SignedOn> {
  const { refreshToken } = signOn;
  if (refreshToken === undefined) throw ended('its token has expired');
  const { refreshTokenGrant } = await import('openid-client');
  return asked(async () => {
    const configuration = await providerOf(signOn, fetch);
    const tokens = await refreshTokenGrant(configuration, refreshToken, resourceOf(signOn));
    return signedOn({ ...signOn, refreshToken }, tokens);
  });
}

async function providerOf(
  { issuer, clientId }: SignOn,
  fetch: typeof globalThis.fetch,
): Promise<Configuration> {
  const { allowInsecureRequests, customFetch, discovery, None } = await import('openid-client');
  const address = new URL(issuer);
  const isLocal = ['127.0.0.1', '[::1]', 'localhost'].includes(address.hostname);
  if (address.protocol !== 'https:' && !isLocal)
    throw new SignOnError(`the sign-on ${issuer} has no TLS: everybody on the way could read its tokens`);
  return discovery(address, clientId, undefined, None(), {
    [customFetch]: (url: string, init: unknown) => fetch(url, init as RequestInit),
    execute: address.protocol === 'http:' ? [allowInsecureRequests] : [],
    timeout: PROVIDER_TIMEOUT_S,
  });
}

function parametersOf(signOn: SignOn): Record<string, string> {
  return { scope: signOn.scopes.join(' '), ...resourceOf(signOn) };
}

function resourceOf({ resource }: SignOn): Record<string, string> {
  return resource === undefined ? {} : { resource };
}

function signedOn(
  signOn: SignOn,
  { access_token: token, refresh_token: refreshToken, expires_in: expiresIn }: TokenEndpointResponse,
): SignedOn {
  const expiresAt =
    expiresIn === undefined ? undefined : new Date(Date.now() + expiresIn * 1000).toISOString();
  const { expiresAt: _, ...known } = signOn;
  return {
    token,
    signOn: {
      ...known,
      ...(refreshToken === undefined ? {} : { refreshToken }),
      ...(expiresAt === undefined ? {} : { expiresAt }),
    },
  };
}

function isFresh({ signOn }: Profile): boolean {
  return signOn?.expiresAt === undefined || Date.parse(signOn.expiresAt) - EARLY_MS > Date.now();
}

function ended(reason: string): SignOnError {
  return new SignOnError(`the sign-on has ended, ${reason}. Log in with: wb login`);
}

/** Errors of the provider in words. */
async function asked<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof SignOnError) throw error;
    const { ResponseBodyError } = await import('openid-client');
    if (error instanceof ResponseBodyError) throw refusal(error.error, error.error_description, error);
    throw new UnreachableError(`the sign-on cannot be reached: ${innermost(error)}`, { cause: error });
  }
}

function refusal(code: string, description: string | undefined, cause: unknown): SignOnError {
  if (code === 'access_denied') return new SignOnError('the login was refused in the browser', { cause });
  if (code === 'expired_token')
    return new SignOnError('the code was not entered in time: log in again', { cause });
  if (code === 'invalid_grant') return ended('or was ended by the provider');
  return new SignOnError(`the sign-on refused: ${description ?? code}`, { cause });
}

function innermost(error: unknown): string {
  let found = error;
  while (found instanceof Error && found.cause instanceof Error) found = found.cause;
  return found instanceof Error ? found.message : String(found);
}
