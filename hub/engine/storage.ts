/** The use cases of the storage: names for contents that are uploaded once and used often, or that scripts leave behind. */
import type { FileRef, NamedFileRef } from '@workbench-hub/shared/domain/job';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { HubError } from '../core/errors.js';
import { ContentTooLarge, type FileStore, type StoredFile } from '../core/ports/files.js';
import type { StoredName, StoredNames } from '../core/ports/storage.js';
import { outputName } from '../core/storage.js';
import type { Task } from '../core/task.js';

export interface StorageSettings {
  readonly input: {
    readonly enabled: boolean;
    readonly expireAfterMs: number;
    readonly maxFileBytes: number;
    /** Null: as much as there is room. */
    readonly quotaPerUserBytes: number | null;
  };
  readonly output: { readonly enabled: boolean; readonly expireAfterMs: number };
}

export interface StorageOptions {
  readonly names: StoredNames;
  readonly files: FileStore;
  readonly clock: Clock;
  readonly settings: StorageSettings;
}

/** A file that is being uploaded. */
export interface Upload {
  readonly name: string;
  readonly owner: string | null;
  readonly overwrite: boolean;
  readonly encrypt: boolean;
}

export interface Download {
  readonly digest: string;
  readonly file: StoredFile;
}

export class Storage {
  readonly #options: StorageOptions;

  constructor(options: StorageOptions) {
    this.#options = options;
  }

  get isInputOn(): boolean {
    return this.#options.settings.input.enabled;
  }

  get isOutputOn(): boolean {
    return this.#options.settings.output.enabled;
  }

  /** The size of the largest file that the input storage takes. */
  get maxInputBytes(): number {
    return this.#options.settings.input.maxFileBytes;
  }

  /** Throws INPUT_STORAGE_OFF; so do all that follow and have to do with inputs. */
  refuseWhileInputIsOff(): void {
    if (this.isInputOn) return;
    throw new HubError(
      'INPUT_STORAGE_OFF',
      'the input storage of this hub is not enabled (storage.input.enabled)',
    );
  }

  /** Keeps a content that comes as a stream; it has no name yet. Whether it may have one is asked before anything of it is
   *  read. Rejects with STORED_FILE_EXISTS, BODY_TOO_LARGE and QUOTA_EXCEEDED. */
  async take({ name, owner, overwrite, encrypt }: Upload, content: AsyncIterable<Buffer>): Promise<FileRef> {
    this.refuseWhileInputIsOff();
    const { names, files, clock, settings } = this.#options;
    const nowMs = clock.nowMs();
    if (!overwrite && (await names.find('INPUT', name, nowMs))) throw nameTaken(name);
    const { maxFileBytes, quotaPerUserBytes } = settings.input;
    const usedBytes = quotaPerUserBytes === null ? 0 : await names.usedBytes('INPUT', owner, name, nowMs);
    const leftBytes = quotaPerUserBytes === null ? maxFileBytes : Math.max(quotaPerUserBytes - usedBytes, 0);
    const limitBytes = Math.min(maxFileBytes, leftBytes);
    try {
      return await (encrypt ? files.storeEncrypted(content, limitBytes) : files.store(content, limitBytes));
    } catch (error) {
      if (!(error instanceof ContentTooLarge)) throw error;
      throw leftBytes < maxFileBytes ? this.#overQuota(usedBytes) : this.tooLarge();
    }
  }

  /** Gives an uploaded content its name; resolves when that is durable. Rejects as {@link take} does: what was so then may
   *  have changed. */
  async name({ name, owner, overwrite }: Upload, file: FileRef): Promise<void> {
    const { names, clock, settings } = this.#options;
    const { expireAfterMs, quotaPerUserBytes } = settings.input;
    const storedAtMs = clock.nowMs();
    const naming = await names.put(
      { ...file, area: 'INPUT', name, owner, storedAtMs, expiresAtMs: storedAtMs + expireAfterMs },
      { overwrite, quotaBytes: quotaPerUserBytes },
    );
    if (naming.kind === 'EXISTS') throw nameTaken(name);
    if (naming.kind === 'OVER_QUOTA') throw this.#overQuota(naming.usedBytes);
  }

  /** Whether there is an input of this name; with `renew` its time begins anew. */
  async inputExists(name: string, renew: boolean): Promise<boolean> {
    this.refuseWhileInputIsOff();
    const { names, clock, settings } = this.#options;
    const nowMs = clock.nowMs();
    if (renew) return names.renew('INPUT', name, nowMs, nowMs + settings.input.expireAfterMs);
    return (await names.find('INPUT', name, nowMs)) !== undefined;
  }

  /** The content that an input has now, safe from the sweep for as long as it takes to create a task with it. */
  async input(name: string): Promise<FileRef | undefined> {
    this.refuseWhileInputIsOff();
    const { names, files, clock } = this.#options;
    const stored = await names.find('INPUT', name, clock.nowMs());
    if (!stored) return undefined;
    const ref = refOf(stored);
    if (!(await files.find(ref))) throw contentMissing(stored);
    return ref;
  }

  /** Does nothing when there is none of this name. */
  async removeInput(name: string): Promise<void> {
    this.refuseWhileInputIsOff();
    await this.#options.names.remove('INPUT', name, this.#options.clock.nowMs());
  }

  /** Rejects with OUTPUT_STORAGE_OFF and STORED_FILE_NOT_FOUND. */
  async output(name: string): Promise<Download> {
    const { names, files, clock } = this.#options;
    if (!this.isOutputOn) {
      throw new HubError(
        'OUTPUT_STORAGE_OFF',
        'the output storage of this hub is not enabled (storage.output.enabled)',
      );
    }
    const stored = await names.find('OUTPUT', name, clock.nowMs());
    if (!stored) {
      throw new HubError(
        'STORED_FILE_NOT_FOUND',
        `there is no file ${JSON.stringify(name)} in the output storage, or it has expired`,
      );
    }
    const file = await files.find(refOf(stored));
    if (!file) throw contentMissing(stored);
    return { digest: stored.digest, file };
  }

  /** What a task that ends now leaves in the output storage, given the files that its scripts put there. */
  outputsOf(task: Task, files: readonly NamedFileRef[], endedAtMs: number): StoredName[] {
    if (!this.isOutputOn) return [];
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
    const limit = `${this.maxInputBytes} bytes (storage.input.maxFileSize)`;
    return new HubError('BODY_TOO_LARGE', `file: may have at most ${limit}`);
  }

  #overQuota(usedBytes: number): HubError {
    const { quotaPerUserBytes } = this.#options.settings.input;
    return new HubError(
      'QUOTA_EXCEEDED',
      `file: your other files in the input storage have ${usedBytes} bytes, of ${quotaPerUserBytes} that you may have ` +
        '(storage.input.quotaPerUser); delete some, or wait until they expire',
    );
  }
}

function refOf({ digest, sizeBytes, encrypted }: StoredName): FileRef {
  return { digest, sizeBytes, ...(encrypted ? { encrypted } : {}) };
}

function nameTaken(name: string): HubError {
  return new HubError(
    'STORED_FILE_EXISTS',
    `there is a file ${name} in the input storage already; give another name, or overwrite=true to replace it`,
  );
}

function contentMissing({ area, name, digest }: StoredName): Error {
  return new Error(`content ${digest} of ${JSON.stringify(name)} in the ${area} storage is missing`);
}
