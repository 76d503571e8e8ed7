/** Resumable uploads to the input storage: begun with a name and a size, sent in any number of parts, and named when the last byte
 *  is durable. */
import type { Readable } from 'node:stream';
import type { FileRef } from '@workbench-hub/shared/domain/job';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import { HubError } from '../../core/errors.js';
import { type BlobStore, type Hold, UploadLost } from '../../core/ports/blobs.js';
import type { Hubs } from '../../core/ports/hubs.js';
import type { ResumableUpload, ResumableUploads } from '../../core/ports/resumable-uploads.js';
import { MAX_INPUT_FILES } from '../../core/storage.js';
import type { StorageSettings } from './storage-settings.js';
import { ownFilesOnly, type StorageUser } from './stored-file-rights.js';
import { namingRefused, tooLarge } from './upload.js';
import { type Turn, UploadTurns } from './upload-turns.js';

/** Unfinished uploads that a user may have. */
const MAX_UPLOADS = 1000;

/** Time for which a finished upload is remembered. */
const KEEP_STORED_MS = 3_600_000;

export interface ResumableUploadOptions {
  readonly uploads: ResumableUploads;
  readonly files: BlobStore;
  readonly runtime: Pick<Runtime, 'clock' | 'timers' | 'newId'>;
  readonly settings: StorageSettings['input'];
  readonly hubs: Pick<Hubs, 'ownId' | 'all'>;
  readonly refuseWhileOff: () => void;
  /** Removes expired names and unreferenced blobs at once. */
  readonly reclaim: () => Promise<void>;
}

/** Time without progress after which an upload is lost whose hub does not run. */
const LOST_WITH_HUB_MS = 15 * 60_000;

/** Delay after which a client may ask again, and then reach the hub that has the upload. */
const ELSEWHERE_RETRY_S = 1;

export type NewUpload = Pick<
  ResumableUpload,
  'name' | 'overwrite' | 'encrypt' | 'sizeBytes' | 'announcedDigest' | 'metadata'
>;

/** The sender with the rights of now; rejects when the sender may no longer do this. */
type Reauthorize = () => Promise<StorageUser>;

/** One part of an upload. */
export interface UploadPart {
  readonly fromByte: number;
  /** Announced length; null when it is unknown. */
  readonly lengthBytes: number | null;
  readonly content: Readable;
  readonly reauthorize: Reauthorize;
}

/** Steps before an upload is named that is only looked for. */
export interface LateNaming {
  readonly onNaming: (upload: ResumableUpload) => void;
  readonly reauthorize: Reauthorize;
}

/** All methods reject with INPUT_STORAGE_OFF, those with an id with UPLOAD_NOT_FOUND for an upload of another user, too. */
export class ResumableUploadService {
  readonly #options: ResumableUploadOptions;
  readonly #turns: UploadTurns;

  constructor(options: ResumableUploadOptions) {
    this.#options = options;
    this.#turns = new UploadTurns(options.runtime);
  }

  /** Largest file that may be uploaded. */
  get maxBytes(): number {
    return this.#options.settings.maxFileBytes;
  }

  /** Begins an upload; one without content is named at once. Rejects with STORED_FILE_EXISTS,
   *  STORED_FILE_FOREIGN, BODY_TOO_LARGE, QUOTA_EXCEEDED and STORAGE_FULL. */
  async begin(user: StorageUser, upload: NewUpload): Promise<ResumableUpload> {
    const { uploads, settings, runtime, refuseWhileOff, reclaim } = this.#options;
    refuseWhileOff();
    if (upload.sizeBytes > settings.maxFileBytes) throw tooLarge(settings.maxFileBytes);
    await this.#refuseWithoutRoom(upload.sizeBytes);
    const createdAtMs = runtime.clock.nowMs();
    const begun: ResumableUpload = {
      ...upload,
      id: runtime.newId(),
      hubId: this.#options.hubs.ownId,
      owner: user.owner,
      receivedBytes: 0,
      digest: null,
      createdAtMs,
      expiresAtMs: createdAtMs + settings.keepUploadsForMs,
      isStored: false,
    };
    const create = () =>
      uploads.create(begun, { ...this.#terms(upload.overwrite, user), maxUploads: MAX_UPLOADS });
    let creation = await create();
    if (creation.kind === 'OVER_QUOTA' || creation.kind === 'TOO_MANY_FILES') {
      await reclaim();
      creation = await create();
    }
    if (creation.kind === 'TOO_MANY_UPLOADS') throw tooManyUploads();
    if (creation.kind !== 'CREATED') throw namingRefused(creation, upload.name, settings);
    return upload.sizeBytes === 0 ? this.#finish(begun, async () => user) : begun;
  }

  /** An upload of this user. One that the hub was killed just before naming is named now, after the steps of `naming`; HUB_UNAVAILABLE
   *  if another hub has its bytes. */
  async find(
    id: string,
    user: StorageUser,
    naming: LateNaming = { onNaming: () => undefined, reauthorize: async () => user },
  ): Promise<ResumableUpload> {
    await this.#turns.cutOffEnded(id);
    const upload = await this.#owned(id, user.owner);
    if (!isToBeNamed(upload)) return upload;
    await this.#refuseElsewhere(upload);
    const turn = await this.#turns.begin(id, null);
    try {
      const latest = await this.#owned(id, user.owner);
      if (!isToBeNamed(latest)) return latest;
      naming.onNaming(latest);
      return await this.#finish(latest, naming.reauthorize);
    } finally {
      turn.end();
    }
  }

  /** Unfinished uploads of this user, oldest first. */
  list(owner: string | null): Promise<ResumableUpload[]> {
    this.#options.refuseWhileOff();
    return this.#options.uploads.listOf(owner, this.#options.runtime.clock.nowMs());
  }

  /** Takes a part; with the last byte, names the file. What arrived of a part that breaks off is kept. Rejects with WRONG_OFFSET,
   *  UPLOAD_IN_PROGRESS, BODY_TOO_LARGE, STORAGE_FULL, HUB_UNAVAILABLE at another hub than the one that has its bytes, and at the end
   *  with DIGEST_MISMATCH, STORED_FILE_EXISTS, STORED_FILE_FOREIGN (these end the upload) and QUOTA_EXCEEDED. */
  async receive(id: string, user: StorageUser, part: UploadPart): Promise<ResumableUpload> {
    await this.#refuseElsewhere(await this.#owned(id, user.owner));
    const turn = await this.#turns.begin(id, part.content);
    try {
      const upload = await this.#owned(id, user.owner);
      if (part.fromByte !== upload.receivedBytes) throw wrongOffset(upload);
      const leftBytes = upload.sizeBytes - upload.receivedBytes;
      if ((part.lengthBytes ?? 0) > leftBytes) throw tooMuch(upload);
      const received = leftBytes === 0 ? upload : await this.#append(upload, part, turn);
      if (!isToBeNamed(received)) return received;
      turn.finishing();
      await part.reauthorize();
      return await this.#finish(received, part.reauthorize);
    } finally {
      turn.end();
    }
  }

  /** Removes an upload with its bytes. The file of a finished one stays. */
  async remove(id: string, owner: string | null): Promise<void> {
    await this.#owned(id, owner);
    await this.#turns.interrupt(id);
    await this.#discard(id);
  }

  /** Removes the bytes that this hub has of uploads that are gone; resolves with their number. */
  async sweep(): Promise<number> {
    const { uploads, files, runtime } = this.#options;
    await uploads.removeExpired(runtime.clock.nowMs());
    const ids = await files.uploads.ids();
    const known = await uploads.known(ids);
    const gone = ids.filter((id) => !known.has(id) && !this.#turns.isBegun(id));
    for (const id of gone) await files.uploads.remove(id);
    return gone.length;
  }

  /** Resolves when no part is being written. */
  stop(): Promise<void> {
    return this.#turns.ended();
  }

  async #owned(id: string, owner: string | null): Promise<ResumableUpload> {
    const { uploads, runtime, refuseWhileOff } = this.#options;
    refuseWhileOff();
    const upload = await uploads.find(id, runtime.clock.nowMs());
    if (!upload || upload.owner !== owner) throw notFound();
    return upload;
  }

  /** Refuses an upload whose bytes are at another hub, which may be restarting; one that is lost with its hub does not exist. */
  async #refuseElsewhere({ id, hubId, expiresAtMs }: ResumableUpload): Promise<void> {
    const { uploads, hubs, runtime, settings } = this.#options;
    if (hubId === null || hubId === hubs.ownId) return;
    const isLive = (await hubs.all()).some((hub) => hub.id === hubId && hub.isLive);
    const restedMs = runtime.clock.nowMs() - (expiresAtMs - settings.keepUploadsForMs);
    if (!isLive && restedMs > LOST_WITH_HUB_MS) {
      await uploads.remove(id);
      throw notFound();
    }
    throw new HubError(
      'HUB_UNAVAILABLE',
      `the upload goes on at hub ${hubId}, which ${isLive ? 'did not get this request' : 'does not run at the moment'}; try again, or begin another upload`,
      { retryAfterS: ELSEWHERE_RETRY_S },
    );
  }

  async #append(upload: ResumableUpload, { content }: UploadPart, turn: Turn): Promise<ResumableUpload> {
    const { uploads, files, runtime, settings } = this.#options;
    await this.#refuseWithoutRoom(upload.sizeBytes - upload.receivedBytes);
    let { receivedBytes, expiresAtMs } = upload;
    const pieces = new KeptPieces(content, upload, turn);
    const onDurable = async (bytes: number) => {
      expiresAtMs = runtime.clock.nowMs() + settings.keepUploadsForMs;
      if (!(await uploads.advance(upload.id, receivedBytes, bytes, expiresAtMs))) throw notFound();
      receivedBytes = bytes;
    };
    try {
      await files.uploads.append(upload, receivedBytes, pieces, onDurable);
    } catch (error) {
      if (!(error instanceof UploadLost)) throw error;
      await this.#discard(upload.id);
      throw notFound();
    }
    pieces.throwFailure();
    return { ...upload, receivedBytes, expiresAtMs };
  }

  /** Names the file with the rights of the sender when the blob is there, since a large one takes long. */
  async #finish(upload: ResumableUpload, reauthorize: Reauthorize): Promise<ResumableUpload> {
    const { files } = this.#options;
    const hold = files.hold();
    let mayDrop = true;
    try {
      const blob = await this.#blobOf(upload, hold);
      const finished = await this.#name(upload, blob, await reauthorize());
      hold.release();
      await files.uploads.remove(upload.id);
      mayDrop = upload.overwrite;
      return finished;
    } catch (error) {
      if (!endsUpload(error)) {
        // A blob without a name is found again by the next try.
        hold.release();
        throw error;
      }
      hold.abandon();
      await this.#discard(upload.id);
      throw error instanceof UploadLost ? notFound() : error;
    } finally {
      const reclaimed = files.reclaim();
      // Others may have dropped much, for which a file that has dropped nothing does not wait. The reclaim itself tells of a failure.
      if (mayDrop) await reclaimed;
      else reclaimed.catch(() => undefined);
    }
  }

  /** The blob of a complete upload. */
  async #blobOf(upload: ResumableUpload, hold: Hold): Promise<FileRef> {
    const { uploads, files } = this.#options;
    const { id, sizeBytes, encrypt, announcedDigest } = upload;
    if (upload.digest !== null) {
      const ref: FileRef = { digest: upload.digest, sizeBytes, ...(encrypt ? { encrypted: true } : {}) };
      if (await files.find(ref, hold)) return ref;
    }
    return files.uploads.toBlob(upload, hold, async (digest) => {
      if (announcedDigest !== null && digest !== announcedDigest)
        throw digestMismatch(announcedDigest, digest);
      await uploads.identify(id, digest);
    });
  }

  async #name(upload: ResumableUpload, blob: FileRef, user: StorageUser): Promise<ResumableUpload> {
    const { uploads, runtime, settings, reclaim } = this.#options;
    const { id, name, owner, overwrite } = upload;
    const storedAtMs = runtime.clock.nowMs();
    const forgetAtMs = storedAtMs + KEEP_STORED_MS;
    const finish = () =>
      uploads.finish(
        id,
        { ...blob, area: 'INPUT', name, owner, storedAtMs, expiresAtMs: storedAtMs + settings.expireAfterMs },
        this.#terms(overwrite, user),
        forgetAtMs,
      );
    let naming = await finish();
    if (naming.kind === 'OVER_QUOTA' || naming.kind === 'TOO_MANY_FILES') {
      await reclaim();
      naming = await finish();
    }
    if (naming.kind !== 'NAMED') throw namingRefused(naming, name, settings);
    return { ...upload, digest: blob.digest, isStored: true, expiresAtMs: forgetAtMs };
  }

  async #discard(id: string): Promise<void> {
    const { uploads, files } = this.#options;
    await uploads.remove(id);
    await files.uploads.remove(id);
  }

  #terms(overwrite: boolean, user: StorageUser) {
    const { settings } = this.#options;
    const { quotaPerUserBytes: quotaBytes } = settings;
    return { overwrite, ofOwner: ownFilesOnly(user, settings), quotaBytes, maxFiles: MAX_INPUT_FILES };
  }

  async #refuseWithoutRoom(bytes: number): Promise<void> {
    const freeBytes = await this.#options.files.uploads.freeBytes();
    if (bytes <= freeBytes) return;
    throw new HubError('STORAGE_FULL', `the disk of the hub has only ${freeBytes} bytes left for this file`);
  }
}

/** The pieces of a part. A part that breaks off or has too much ends normally here, so that the pieces before are kept. */
class KeptPieces implements AsyncIterable<Buffer> {
  readonly #content: Readable;
  readonly #upload: ResumableUpload;
  readonly #turn: Turn;
  #failure: { readonly error: unknown } | undefined;

  constructor(content: Readable, upload: ResumableUpload, turn: Turn) {
    this.#content = content;
    this.#upload = upload;
    this.#turn = turn;
  }

  throwFailure(): void {
    if (this.#failure) throw this.#failure.error;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    let leftBytes = this.#upload.sizeBytes - this.#upload.receivedBytes;
    try {
      // Not destroyed on refusal, since the sender still gets a response.
      for await (const piece of this.#content.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        this.#turn.heard();
        leftBytes -= piece.length;
        if (leftBytes < 0) throw tooMuch(this.#upload);
        yield piece;
      }
    } catch (error) {
      this.#failure = { error };
    }
  }
}

/** Whether all bytes are there, and the file has no name yet. */
function isToBeNamed({ isStored, receivedBytes, sizeBytes }: ResumableUpload): boolean {
  return !isStored && receivedBytes === sizeBytes;
}

/** Whether no later try can succeed. */
function endsUpload(error: unknown): boolean {
  if (error instanceof UploadLost) return true;
  return (
    error instanceof HubError &&
    ['DIGEST_MISMATCH', 'STORED_FILE_EXISTS', 'STORED_FILE_FOREIGN'].includes(error.code)
  );
}

function notFound(): HubError {
  return new HubError(
    'UPLOAD_NOT_FOUND',
    'there is no such upload of yours, or it has expired; begin another',
  );
}

function wrongOffset({ receivedBytes }: ResumableUpload): HubError {
  return new HubError('WRONG_OFFSET', `Upload-Offset: the upload continues at ${receivedBytes}`);
}

function tooMuch({ sizeBytes, receivedBytes }: ResumableUpload): HubError {
  return new HubError(
    'BODY_TOO_LARGE',
    `the upload has ${sizeBytes} bytes (Upload-Length), and ${receivedBytes} of them were there before this part: the part has more than the rest`,
  );
}

function digestMismatch(announced: string, digest: string): HubError {
  return new HubError(
    'DIGEST_MISMATCH',
    `Upload-Metadata: sha256 announced ${announced}, but the content has ${digest}; begin another upload`,
  );
}

function tooManyUploads(): HubError {
  return new HubError(
    'QUOTA_EXCEEDED',
    `you have ${MAX_UPLOADS} unfinished uploads, as many as a user may have; finish or delete some, or wait until they expire`,
  );
}
