/**
 * Refresh tokens: 43 letters, digits, `-` and `_`, of which the first 21 are the family and the others the turn. All tokens of a
 * session have the same family, by which the hub finds the session, and each refresh gives another turn. So an old token is
 * recognised without a row of its own: its family is that of a session, and it is neither the current token nor the one
 * that was spent last.
 */
import type { RefreshState, Secrets } from '../../core/ports/accounts.js';

/** A second tab, or a client that lost the answer, may use the spent token again for so long (contract 8.4). */
const GRACE_MS = 15_000;

const FORM = /^[\w-]{43}$/;

/** 126 bits of chance, and 132 for the turn. */
const FAMILY_LENGTH = 21;

export function isRefreshToken(text: string): boolean {
  return FORM.test(text);
}

export function familyOf(refreshToken: string): string {
  return refreshToken.slice(0, FAMILY_LENGTH);
}

/** The token that comes after `refreshToken` in its family, by the salt of this refresh. */
export function nextToken(refreshToken: string, salt: string, secrets: Secrets): string {
  return familyOf(refreshToken) + secrets.derived(refreshToken, salt).slice(FAMILY_LENGTH);
}

/** How a token stands to its session. CURRENT: it is good. JUST_SPENT: it was good until a moment ago, and gives once more
 *  what it gave. OLD: somebody has a copy of it. */
export type TokenState = 'CURRENT' | 'JUST_SPENT' | 'OLD';

export function tokenStateOf(
  tokenHash: string,
  { currentHash, spent }: RefreshState,
  nowMs: number,
): TokenState {
  if (tokenHash === currentHash) return 'CURRENT';
  // A clock that was set back must not make the grace longer.
  const isRecent = spent !== null && Math.abs(nowMs - spent.atMs) <= GRACE_MS;
  return isRecent && tokenHash === spent.hash ? 'JUST_SPENT' : 'OLD';
}
