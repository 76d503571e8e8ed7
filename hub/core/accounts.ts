/** Rules for usernames, passwords and password hashes. */
import { holdsRole, type Role } from './access.js';

/** Case-sensitive: `Anna` and `anna` are two users. */
export const USERNAME = /^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$/;

export const USERNAME_ALLOWED =
  '1 to 64 letters, digits and the characters . _ @ -, beginning with a letter or digit';

export function isUsername(text: string): boolean {
  return USERNAME.test(text);
}

export const MIN_PASSWORD_LENGTH = 8;
export const MAX_PASSWORD_LENGTH = 1024;

/** Validation error of a new password; undefined when it is valid. */
export function passwordError(password: string): string | undefined {
  if (/\p{Cc}/u.test(password)) return 'a password has no line breaks and no other control characters';
  const { length } = password;
  if (length >= MIN_PASSWORD_LENGTH && length <= MAX_PASSWORD_LENGTH) return undefined;
  return `a password has ${MIN_PASSWORD_LENGTH} to ${MAX_PASSWORD_LENGTH} characters, this one has ${length}`;
}

/** Whether the user is the only one who is enabled and has the role ADMIN. */
export function isLastAdministrator(
  username: string,
  users: readonly {
    readonly username: string;
    readonly roles: readonly Role[];
    readonly disabled: boolean;
  }[],
): boolean {
  const usable = users.filter((user) => !user.disabled && holdsRole(user, 'ADMIN'));
  return usable.length === 1 && usable[0]?.username === username;
}

/** Cost of one password check: 128 * 2^ln * r bytes of memory, p times. */
export interface ScryptCost {
  readonly ln: number;
  readonly r: number;
  readonly p: number;
}

export interface PasswordHash {
  readonly cost: ScryptCost;
  /** Base64 without padding. */
  readonly salt: string;
  readonly hash: string;
}

/** Limit that keeps a stored hash from exhausting the hub: 128 MiB and eight rounds. */
const MOST: ScryptCost = { ln: 17, r: 8, p: 8 };
const LEAST: ScryptCost = { ln: 10, r: 8, p: 1 };

export const PASSWORD_HASH_ALLOWED = 'what `workbench-hub hash-password` prints: $scrypt$ln=…,r=…,p=…$…$…';

/** Reads `$scrypt$ln=15,r=8,p=3$<salt>$<hash>` (the PHC string format); undefined for anything else. */
export function parsePasswordHash(text: string): PasswordHash | undefined {
  const form =
    /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{22,86})\$([A-Za-z0-9+/]{43,86})$/;
  const [, ln, r, p, salt, hash] = form.exec(text) ?? [];
  if (salt === undefined || hash === undefined) return undefined;
  const cost = { ln: Number(ln), r: Number(r), p: Number(p) };
  const fits = (['ln', 'r', 'p'] as const).every((key) => cost[key] >= LEAST[key] && cost[key] <= MOST[key]);
  return fits ? { cost, salt, hash } : undefined;
}

/** Text of a hash, as {@link parsePasswordHash} reads it. */
export function formatPasswordHash({ cost: { ln, r, p }, salt, hash }: PasswordHash): string {
  return `$scrypt$ln=${ln},r=${r},p=${p}$${salt}$${hash}`;
}
