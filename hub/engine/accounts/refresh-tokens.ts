/**
 * Refresh tokens: 43 letters, digits, `-` and `_`. The first 21 are the family, which all tokens of a session share and by
 * which the hub finds it; the rest changes with each refresh. So an old token is recognized without a row of its own: its
 * family belongs to a session, and it is neither the current token nor the one spent last.
 */
import type { RefreshState, Secrets } from '../../core/ports/accounts.js';

/** Time for which a second tab, or a client that lost the response, may repeat the spent token (contract 8.4). */
const GRACE_MS = 15_000;

const FORM = /^[\w-]{43}$/;

/** 126 random bits, and 132 for the rest. */
const FAMILY_LENGTH = 21;

export function isRefreshToken(text: string): boolean {
  return FORM.test(text);
}

/** The part of a token that all tokens of its session share. */
export function familyOf(refreshToken: string): string {
  return refreshToken.slice(0, FAMILY_LENGTH);
}

/** The successor of `refreshToken` in its family, by the salt of this refresh. */
export function nextToken(refreshToken: string, salt: string, secrets: Secrets): string {
  return familyOf(refreshToken) + secrets.derived(refreshToken, salt).slice(FAMILY_LENGTH);
}

/** State of a token. CURRENT: valid. JUST_SPENT: spent a moment ago, repeats its refresh. OLD: copied by somebody. */
export type TokenState = 'CURRENT' | 'JUST_SPENT' | 'OLD';

/** State of the token with this hash, in a session with this refresh state. */
export function tokenStateOf(
  tokenHash: string,
  { currentHash, spent }: RefreshState,
  nowMs: number,
): TokenState {
  if (tokenHash === currentHash) return 'CURRENT';
  // A clock that was set back must not extend the grace.
  const isRecent = spent !== null && Math.abs(nowMs - spent.atMs) <= GRACE_MS;
  return isRecent && tokenHash === spent.hash ? 'JUST_SPENT' : 'OLD';
}
