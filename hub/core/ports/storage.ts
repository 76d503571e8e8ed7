/** The names that the storage gives to contents. Every operation that changes something resolves when that is durable, and
 *  rejects with HubError `STORE_UNAVAILABLE` or `STORAGE_FULL` when the store cannot be written. */
import type { FileRef } from '@workbench-hub/shared/domain/job';

/** INPUT: what users have uploaded. OUTPUT: what scripts put into WORKBENCH_OUTPUT_STORAGE. */
export type StorageArea = 'INPUT' | 'OUTPUT';

export interface NamedObject extends FileRef {
  readonly area: StorageArea;
  readonly name: string;
  /** Who stored it; null while security is off. */
  readonly owner: string | null;
  readonly storedAtMs: number;
  /** From this moment on it is as if the name were not there. */
  readonly expiresAtMs: number;
}

/** Under what a new name is taken. */
export interface NamingTerms {
  /** Whether it may take the place of one that is there. */
  readonly overwrite: boolean;
  /** How much all names of the owner in this area may hold together; null: as much as there is room. */
  readonly quotaBytes: number | null;
  /** How many names the owner may have in this area. */
  readonly maxFiles: number;
}

/** What an owner takes of an area. */
export interface StorageUse {
  /** Names. */
  readonly files: number;
  /** The names' contents, and former ones that are still there and that nothing refers to. */
  readonly bytes: number;
}

export type NamingOutcome =
  | { readonly kind: 'NAMED' }
  | { readonly kind: 'EXISTS' }
  /** `files`: the owner's other names. */
  | { readonly kind: 'TOO_MANY_FILES'; readonly files: number }
  /** `usedBytes`: by the owner's other names, and by what they stood for and is still there. */
  | { readonly kind: 'OVER_QUOTA'; readonly usedBytes: number };

export interface NamedObjects {
  find(area: StorageArea, name: string, nowMs: number): Promise<NamedObject | undefined>;
  /** Gives a content its name, all at once, or changes nothing. */
  put(stored: NamedObject, terms: NamingTerms): Promise<NamingOutcome>;
  /** Moves the end of a name; false when it is not there. */
  renew(area: StorageArea, name: string, nowMs: number, expiresAtMs: number): Promise<boolean>;
  remove(area: StorageArea, name: string): Promise<void>;
  /** What the owner takes, without the name `except`. A name that has expired counts until it is removed. */
  useOf(area: StorageArea, owner: string | null, except: string): Promise<StorageUse>;
  /** Removes names that have expired; gives how many. */
  removeExpired(nowMs: number): Promise<number>;
}
