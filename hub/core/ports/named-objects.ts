/** Named objects of the storage. Changes are durable when their promise resolves, and reject with HubError
 *  `STORE_UNAVAILABLE` or `STORAGE_FULL` when the store cannot be written. */
import type { FileRef } from '@workbench-hub/shared/domain/job';

/** INPUT: uploads of users. OUTPUT: files that scripts put into WORKBENCH_OUTPUT_STORAGE. */
export type StorageArea = 'INPUT' | 'OUTPUT';

export interface NamedObject extends FileRef {
  readonly area: StorageArea;
  readonly name: string;
  /** User who stored it; null while security is off. */
  readonly owner: string | null;
  readonly storedAtMs: number;
  /** The object does not exist from this time on. */
  readonly expiresAtMs: number;
}

/** Conditions for a new named object. */
export interface NamingTerms {
  /** May replace an existing object. */
  readonly overwrite: boolean;
  /** User whose objects only may be replaced; undefined for those of anybody. */
  readonly ofOwner?: string | undefined;
  /** Total size allowed to the owner in this area; null for no limit. */
  readonly quotaBytes: number | null;
  /** Number of objects allowed to the owner in this area. */
  readonly maxFiles: number;
}

/** Usage of an area by one owner. */
export interface StorageUse {
  readonly files: number;
  /** Size of the objects, and of replaced or removed blobs not yet deleted. */
  readonly bytes: number;
}

export type NamingOutcome =
  | { readonly kind: 'NAMED' }
  | { readonly kind: 'EXISTS' }
  /** The object that was to be replaced has another owner. */
  | { readonly kind: 'FOREIGN'; readonly owner: string | null }
  /** `files`: number of the owner's other objects. */
  | { readonly kind: 'TOO_MANY_FILES'; readonly files: number }
  /** `usedBytes`: usage by the owner's other objects, see {@link StorageUse.bytes}. */
  | { readonly kind: 'OVER_QUOTA'; readonly usedBytes: number };

export interface NamesQuery {
  /** Beginning of the names, with case. */
  readonly prefix?: string | undefined;
  readonly owner?: string | undefined;
  /** Name after which the list begins. */
  readonly after?: string | undefined;
  readonly limit: number;
}

export interface NamedObjects {
  find(area: StorageArea, name: string, nowMs: number): Promise<NamedObject | undefined>;
  /** Objects that have not expired, in the order of the UTF-8 bytes of their names. */
  list(area: StorageArea, query: NamesQuery, nowMs: number): Promise<NamedObject[]>;
  /** Names a blob, or changes nothing, in one transaction. */
  put(stored: NamedObject, terms: NamingTerms): Promise<NamingOutcome>;
  /** Changes the expiry; false when there is no such object. With `ofOwner`, only if it is that user's. */
  renew(
    area: StorageArea,
    name: string,
    nowMs: number,
    expiresAtMs: number,
    ofOwner?: string,
  ): Promise<boolean>;
  /** With `ofOwner`, only if it is that user's. */
  remove(area: StorageArea, name: string, ofOwner?: string): Promise<void>;
  /** Usage of the owner without the object `except`. Expired objects count until they are removed. */
  useOf(area: StorageArea, owner: string | null, except: string): Promise<StorageUse>;
  /** Removes expired objects; resolves with their number. */
  removeExpired(nowMs: number): Promise<number>;
}
