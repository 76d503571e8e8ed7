/** What a token of the sign-on says about its holder. */
import { ROLES, type Role } from '../core/access.js';
import { escapedName } from '../core/names.js';

/** Which values of the claim give a role; null: the role's own name, in capitals or not. */
export type RoleValues = Readonly<Record<Role, readonly string[] | null>>;

type Claims = Readonly<Record<string, unknown>>;

const MAX_USERNAME_LENGTH = 255;
const MAX_SHOWN_LENGTH = 64;

/** In the composed form of Unicode (NFC), in which a name that is typed in another way is the same. Undefined when the claim
 *  holds no name that can be shown as one. */
export function usernameIn(claims: Claims, claim: string): string | undefined {
  const name = claimIn(claims, claim);
  if (typeof name !== 'string' || name.length > MAX_USERNAME_LENGTH) return undefined;
  // Nothing but what can be seen, and single spaces between.
  return /^[^\p{C}\p{Z}]+(?: [^\p{C}\p{Z}]+)*$/u.test(name) ? name.normalize('NFC') : undefined;
}

export function rolesIn(claims: Claims, claim: string, valuesOf: RoleValues): Role[] {
  const held = valuesIn(claimIn(claims, claim));
  return ROLES.filter((role) => {
    const values = valuesOf[role];
    return held.some((value) => (values ? values.includes(value) : value.toUpperCase() === role));
  });
}

/** What the claim holds, for somebody who looks into why it is refused. */
export function shownClaim(claims: Claims, claim: string): string {
  const value = claimIn(claims, claim);
  return typeof value === 'string' ? escapedName(value.slice(0, MAX_SHOWN_LENGTH)) : typeof value;
}

/** By its whole name first, since names may be addresses with dots in them, then as a path. */
function claimIn(claims: Claims, claim: string): unknown {
  if (Object.hasOwn(claims, claim)) return claims[claim];
  let at: unknown = claims;
  for (const part of claim.split('.')) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, part)) return undefined;
    at = (at as Claims)[part];
  }
  return at;
}

/** A list of texts, or one text with spaces between, as `scope` has it. */
function valuesIn(value: unknown): string[] {
  if (typeof value === 'string') return value.split(' ').filter((part) => part !== '');
  return Array.isArray(value) ? value.filter((part) => typeof part === 'string') : [];
}
