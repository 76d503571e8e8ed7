/**
 * Users and their sessions, and the secrets that stand for them. The database is shared with the commands of the
 * operator, which are processes of their own: every look is a look at what is there now. What resolves after a change
 * is durable. All reject with HubError `STORE_UNAVAILABLE` or `STORAGE_FULL` when the store cannot be used; then nothing
 * of the call has taken place.
 */
import type { Role } from '../access.js';

/** Who has the last word about a user: the configuration file, or `workbench-hub user`. */
export type UserSource = 'CONFIGURATION' | 'COMMAND';

export interface UserRecord {
  readonly username: string;
  /** As {@link Passwords.hash} gives it. */
  readonly passwordHash: string;
  readonly roles: readonly Role[];
  readonly disabled: boolean;
  readonly source: UserSource;
  readonly createdAtMs: number;
}

export interface UserChange {
  readonly passwordHash?: string;
  readonly roles?: readonly Role[];
  readonly disabled?: boolean;
  readonly source?: UserSource;
  /** Ends all sessions of the user in the same step. */
  readonly endSessions: boolean;
}

export interface UserStore {
  find(username: string): Promise<UserRecord | undefined>;
  /** By name. */
  all(): Promise<UserRecord[]>;
  /** False when there is a user of this name; then nothing is changed. */
  add(user: UserRecord): Promise<boolean>;
  /** False when there is no such user. */
  change(username: string, change: UserChange): Promise<boolean>;
  /** Also ends the user's sessions. False when there is no such user. */
  remove(username: string): Promise<boolean>;
}

export interface SessionRecord {
  readonly id: string;
  readonly username: string;
  readonly startedAtMs: number;
  /** From then on it is as if it had never been. */
  readonly expiresAtMs: number;
}

/** Of a session that is in force: its user, as that is now. */
export interface SessionHolder {
  readonly username: string;
  readonly roles: readonly Role[];
}

export type Turn =
  | { readonly kind: 'TURNED'; readonly session: SessionRecord }
  /** The token had been spent: whoever presents it, or whoever spent it, has stolen it. The session has ended. */
  | { readonly kind: 'REUSED'; readonly session: SessionRecord }
  | { readonly kind: 'UNKNOWN' };

export interface SessionStore {
  /** Opens a session; `refreshHash` is null for one that cannot be refreshed. When a user has very many sessions, the
   *  oldest one ends. False, and nothing has happened, when the user is disabled or gone by now, or has another password
   *  than the one that was checked (`passwordHash`). */
  open(session: SessionRecord, refreshHash: string | null, passwordHash: string): Promise<boolean>;
  /** Undefined when the session has ended or expired, and when its user is disabled or gone. */
  holder(sessionId: string, nowMs: number): Promise<SessionHolder | undefined>;
  /** Spends a refresh token, puts the next one in its place, and has the session expire later. */
  turn(refreshHash: string, nextHash: string, nowMs: number, expiresAtMs: number): Promise<Turn>;
  /** Ends the session of this refresh token, spent or not; the session, or undefined when the token is unknown. `kind`
   *  tells which it was. */
  end(refreshHash: string, nowMs: number): Promise<Turn>;
  /** Removes sessions and refresh tokens that have expired; how many sessions. */
  sweep(nowMs: number): Promise<number>;
}

/** A hash that is slow and takes much memory, so that a stolen database does not give the passwords away. */
export interface Passwords {
  hash(password: string): Promise<string>;
  /** Takes as long for a wrong password as for the right one. */
  verify(password: string, passwordHash: string): Promise<boolean>;
}

/** What an access token says. Who holds it, and with which roles, the session tells. */
export interface AccessClaims {
  readonly sessionId: string;
  readonly username: string;
}

export interface AccessTokens {
  /** A signed token that is good for `security.accessTokenLifetime`. */
  issue(claims: AccessClaims): Promise<string>;
  /** Whether the token says of itself that this hub made it; nothing is proven by that. */
  isOwn(token: string): boolean;
  /** Undefined when the token is not one of this hub, or had expired at `atMs`. */
  verify(token: string, atMs: number): Promise<AccessClaims | undefined>;
}

/** Secrets that nobody guesses, of which the hub keeps the hash only. */
export interface Secrets {
  newSecret(): string;
  hashOf(secret: string): string;
}
