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

/** A session that can be refreshed, and what is known of its refresh tokens. Hashes are as {@link Secrets.hashOf} gives them. */
export interface RefreshState {
  readonly session: SessionRecord;
  /** The token that is good now. */
  readonly currentHash: string;
  /** The token that was spent for it; null before the first refresh. */
  readonly spent: SpentToken | null;
}

export interface SpentToken {
  readonly hash: string;
  readonly atMs: number;
  /** Turns the spent token into the current one again, see {@link Secrets.derived}. */
  readonly salt: string;
}

/** One refresh: the current token is spent, and another one takes its place. */
export interface Rotation {
  readonly spent: SpentToken;
  readonly familyHash: string;
  readonly nextHash: string;
  readonly expiresAtMs: number;
}

/** The hashes with which a session begins that can be refreshed. */
export interface InitialToken {
  readonly familyHash: string;
  readonly tokenHash: string;
}

export interface SessionStore {
  /** Opens a session; `first` is null for one that cannot be refreshed. When a user has very many sessions, the oldest one
   *  ends. False, and nothing has happened, when the user is disabled or gone by now, or has another password than the one
   *  that was checked (`passwordHash`). */
  open(session: SessionRecord, first: InitialToken | null, passwordHash: string): Promise<boolean>;
  /** Undefined when the session has ended or expired, and when its user is disabled or gone. */
  holder(sessionId: string, nowMs: number): Promise<SessionHolder | undefined>;
  /** The session of a family of refresh tokens; undefined as for {@link holder}. */
  ofFamily(familyHash: string, nowMs: number): Promise<RefreshState | undefined>;
  /** Turns the refresh token over and has the session expire later. False, and nothing has happened, when `spent` is not the
   *  current token any more, or the session has ended. */
  rotate(sessionId: string, turn: Rotation): Promise<boolean>;
  end(sessionId: string): Promise<void>;
  /** Removes sessions that have expired; how many. */
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
  /** 256 bits as 43 letters, digits, `-` and `_`. */
  newSecret(): string;
  hashOf(secret: string): string;
  /** Another secret, always the same for the same two; who knows only one of them cannot tell it. */
  derived(secret: string, salt: string): string;
}
