/** Catalogue of an object store: which object has the file of which name. Part of the task store. All methods reject with HubError
 *  `STORE_UNAVAILABLE` or `STORAGE_FULL` when the store cannot be used. */

export interface CatalogueEntry {
  /** Name of the file, as the place of blobs knows it. */
  readonly name: string;
  /** Name of the object, which no other upload has. */
  readonly object: string;
  readonly sizeBytes: number;
  /** When the file was put or renewed last. */
  readonly usedAtMs: number;
}

/** A file that may be removed if nobody has put or used it since. */
export type UnusedFile = Pick<CatalogueEntry, 'name' | 'usedAtMs'>;

export interface BlobCatalogue {
  /** Name of the catalogue, which that of no other database has. */
  name(): Promise<string>;
  find(name: string): Promise<CatalogueEntry | undefined>;
  /** Gives a name its object, unless it has another one than `instead`, and notes the use. Resolves with the object that the name has
   *  now; a later durable commit of the task store covers it. */
  add(entry: CatalogueEntry, instead: string | null): Promise<string>;
  /** Notes that a file is used, at another time than before; false when the name does not have this object any more. */
  use(entry: Pick<CatalogueEntry, 'name' | 'object' | 'usedAtMs'>): Promise<boolean>;
  /** Removes names, those with a time of use only while they were not used since; resolves with their objects when that is durable. */
  remove(files: readonly (string | UnusedFile)[]): Promise<readonly string[]>;
  /** Names after this one, in order, that were used last before this time or, by a clock that was ahead, after `nowMs`. */
  old(after: string, beforeMs: number, nowMs: number, limit: number): Promise<readonly string[]>;
  /** The objects among these that have a name. */
  known(objects: readonly string[]): Promise<ReadonlySet<string>>;
}
