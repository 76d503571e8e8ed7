/** OIDC sign-on: verification of access tokens with the provider's public keys. Nothing of them is stored. */
import { decodeJwt, errors, type JWTPayload, type JWTVerifyResult, jwtVerify } from 'jose';
import type { Caller } from '../core/access.js';
import { ROLES } from '../core/access.js';
import { HubError } from '../core/errors.js';
import { escapedName, likenessFault, likenessOf } from '../core/names.js';
import type { Authenticator } from '../engine/accounts/authenticator-chain.js';
import { type RoleValues, rolesIn, shownClaim, usernameIn } from './oidc-claims.js';
import { type KeySet, ProviderKeys, type ProviderKeysOptions } from './provider-keys.js';

export interface OidcOptions extends ProviderKeysOptions {
  /** Audience of the tokens: the provider's name for this hub. */
  readonly audience: string;
  readonly usernameClaim: string;
  readonly rolesClaim: string;
  readonly roles: RoleValues;
  /** Maximum difference between the clocks of provider and hub. */
  readonly clockToleranceMs: number;
  /** True when the hub has a local user of this name. */
  readonly isOwnUser: (username: string) => Promise<boolean>;
  /** Names of all local users. */
  readonly ownUsers: () => Promise<readonly string[]>;
}

/** Asymmetric signatures only: with a shared secret, every verifier could forge. */
const ALGORITHMS = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];

/** Maximum refused names that are logged. */
const MAX_LOGGED_NAMES = 1000;

/** Maximum cached tokens. */
const MAX_REMEMBERED = 10_000;

interface Remembered {
  readonly caller: Caller;
  /** Expiry in wall-clock time, like the claims. */
  readonly expiresAtMs: number;
  /** End of use in monotonic time. */
  readonly untilMs: number;
}

export function oidcAuthenticator(options: OidcOptions): Authenticator {
  const { issuer, runtime, isOwnUser, ownUsers, log } = options;
  const { clock } = runtime;
  const keys = new ProviderKeys(options);
  const remembered = new Map<string, Remembered>();

  const recall = (token: string, atMs: number): Caller | undefined => {
    const known = remembered.get(token);
    if (!known) return undefined;
    if (clock.monotonicMs() < known.untilMs && atMs < known.expiresAtMs) return known.caller;
    remembered.delete(token);
    return undefined;
  };

  const loggedNames = new Set<string>();
  /** Logs each name once, in an escaped form. */
  const refuseName = (name: string, fault: string): HubError => {
    const shown = escapedName(name);
    if (!loggedNames.has(name) && loggedNames.size < MAX_LOGGED_NAMES) {
      loggedNames.add(name);
      log.warn(
        { name: shown, fault },
        'a name of the sign-on was refused: correct it there, or take another claim',
      );
    }
    return new HubError(
      'FORBIDDEN',
      `the name ${shown} that the sign-on gives could be taken for another one; ask the administrator of the identity provider`,
    );
  };

  const lookAlike = async (name: string): Promise<string | undefined> => {
    const likeness = likenessOf(name);
    return (await ownUsers()).find((own) => own !== name && likenessOf(own) === likeness);
  };

  const verify = async (token: string, atMs: number): Promise<Caller> => {
    const { payload, keySet } = await verified(token, atMs, keys, options);
    const caller = callerOf(payload, options, refuseName);
    const like = await lookAlike(caller.username);
    if (like !== undefined)
      throw refuseName(caller.username, `it looks like ${like}, a user of this hub's own`);
    const oldest = remembered.keys().next().value;
    if (remembered.size >= MAX_REMEMBERED && oldest !== undefined) remembered.delete(oldest);
    remembered.set(token, {
      caller,
      expiresAtMs: (payload.exp as number) * 1000 + options.clockToleranceMs,
      untilMs: keySet.freshUntilMs,
    });
    return caller;
  };

  return {
    recognizes: (token) => remembered.has(token) || issuerOf(token) === issuer,
    identify: async (token, atMs = clock.nowMs()) => {
      const caller = recall(token, atMs) ?? (await verify(token, atMs));
      if (await isOwnUser(caller.username)) {
        throw new HubError(
          'FORBIDDEN',
          `${caller.username} is also the name of a local user, so task ownership would be ambiguous: an administrator ` +
            'has to remove or rename that user',
        );
      }
      return caller;
    },
  };
}

/** Unverified claims of the token. */
function issuerOf(token: string): unknown {
  try {
    return decodeJwt(token).iss;
  } catch {
    return undefined;
  }
}

interface Verified {
  readonly payload: JWTPayload;
  readonly keySet: KeySet;
}

/** Rejects with UNAUTHENTICATED and SIGN_ON_UNAVAILABLE. */
async function verified(
  token: string,
  atMs: number,
  keys: ProviderKeys,
  options: OidcOptions,
): Promise<Verified> {
  const known = await keys.current();
  try {
    return { payload: await verifiedBy(token, atMs, known, options), keySet: known };
  } catch (error) {
    if (!(error instanceof errors.JWKSNoMatchingKey)) throw refused(error, options);
  }
  // The provider may use a new signing key.
  const newer = await keys.newerThan(known);
  if (!newer) throw refused(new errors.JWKSNoMatchingKey(), options);
  try {
    return { payload: await verifiedBy(token, atMs, newer, options), keySet: newer };
  } catch (error) {
    throw refused(error, options);
  }
}

async function verifiedBy(
  token: string,
  atMs: number,
  { keyOf }: KeySet,
  { issuer, audience, clockToleranceMs }: OidcOptions,
): Promise<JWTPayload> {
  const rules = {
    issuer,
    audience,
    algorithms: ALGORITHMS,
    requiredClaims: ['exp'],
    clockTolerance: clockToleranceMs / 1000,
    currentDate: new Date(atMs),
  };
  const { payload } = await jwtVerify(token, keyOf, rules).catch(async (error: unknown) => {
    if (error instanceof errors.JWKSMultipleMatchingKeys) return verifiedByAny(token, error, rules);
    throw error;
  });
  const { iat } = payload;
  if (iat !== undefined && iat * 1000 > atMs + clockToleranceMs) {
    throw new errors.JWTClaimValidationFailed('issued in the future', payload, 'iat', 'check_failed');
  }
  return payload;
}

/** For tokens that do not name their key. */
async function verifiedByAny(
  token: string,
  candidates: errors.JWKSMultipleMatchingKeys,
  rules: Parameters<typeof jwtVerify>[2],
): Promise<JWTVerifyResult> {
  for await (const key of candidates) {
    try {
      return await jwtVerify(token, key, rules);
    } catch (error) {
      if (!(error instanceof errors.JWSSignatureVerificationFailed)) throw error;
    }
  }
  throw new errors.JWSSignatureVerificationFailed();
}

function refused(error: unknown, { audience, log }: OidcOptions): HubError {
  log.debug({ reason: (error as Error).message }, 'a token of the sign-on was refused');
  return new HubError(
    'UNAUTHENTICATED',
    `the token of the sign-on is not valid: ${faultOf(error, audience)}`,
  );
}

function faultOf(error: unknown, audience: string): string {
  if (error instanceof errors.JWTExpired) return 'it has expired; get a new one from the provider';
  if (error instanceof errors.JWTClaimValidationFailed) {
    if (error.claim === 'aud')
      return `it is not for the audience ${audience}; ask the provider for one that is`;
    if (error.claim === 'exp') return 'it lacks a time at which it expires (exp)';
    return `its claim ${error.claim} does not hold; are the clocks right?`;
  }
  return 'it is not signed by a key of the provider';
}

/** Throws FORBIDDEN without a name or role. */
function callerOf(
  claims: JWTPayload,
  { usernameClaim, rolesClaim, roles: valuesOf }: OidcOptions,
  refuseName: (name: string, fault: string) => HubError,
): Caller {
  const username = usernameIn(claims, usernameClaim);
  if (username === undefined) {
    const shown = shownClaim(claims, usernameClaim);
    throw new HubError(
      'FORBIDDEN',
      `the token of the sign-on (${shown}) has no name in its claim ${usernameClaim}`,
    );
  }
  const fault = likenessFault(username);
  if (fault !== undefined) throw refuseName(username, fault);
  const roles = rolesIn(claims, rolesClaim, valuesOf);
  if (roles.length === 0) {
    throw new HubError(
      'FORBIDDEN',
      `the sign-on gives ${username} none of the roles ${ROLES.join(', ')}: its claim ${rolesClaim} has no value that ` +
        'stands for one; ask the administrator of the identity provider',
    );
  }
  return { username, roles, by: 'SIGN_ON' };
}
