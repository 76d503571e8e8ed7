/** The place of blobs: where the files of whole blobs lie, beneath the blob store. Names are those of `blob-names.ts`, and a name
 *  always stands for the same blob. Several hubs may write the same place. */
import type { Readable } from 'node:stream';
import type { UnusedFile } from '../core/ports/blob-catalogue.js';

/** Runs a step while nobody else in this process finds or removes the file that it is about. */
export type InTurn = <T>(step: () => Promise<T>) => Promise<T>;

/** A file that was found, to be read soon. */
export interface FoundFile {
  readonly sizeBytes: number;
  /** Reads from `start` up to `end`, excluded; both within the file, and not equal. */
  read(start: number, end: number): Readable;
}

/** An open file, which a removal or replacement of its name does not change. */
export interface OpenFile {
  readonly sizeBytes: number;
  /** Where it lies, for messages. */
  readonly location: string;
  /** Reads from `start` up to `end`, excluded, in blocks of this size, of which only the last one may be shorter. A block is valid
   *  until the next one is asked for. */
  blocks(start: number, end: number, blockBytes: number): AsyncIterable<Buffer>;
  close(): Promise<void>;
}

/** All methods reject with HubError `STORE_UNAVAILABLE` when the place is away, and `put` with `STORAGE_FULL` when it is full. */
export interface BlobPlace {
  /** Gives a complete, synced file of the local disk its name; the time of its last change is by the runtime's clock. Resolves when that is durable; the file is gone from the local disk
   *  then, and still there when this rejects. The step that makes the name known runs by `inTurn`. */
  put(name: string, path: string, inTurn: InTurn): Promise<void>;
  /** True when the file exists; a sweep then treats it as new. */
  renew(name: string): Promise<boolean>;
  /** Finds a file and renews it; undefined when it does not exist. */
  find(name: string): Promise<FoundFile | undefined>;
  /** Undefined when the file does not exist. */
  open(name: string): Promise<OpenFile | undefined>;
  /** Durably removes files; missing ones are passed over. A file with a time of use stays if anybody, also another hub, has put, found
   *  or renewed it since; those who look for it meanwhile find it, or it is gone for good. */
  remove(files: readonly (string | UnusedFile)[]): Promise<void>;
  /** Time of the last use of a file; undefined when it does not exist. Each use has another time. */
  usedAtMs(name: string): Promise<number | undefined>;
  /** Each next use of these files is noted: another hub is about to remove them. */
  forgetUses(names: readonly string[]): void;
  /** Names of the files, in batches: at least of all that were put or renewed last before this time. */
  names(beforeMs: number): AsyncIterable<readonly string[]>;
  /** True when the file was put or renewed last before this time. */
  isOld(name: string, beforeMs: number): Promise<boolean>;
  /** Removes what interrupted calls of `put`, of any hub, have left; resolves with the number of files. */
  removeRemains(): Promise<number>;
}

/** Age of the remains of an interrupted `put`: no transfer takes as long. */
export const REMAINS_AGE_MS = 24 * 3_600_000;
