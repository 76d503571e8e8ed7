/** Name and roles in the claims of a sign-on token. */
import { ROLES, type Role } from '../core/access.js';
import { escapedName } from '../core/names.js';

/** Claim values that give a role; null: the role's own name in any case. */
export type RoleValues = Readonly<Record<Role, readonly string[] | null>>;

type Claims = Readonly<Record<string, unknown>>;

const MAX_USERNAME_LENGTH = 255;
const MAX_SHOWN_LENGTH = 64;

/** The name in composed form (NFC), so that equal-looking names are equal. Undefined when the claim has no displayable
 *  name. */
export function usernameIn(claims: Claims, claim: string): string | undefined {
  const name = claimIn(claims, claim);
  if (typeof name !== 'string' || name.length > MAX_USERNAME_LENGTH) return undefined;
  // Visible characters and single spaces only.
  return /^[^\p{C}\p{Z}]+(?: [^\p{C}\p{Z}]+)*$/u.test(name) ? name.normalize('NFC') : undefined;
}

export function rolesIn(claims: Claims, claim: string, valuesOf: RoleValues): Role[] {
  const held = valuesIn(claimIn(claims, claim));
  return ROLES.filter((role) => {
    const values = valuesOf[role];
    return held.some((value) => (values ? values.includes(value) : value.toUpperCase() === role));
  });
}

/** Value of the claim, for the log. */
export function shownClaim(claims: Claims, claim: string): string {
  const value = claimIn(claims, claim);
  return typeof value === 'string' ? escapedName(value.slice(0, MAX_SHOWN_LENGTH)) : typeof value;
}

/** Looked up by the whole name first, since names may be addresses with dots, then as a path. */
function claimIn(claims: Claims, claim: string): unknown {
  if (Object.hasOwn(claims, claim)) return claims[claim];
  let at: unknown = claims;
  for (const part of claim.split('.')) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, part)) return undefined;
    at = (at as Claims)[part];
  }
  return at;
}

/** A list of strings, or one string separated by spaces, like `scope`. */
function valuesIn(value: unknown): string[] {
  if (typeof value === 'string') return value.split(' ').filter((part) => part !== '');
  return Array.isArray(value) ? value.filter((part) => typeof part === 'string') : [];
}
