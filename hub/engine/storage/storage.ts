/** Use cases of the input and output storage. */
import type { FileRef, NamedFileRef } from '@workbench-hub/shared/domain/job';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { HubError } from '../../core/errors.js';
import type { BlobStore, FoundBlob, Hold } from '../../core/ports/blobs.js';
import type { NamedObject, NamedObjects, NamesQuery, StorageArea } from '../../core/ports/named-objects.js';
import { outputName } from '../../core/storage.js';
import type { Task } from '../../core/task.js';
import { QuotaUsage } from './quota-usage.js';
import type { StorageSettings } from './storage-settings.js';
import { foreignFile, ownFilesOnly, type StorageUser } from './stored-file-rights.js';
import { tooLarge, Upload } from './upload.js';

export interface StorageOptions {
  readonly names: NamedObjects;
  readonly files: BlobStore;
  readonly clock: Clock;
  readonly settings: StorageSettings;
  /** False while the clock is not trusted to decide about expiry. */
  readonly mayExpire: () => boolean;
}

export interface Download {
  readonly digest: string;
  readonly file: FoundBlob;
}

export class Storage {
  readonly #options: StorageOptions;
  readonly #use = new QuotaUsage();

  constructor(options: StorageOptions) {
    this.#options = options;
  }

  get isInputOn(): boolean {
    return this.#options.settings.input.enabled;
  }

  get isOutputStorageOn(): boolean {
    return this.#options.settings.output.enabled;
  }

  /** Maximum size of a file in the input storage. */
  get maxInputBytes(): number {
    return this.#options.settings.input.maxFileBytes;
  }

  /** Throws INPUT_STORAGE_OFF, as all methods for inputs below do. */
  refuseWhileInputIsOff(): void {
    if (this.isInputOn) return;
    throw new HubError(
      'INPUT_STORAGE_OFF',
      'the input storage of this hub is not enabled (storage.input.enabled)',
    );
  }

  /** Begins the upload of one file; the caller has to end it. */
  beginUpload(user: StorageUser): Upload {
    this.refuseWhileInputIsOff();
    const { names, files, clock, settings } = this.#options;
    return new Upload({
      user,
      names,
      files,
      use: this.#use.begin(user.owner),
      nowMs: () => clock.nowMs(),
      settings: settings.input,
      reclaim: () => this.reclaim(),
    });
  }

  /** Removes expired names and unreferenced blobs at once. */
  async reclaim(): Promise<void> {
    const { names, files, clock, mayExpire } = this.#options;
    if (mayExpire()) await names.removeExpired(clock.nowMs());
    await files.reclaim();
  }

  /** Whether there is an input of this name. */
  async inputExists(name: string): Promise<boolean> {
    this.refuseWhileInputIsOff();
    const { names, clock } = this.#options;
    return (await names.find('INPUT', name, clock.nowMs())) !== undefined;
  }

  /** Restarts the expiry of an input; false when there is none of this name. Rejects with STORED_FILE_FOREIGN for the file of another user. */
  async renewInput(name: string, user: StorageUser): Promise<boolean> {
    const ofOwner = await this.#mayChange(name, user);
    const { names, clock, settings } = this.#options;
    const nowMs = clock.nowMs();
    return names.renew('INPUT', name, nowMs, nowMs + settings.input.expireAfterMs, ofOwner);
  }

  /** The owner to whose file a change is limited; undefined for none. Rejects with STORED_FILE_FOREIGN. */
  async #mayChange(name: string, user: StorageUser): Promise<string | undefined> {
    this.refuseWhileInputIsOff();
    const { names, clock, settings } = this.#options;
    const ofOwner = ownFilesOnly(user, settings.input);
    if (ofOwner === undefined) return undefined;
    const stored = await names.find('INPUT', name, clock.nowMs());
    if (stored && stored.owner !== ofOwner) throw foreignFile(name, stored.owner);
    return ofOwner;
  }

  /** Current blob of an input; it exists as long as it is held, whatever becomes of the name. */
  async input(name: string, hold: Hold): Promise<FileRef | undefined> {
    this.refuseWhileInputIsOff();
    const found = await this.#find('INPUT', name, hold);
    return found && refOf(found.stored);
  }

  /** Removes an input, if there is one of this name. Rejects with STORED_FILE_FOREIGN for the file of another user. */
  async removeInput(name: string, user: StorageUser): Promise<void> {
    const ofOwner = await this.#mayChange(name, user);
    await this.#options.names.remove('INPUT', name, ofOwner);
    void this.#options.files.reclaim();
  }

  /** Files of an area, by name. Rejects with INPUT_STORAGE_OFF and OUTPUT_STORAGE_OFF. */
  async list(area: StorageArea, query: NamesQuery): Promise<NamedObject[]> {
    this.#refuseWhileOff(area);
    const { names, clock } = this.#options;
    return names.list(area, query, clock.nowMs());
  }

  #refuseWhileOff(area: StorageArea): void {
    if (area === 'INPUT') this.refuseWhileInputIsOff();
    else if (!this.isOutputStorageOn)
      throw new HubError(
        'OUTPUT_STORAGE_OFF',
        'the output storage of this hub is not enabled (storage.output.enabled)',
      );
  }

  /** Rejects with OUTPUT_STORAGE_OFF and STORED_FILE_NOT_FOUND. */
  output(name: string): Promise<Download> {
    return this.#download('OUTPUT', name);
  }

  /** Content of an input. Rejects with INPUT_STORAGE_OFF and STORED_FILE_NOT_FOUND. */
  inputContent(name: string): Promise<Download> {
    return this.#download('INPUT', name);
  }

  async #download(area: StorageArea, name: string): Promise<Download> {
    this.#refuseWhileOff(area);
    const found = await this.#find(area, name);
    if (!found) throw fileNotFound(area, name);
    return { digest: found.stored.digest, file: found.file };
  }

  /** Looks up a name and its blob. The name may get another blob, and this one may be removed, in between: then both are looked up again. */
  async #find(area: StorageArea, name: string, hold?: Hold) {
    const { names, files, clock } = this.#options;
    let missing: string | undefined;
    for (;;) {
      const stored = await names.find(area, name, clock.nowMs());
      if (!stored) return undefined;
      const file = await files.find(refOf(stored), hold);
      if (file) return { stored, file };
      if (stored.digest === missing) throw blobMissing(stored);
      missing = stored.digest;
    }
  }

  /** A file by its name. Rejects with INPUT_STORAGE_OFF, OUTPUT_STORAGE_OFF and STORED_FILE_NOT_FOUND. */
  async stored(area: StorageArea, name: string): Promise<NamedObject> {
    this.#refuseWhileOff(area);
    const stored = await this.#options.names.find(area, name, this.#options.clock.nowMs());
    if (stored) return stored;
    throw fileNotFound(area, name);
  }

  /** Named objects for the files that a task, which ends now, left in the output storage. */
  outputsOf(task: Task, files: readonly NamedFileRef[], endedAtMs: number): NamedObject[] {
    if (!this.isOutputStorageOn) return [];
    const expiresAtMs = endedAtMs + this.#options.settings.output.expireAfterMs;
    return files.map(({ path, ...ref }) => ({
      ...ref,
      area: 'OUTPUT',
      name: outputName(task.id, path),
      owner: task.creator,
      storedAtMs: endedAtMs,
      expiresAtMs,
    }));
  }

  tooLarge(): HubError {
    return tooLarge(this.maxInputBytes);
  }
}

function refOf({ digest, sizeBytes, encrypted }: NamedObject): FileRef {
  return { digest, sizeBytes, ...(encrypted ? { encrypted } : {}) };
}

function fileNotFound(area: StorageArea, name: string): HubError {
  return new HubError(
    'STORED_FILE_NOT_FOUND',
    `there is no file ${JSON.stringify(name)} in the ${area.toLowerCase()} storage, or it has expired`,
  );
}

function blobMissing({ area, name, digest }: NamedObject): Error {
  return new Error(`blob ${digest} of ${JSON.stringify(name)} in the ${area} storage is missing`);
}
