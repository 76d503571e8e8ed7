/** Resumable uploads to the input storage. Changes are durable when their promise resolves, and reject with HubError
 *  `STORE_UNAVAILABLE` or `STORAGE_FULL` when the store cannot be written. */
import type { NamedObject, NamingOutcome, NamingTerms } from './named-objects.js';

export interface ResumableUpload {
  readonly id: string;
  /** Hub that has its bytes; null where it is not known, since there is only one or an earlier version began the upload. */
  readonly hubId: string | null;
  /** Name that the file gets in the input storage. */
  readonly name: string;
  /** User who began it; null while security is off. */
  readonly owner: string | null;
  readonly overwrite: boolean;
  readonly encrypt: boolean;
  readonly sizeBytes: number;
  /** Durable bytes from the beginning; the upload continues here. */
  readonly receivedBytes: number;
  /** SHA-256 that the client has announced, in hexadecimal; null for none. */
  readonly announcedDigest: string | null;
  /** Digest of the complete file, from just before it becomes a blob; null until then. */
  readonly digest: string | null;
  /** Metadata as the client sent them. */
  readonly metadata: string;
  readonly createdAtMs: number;
  /** The upload does not exist from this time on. */
  readonly expiresAtMs: number;
  /** Whether the file has its name. Kept for a while, so that a client that lost the response learns of it. */
  readonly isStored: boolean;
}

/** Conditions for a new upload. */
export interface UploadTerms extends NamingTerms {
  /** Number of unfinished uploads allowed to the owner. */
  readonly maxUploads: number;
}

export type UploadCreation =
  | { readonly kind: 'CREATED' }
  | { readonly kind: 'TOO_MANY_UPLOADS' }
  | Exclude<NamingOutcome, { readonly kind: 'NAMED' }>;

/** Records of resumable uploads, part of the task store. An unfinished one counts with its full size for the quota. */
export interface ResumableUploads {
  /** Adds an upload, or changes nothing, in one transaction. */
  create(upload: ResumableUpload, terms: UploadTerms): Promise<UploadCreation>;
  find(id: string, nowMs: number): Promise<ResumableUpload | undefined>;
  /** Unfinished uploads of an owner, oldest first. */
  listOf(owner: string | null, nowMs: number): Promise<ResumableUpload[]>;
  /** Records that bytes up to `toByte` are durable; false when the upload is gone, or no longer at `fromByte`. */
  advance(id: string, fromByte: number, toByte: number, expiresAtMs: number): Promise<boolean>;
  /** Records the digest of the complete file. */
  identify(id: string, digest: string): Promise<void>;
  /** Names the blob of an upload and marks the upload as stored, or changes nothing, in one transaction. */
  finish(id: string, stored: NamedObject, terms: NamingTerms, expiresAtMs: number): Promise<NamingOutcome>;
  /** Removes the record of an upload, if there is one. */
  remove(id: string): Promise<void>;
  /** Removes expired uploads; resolves with their number. */
  removeExpired(nowMs: number): Promise<number>;
  /** The ids among these of which there is a record. */
  known(ids: readonly string[]): Promise<Set<string>>;
}
