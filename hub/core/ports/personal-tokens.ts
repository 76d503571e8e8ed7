/** Tokens that users make for their scripts. Of each the hub keeps the hash only. All reject with HubError
 *  `STORE_UNAVAILABLE` or `STORAGE_FULL` when the store cannot be used; then nothing of the call has taken place. What
 *  resolves after a change is durable. A token that has expired is as if it had never been. */
import type { Role } from '../access.js';

export interface PersonalTokenRecord {
  readonly id: string;
  /** Whose it is. It goes with its user. */
  readonly username: string;
  /** What it is for, as its user calls it. */
  readonly name: string;
  /** The most that it may. */
  readonly role: Role;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  readonly lastUsedAtMs: number | null;
}

/** A token that is in force, and the roles of its user as they are now. */
export interface PersonalTokenHolder {
  readonly token: PersonalTokenRecord;
  readonly userRoles: readonly Role[];
}

export interface PersonalTokenStore {
  /** False when the user has `limit` of them already; then nothing is added. */
  add(token: PersonalTokenRecord, hash: string, limit: number): Promise<boolean>;
  /** Undefined when there is no such token, and when its user is disabled. */
  holder(hash: string, nowMs: number): Promise<PersonalTokenHolder | undefined>;
  find(id: string, nowMs: number): Promise<PersonalTokenRecord | undefined>;
  /** Latest first. */
  ofUser(username: string, nowMs: number): Promise<PersonalTokenRecord[]>;
  remove(id: string): Promise<void>;
  /** Notes when tokens were used last, by id. */
  used(lastUsedAtMs: ReadonlyMap<string, number>): Promise<void>;
  /** Removes those that have expired; how many. */
  sweep(nowMs: number): Promise<number>;
}
