/** The versions of the agent on this host. */
import type { FileRef } from '@workbench-hub/shared/domain/job';
import type { VersionState } from '../version-states.js';

/** A version that a hub offers. */
export interface OfferedVersion {
  /** Name of its folder. */
  readonly name: string;
  readonly file: FileRef;
}

/** All methods reject with the error of the disk, after which the same call may be tried again. */
export interface Versions {
  /** State as the launcher has written it last; null when it has written none. */
  state(): Promise<VersionState | null>;
  /** Digest of the installed file. */
  installedDigest(): Promise<string>;
  /** Whether the version is here, whole. */
  has(name: string): Promise<boolean>;
  /** Bytes of its file that an interrupted download has left. */
  keptBytes(version: OfferedVersion): Promise<number>;
  /** Adds the bytes of its file from `fromByte` on; the version is there once they are complete. Rejects with `BlobMismatch` when
   *  they are those of another file, and with the error of the content, whose bytes so far are kept. */
  add(version: OfferedVersion, content: AsyncIterable<Uint8Array>, fromByte: number): Promise<void>;
  /** Removes the versions and partial downloads that are not needed, and not of this version. */
  removeOthers(version: OfferedVersion): Promise<void>;
}
