/**
 * Access tokens: JWT signed by HMAC-SHA-256, for the hub that issues them also verifies them. They name a session and no
 * roles. A verified token is cached until it expires, so that a request costs microseconds.
 */
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { decodeJwt, errors, jwtVerify, SignJWT } from 'jose';
import type { AccessClaims, AccessTokens } from '../core/ports/accounts.js';
import type { SigningKeys } from './signing-keys.js';

const ALGORITHM = 'HS256';
const TYPE = 'at+jwt';

/** Issuer and audience: the hub issues tokens for itself. */
const HUB = 'workbench-hub';

const MAX_REMEMBERED = 10_000;

interface Verified extends AccessClaims {
  readonly expiresAtMs: number;
}

export interface AccessTokensOptions {
  readonly keys: SigningKeys;
  readonly lifetimeMs: number;
  readonly clock: Clock;
  readonly newId: () => string;
}

/** Access tokens with their cache. */
export interface CachedAccessTokens extends AccessTokens {
  /** Number of verified tokens that are remembered. */
  readonly remembered: () => number;
}

export function accessTokens({ keys, lifetimeMs, clock, newId }: AccessTokensOptions): CachedAccessTokens {
  const remembered = new Map<string, Verified>();
  const recall = (token: string, atMs: number): Verified | undefined => {
    const verified = remembered.get(token);
    if (!verified || verified.expiresAtMs > atMs) return verified;
    remembered.delete(token);
    return undefined;
  };
  /** Forgets tokens that have expired, of which the first remembered usually expires first, and one when there are too many. */
  const remember = (token: string, verified: Verified, atMs: number) => {
    for (const [oldest, { expiresAtMs }] of remembered) {
      if (expiresAtMs > atMs && remembered.size < MAX_REMEMBERED) break;
      remembered.delete(oldest);
    }
    remembered.set(token, verified);
  };

  return {
    issue: async ({ sessionId, username }) => {
      const { kid, secret } = await keys.newest();
      const nowMs = clock.nowMs();
      return (
        new SignJWT({ sid: sessionId })
          .setProtectedHeader({ alg: ALGORITHM, typ: TYPE, kid })
          .setIssuer(HUB)
          .setAudience(HUB)
          .setSubject(username)
          // The other claims are equal for all tokens of a session within a second.
          .setJti(newId())
          .setIssuedAt(Math.floor(nowMs / 1000))
          .setExpirationTime(Math.ceil((nowMs + lifetimeMs) / 1000))
          .sign(secret)
      );
    },
    remembered: () => remembered.size,
    isOwn: (token) => remembered.has(token) || issuerOf(token) === HUB,
    verify: async (token, atMs) => {
      const known = recall(token, atMs);
      if (known) return known;
      const verified = await check(token, keys, atMs);
      if (verified) remember(token, verified, atMs);
      return verified;
    },
  };
}

async function check(token: string, keys: SigningKeys, atMs: number): Promise<Verified | undefined> {
  try {
    const { payload } = await jwtVerify(
      token,
      async ({ kid }) => {
        const key = kid === undefined ? undefined : await keys.find(kid);
        if (!key) throw new errors.JWKSNoMatchingKey();
        return key.secret;
      },
      {
        algorithms: [ALGORITHM],
        typ: TYPE,
        issuer: HUB,
        audience: HUB,
        requiredClaims: ['sub', 'sid', 'iat', 'exp'],
        currentDate: new Date(atMs),
      },
    );
    const { sub, sid, exp } = payload;
    if (typeof sub !== 'string' || typeof sid !== 'string' || exp === undefined) return undefined;
    return { username: sub, sessionId: sid, expiresAtMs: exp * 1000 };
  } catch (error) {
    if (error instanceof errors.JOSEError) return undefined;
    throw error;
  }
}

/** Unverified origin of a token; undefined when it is no JWT. */
function issuerOf(token: string): unknown {
  try {
    return decodeJwt(token).iss;
  } catch {
    return undefined;
  }
}
