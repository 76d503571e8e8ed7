/**
 * Users, their sessions, and the secrets that stand for them. The store is shared with the operator's commands, which are
 * processes of their own: every call reads the present state, and nothing is cached. Changes are durable when their promise
 * resolves. All reject with HubError `STORE_UNAVAILABLE` or `STORAGE_FULL` when the store cannot be used, and then change
 * nothing.
 */
import type { Role } from '../access.js';

/** Owner of a user record: the configuration file, or the hub, where a command or an administrator has added the user. */
export type UserSource = 'CONFIGURATION' | 'COMMAND';

export interface UserRecord {
  readonly username: string;
  /** Result of {@link Passwords.hash}. */
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
  /** End all sessions of the user in the same transaction. */
  readonly endSessions: boolean;
}

export interface UserStore {
  find(username: string): Promise<UserRecord | undefined>;
  /** Ordered by name. */
  all(): Promise<UserRecord[]>;
  /** False, and nothing changed, when the name is taken. */
  add(user: UserRecord): Promise<boolean>;
  /** False when there is no such user. */
  change(username: string, change: UserChange): Promise<boolean>;
  /** The same for a change that disables the user or takes the role ADMIN away. False, and nothing changed, also when the user
   *  is the only enabled one with this role. */
  changeUnlessLastAdministrator(username: string, change: UserChange): Promise<boolean>;
  /** Also ends the user's sessions. False when there is no such user. */
  remove(username: string): Promise<boolean>;
}

export interface SessionRecord {
  readonly id: string;
  readonly username: string;
  readonly startedAtMs: number;
  /** The session is invalid from this time on. */
  readonly expiresAtMs: number;
}

/** The present user of a valid session. */
export interface SessionHolder {
  readonly username: string;
  readonly roles: readonly Role[];
}

/** A session that can be refreshed, with the state of its refresh tokens. Hashes are those of {@link Secrets.hashOf}. */
export interface RefreshState {
  readonly session: SessionRecord;
  /** Hash of the valid token. */
  readonly currentHash: string;
  /** The token exchanged for the valid one; null before the first refresh. */
  readonly spent: SpentToken | null;
}

export interface SpentToken {
  readonly hash: string;
  readonly atMs: number;
  /** Derives the current token from the spent one, see {@link Secrets.derived}. */
  readonly salt: string;
}

/** One refresh: the current token is spent and replaced. */
export interface Rotation {
  readonly spent: SpentToken;
  readonly familyHash: string;
  readonly nextHash: string;
  readonly expiresAtMs: number;
}

/** Initial hashes of a session that can be refreshed. */
export interface InitialToken {
  readonly familyHash: string;
  readonly tokenHash: string;
}

/** Sessions of a user that have not expired. */
export interface UserSessions {
  readonly count: number;
  readonly latestStartedAtMs: number;
}

export interface SessionStore {
  /** Opens a session; `first` is null for one that cannot be refreshed. The oldest session of a user with very many ends.
   *  False, and nothing changed, when the user is disabled or removed, or no longer has the checked password
   *  (`passwordHash`). */
  open(session: SessionRecord, first: InitialToken | null, passwordHash: string): Promise<boolean>;
  /** Undefined when the session has ended or expired, or its user is disabled or removed. */
  holder(sessionId: string, nowMs: number): Promise<SessionHolder | undefined>;
  /** The session of a family of refresh tokens; undefined as for {@link holder}. */
  ofFamily(familyHash: string, nowMs: number): Promise<RefreshState | undefined>;
  /** Rotates the refresh token and extends the session. False, and nothing changed, when `spent` is no longer the current
   *  token, or the session has ended. */
  rotate(sessionId: string, rotation: Rotation): Promise<boolean>;
  end(sessionId: string): Promise<void>;
  /** By username; users without a session are absent. */
  ofUsers(nowMs: number): Promise<ReadonlyMap<string, UserSessions>>;
  /** Removes expired sessions; resolves with their number. */
  sweep(nowMs: number): Promise<number>;
}

/** Password hashes that are slow and take much memory, so that a stolen database does not reveal passwords. */
export interface Passwords {
  hash(password: string): Promise<string>;
  /** Takes the same time for right and wrong passwords. */
  verify(password: string, passwordHash: string): Promise<boolean>;
}

/** Claims of an access token. Holder and roles are those of the session. */
export interface AccessClaims {
  readonly sessionId: string;
  readonly username: string;
}

export interface AccessTokens {
  /** Issues a signed token, valid for `security.accessTokenLifetime`. */
  issue(claims: AccessClaims): Promise<string>;
  /** True when the token names this hub as its issuer, unverified. */
  isOwn(token: string): boolean;
  /** Undefined when the token is not from this hub, or was expired at `atMs`. */
  verify(token: string, atMs: number): Promise<AccessClaims | undefined>;
}

/** Unguessable secrets, of which the hub keeps only hashes. */
export interface Secrets {
  /** 256 bits as 43 letters, digits, `-` and `_`. */
  newSecret(): string;
  hashOf(secret: string): string;
  /** A secret that is determined by both arguments and cannot be computed from one of them. */
  derived(secret: string, salt: string): string;
}
