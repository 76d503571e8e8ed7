/** Upload of one file to the input storage: its blob is stored as it arrives, then named. */
import type { FileRef } from '@workbench-hub/shared/domain/job';
import { HubError } from '../../core/errors.js';
import { type BlobStore, BlobTooLarge, type Hold } from '../../core/ports/blobs.js';
import type { NamedObjects, NamingOutcome } from '../../core/ports/named-objects.js';
import { MAX_INPUT_FILES } from '../../core/storage.js';
import type { OwnerUse } from './quota-usage.js';
import type { StorageSettings } from './storage-settings.js';
import { foreignFile, ownFilesOnly, type StorageUser } from './stored-file-rights.js';

export interface UploadedFile {
  readonly name: string;
  readonly overwrite: boolean;
  readonly encrypt: boolean;
}

export interface UploadOptions {
  readonly user: StorageUser;
  readonly names: NamedObjects;
  readonly files: BlobStore;
  /** Usage that was begun for this upload. */
  readonly use: OwnerUse;
  readonly nowMs: () => number;
  readonly settings: StorageSettings['input'];
  /** Removes expired names and unreferenced blobs at once. */
  readonly reclaim: () => Promise<void>;
}

/** Call `take`, then `name`, and `end` in any case. */
export class Upload {
  readonly #options: UploadOptions;
  readonly #hold: Hold;
  #file: UploadedFile | undefined;
  #blob: FileRef | undefined;
  #takenBytes = 0;
  #isNamed = false;
  /** Bytes of the owner's other files in the store, and the version of that figure. */
  #stored: { readonly bytes: number; readonly version: number } | undefined;

  constructor(options: UploadOptions) {
    this.#options = options;
    this.#hold = options.files.hold();
  }

  /** Stores the blob. The name is checked before anything is read, the quota with every piece. Rejects with STORED_FILE_EXISTS,
   *  STORED_FILE_FOREIGN, BODY_TOO_LARGE and QUOTA_EXCEEDED. */
  async take(file: UploadedFile, stream: AsyncIterable<Buffer>): Promise<void> {
    const { names, files, settings, nowMs, user } = this.#options;
    const ofOwner = ownFilesOnly(user, settings);
    this.#file = file;
    const former = await names.find('INPUT', file.name, nowMs());
    if (former && !file.overwrite) throw nameTaken(file.name);
    if (former && ofOwner !== undefined && former.owner !== ofOwner)
      throw foreignFile(file.name, former.owner);
    const pieces = this.#counted(file.name, stream);
    const { maxFileBytes } = settings;
    try {
      this.#blob = await (file.encrypt
        ? files.storeEncrypted(pieces, maxFileBytes, this.#hold)
        : files.store(pieces, maxFileBytes, this.#hold));
    } catch (error) {
      throw error instanceof BlobTooLarge ? tooLarge(maxFileBytes) : error;
    }
  }

  /** Names the blob with the rights that the user has by now; resolves when that is durable. Rejects as {@link take} does, since
   *  things may have changed. */
  async name(user: StorageUser): Promise<void> {
    const [file, blob] = [this.#file, this.#blob];
    if (!file || !blob) throw new Error('nothing was uploaded');
    const { names, settings, nowMs, use, reclaim } = this.#options;
    const { owner } = user;
    const put = () => {
      const storedAtMs = nowMs();
      const expiresAtMs = storedAtMs + settings.expireAfterMs;
      return names.put(
        { ...blob, area: 'INPUT', name: file.name, owner, storedAtMs, expiresAtMs },
        {
          overwrite: file.overwrite,
          ofOwner: ownFilesOnly(user, settings),
          quotaBytes: settings.quotaPerUserBytes,
          maxFiles: MAX_INPUT_FILES,
        },
      );
    };
    await use.whileNaming(async () => {
      let naming = await put();
      if (naming.kind === 'OVER_QUOTA' || naming.kind === 'TOO_MANY_FILES') {
        await reclaim();
        naming = await put();
      }
      if (naming.kind !== 'NAMED') throw namingRefused(naming, file.name, settings);
      this.#isNamed = true;
      this.#releaseBytes();
    });
  }

  /** Ends the upload. When it resolves, a blob without a name is gone, and so is one that was overwritten. A file that could overwrite
   *  none waits for no removal: much may have been dropped by others. */
  async end(): Promise<void> {
    const { files, use } = this.#options;
    try {
      if (this.#isNamed) this.#hold.release();
      else this.#hold.abandon();
      const reclaimed = files.reclaim();
      // The reclaim itself tells of a failure, and tries again.
      if (this.#isNamed && !this.#file?.overwrite) reclaimed.catch(() => undefined);
      else await reclaimed;
    } finally {
      this.#releaseBytes();
      use.end();
    }
  }

  async *#counted(name: string, stream: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    const { use, settings } = this.#options;
    const { quotaPerUserBytes: quotaBytes } = settings;
    for await (const piece of stream) {
      this.#takenBytes += piece.length;
      use.reserve(piece.length);
      if (quotaBytes !== null && (await this.#usedBytes(name)) > quotaBytes) {
        await use.inTurn(() => this.#requireRoom(name, quotaBytes));
      }
      yield piece;
    }
  }

  /** Gives the bytes of this upload back at once when there is no room, since another upload may have enough with them. */
  async #requireRoom(name: string, quotaBytes: number): Promise<void> {
    const { use, settings, reclaim } = this.#options;
    await reclaim();
    await use.named();
    this.#stored = undefined;
    const usedBytes = await this.#usedBytes(name);
    if (usedBytes <= quotaBytes) return;
    const otherBytes = usedBytes - this.#takenBytes;
    this.#releaseBytes();
    throw overQuota(otherBytes, settings);
  }

  /** Bytes of the owner, without the file that this upload may replace. */
  async #usedBytes(name: string): Promise<number> {
    const { names, user, use } = this.#options;
    if (this.#stored?.version !== use.version) {
      const { version } = use;
      this.#stored = { bytes: (await names.useOf('INPUT', user.owner, name)).bytes, version };
    }
    return this.#stored.bytes + use.underWayBytes;
  }

  #releaseBytes(): void {
    this.#options.use.release(this.#takenBytes);
    this.#takenBytes = 0;
  }
}

/** Error for a name that the store has refused. */
export function namingRefused(
  naming: Exclude<NamingOutcome, { readonly kind: 'NAMED' }>,
  name: string,
  settings: StorageSettings['input'],
): HubError {
  if (naming.kind === 'EXISTS') return nameTaken(name);
  if (naming.kind === 'FOREIGN') return foreignFile(name, naming.owner);
  if (naming.kind === 'OVER_QUOTA') return overQuota(naming.usedBytes, settings);
  return tooManyFiles(naming.files);
}

function overQuota(usedBytes: number, { quotaPerUserBytes }: StorageSettings['input']): HubError {
  return new HubError(
    'QUOTA_EXCEEDED',
    `file: your other files in the input storage have ${usedBytes} bytes, of ${quotaPerUserBytes} that ` +
      'you may have (storage.input.quotaPerUser); delete some, or wait until they expire',
  );
}

export function tooLarge(maxFileBytes: number): HubError {
  const limit = `${maxFileBytes} bytes (storage.input.maxFileSize)`;
  return new HubError('BODY_TOO_LARGE', `file: may have at most ${limit}`);
}

function tooManyFiles(files: number): HubError {
  return new HubError(
    'QUOTA_EXCEEDED',
    `file: you have ${files} files in the input storage, of ${MAX_INPUT_FILES} that a user may have; delete some, or wait until ` +
      'they expire',
  );
}

function nameTaken(name: string): HubError {
  return new HubError(
    'STORED_FILE_EXISTS',
    `there is a file ${name} in the input storage already; give another name, or overwrite=true to replace it`,
  );
}
