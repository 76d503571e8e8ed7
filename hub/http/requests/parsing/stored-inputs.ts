/** Files of the input storage that a request names. Each name is looked up once, since it may be overwritten meanwhile. */
import type { FileRef } from '@workbench-hub/shared/domain/job';
import type { ValidationError } from '../../../core/errors.js';
import type { Hold } from '../../../core/ports/blobs.js';
import { INPUT_NAME, INPUT_NAME_ALLOWED } from '../../../core/storage.js';
import type { Storage } from '../../../engine/storage/storage.js';

/** Placeholder for a file with a validation error. */
export const NO_FILE: FileRef = { digest: '', sizeBytes: 0 };

export class StoredInputs {
  readonly #storage: Storage;
  readonly #hold: Hold;
  readonly #found = new Map<string, Promise<FileRef | undefined>>();

  constructor(storage: Storage, hold: Hold) {
    this.#storage = storage;
    this.#hold = hold;
  }

  /** Throws INPUT_STORAGE_OFF. */
  refuseWhileOff(): void {
    this.#storage.refuseWhileInputIsOff();
  }

  /** The file of this name now. For a missing one, adds a validation error and returns {@link NO_FILE}. */
  async find(name: string, where: string, errors: ValidationError[]): Promise<FileRef> {
    this.refuseWhileOff();
    if (!INPUT_NAME.test(name)) {
      errors.push({ where, what: INPUT_NAME_ALLOWED });
      return NO_FILE;
    }
    const looked = this.#found.get(name) ?? this.#storage.input(name, this.#hold);
    this.#found.set(name, looked);
    const file = await looked;
    if (file) return file;
    errors.push({ where, what: `there is no file ${name} in the input storage, or it has expired` });
    return NO_FILE;
  }
}
