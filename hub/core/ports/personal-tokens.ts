/** Personal tokens, of which only hashes are kept. All reject with HubError `STORE_UNAVAILABLE` or `STORAGE_FULL` when the
 *  store cannot be used, and then change nothing. Changes are durable when their promise resolves. An expired token is not
 *  found. */
import type { Role, TokenRole } from '../access.js';

export interface PersonalTokenRecord {
  readonly id: string;
  /** Owner; the token is removed with the user. */
  readonly username: string;
  /** Label given by the owner. */
  readonly name: string;
  /** Upper bound of its permissions. */
  readonly role: TokenRole;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  readonly lastUsedAtMs: number | null;
}

/** A valid token and the present roles of its user. */
export interface PersonalTokenHolder {
  readonly token: PersonalTokenRecord;
  readonly userRoles: readonly Role[];
}

export interface PersonalTokenStore {
  /** False, and nothing added, when the user has `limit` tokens. */
  add(token: PersonalTokenRecord, hash: string, limit: number): Promise<boolean>;
  /** Undefined when there is no such token, or its user is disabled. */
  holder(hash: string, nowMs: number): Promise<PersonalTokenHolder | undefined>;
  find(id: string, nowMs: number): Promise<PersonalTokenRecord | undefined>;
  /** Latest first. */
  ofUser(username: string, nowMs: number): Promise<PersonalTokenRecord[]>;
  remove(id: string): Promise<void>;
  /** Records the latest uses, by id. */
  used(lastUsedAtMs: ReadonlyMap<string, number>): Promise<void>;
  /** Removes expired tokens; resolves with their number. */
  sweep(nowMs: number): Promise<number>;
}
