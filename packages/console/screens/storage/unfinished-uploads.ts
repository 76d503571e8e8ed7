/** Uploads that this browser has begun and not ended, so that they go on when the same file is chosen again. */

const KEY = 'workbench-uploads';
/** Largest number that is kept; the hub forgets them, too. */
const MAX_KEPT = 100;

/** A file is the same when all of this is. */
export interface UploadKey {
  readonly name: string;
  /** Bytes. */
  readonly size: number;
  /** Milliseconds since 1970. */
  readonly lastModified: number;
  readonly overwrite: boolean;
  readonly encrypt: boolean;
}

export class UnfinishedUploads {
  readonly #storage: () => Pick<Storage, 'getItem' | 'setItem'>;

  /** The storage is asked for at each use: a browser may refuse it. */
  constructor(storage: () => Pick<Storage, 'getItem' | 'setItem'>) {
    this.#storage = storage;
  }

  /** Id at the hub; undefined when none was begun. */
  idOf(key: UploadKey): string | undefined {
    return this.#read().find(([text]) => text === textOf(key))?.[1];
  }

  /** Ids of all of them. */
  ids(): readonly string[] {
    return this.#read().map(([, id]) => id);
  }

  keep(key: UploadKey, id: string): void {
    this.#write([...this.#without(key), [textOf(key), id]]);
  }

  forget(key: UploadKey): void {
    this.#write(this.#without(key));
  }

  forgetId(id: string): void {
    this.#write(this.#read().filter(([, kept]) => kept !== id));
  }

  #without(key: UploadKey): (readonly [string, string])[] {
    return this.#read().filter(([text]) => text !== textOf(key));
  }

  #read(): readonly (readonly [string, string])[] {
    try {
      const kept: unknown = JSON.parse(this.#storage().getItem(KEY) ?? '[]');
      return Array.isArray(kept) ? kept.filter(isEntry) : [];
    } catch {
      return [];
    }
  }

  #write(entries: readonly (readonly [string, string])[]): void {
    try {
      this.#storage().setItem(KEY, JSON.stringify(entries.slice(-MAX_KEPT)));
    } catch {
      // A browser that keeps nothing: uploads go on as long as the page.
    }
  }
}

export const unfinishedUploads = new UnfinishedUploads(() => localStorage);

function textOf({ name, size, lastModified, overwrite, encrypt }: UploadKey): string {
  return [name, size, lastModified, overwrite, encrypt].join('|');
}

function isEntry(value: unknown): value is readonly [string, string] {
  return Array.isArray(value) && value.length === 2 && value.every((each) => typeof each === 'string');
}
