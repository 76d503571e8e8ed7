/**
 * Files of blobs as objects of an S3-compatible store. Each upload makes an object of its own, which is never written again; the
 * catalogue says which object has which name. So no hub removes what another has just stored, and an object store needs neither
 * rename nor the time of a last use.
 */
import { rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { BlobCatalogue, CatalogueEntry, UnusedFile } from '../../core/ports/blob-catalogue.js';
import { type BlobPlace, type FoundFile, type InTurn, type OpenFile, REMAINS_AGE_MS } from '../blob-place.js';
import { blocksOf } from '../blob-streams.js';
import type { S3Bucket } from './s3-bucket.js';
import { clientError, S3Fault, sentenceOf } from './s3-fault.js';

/** A use is noted again after this time. */
const NOTE_USE_AFTER_MS = 10 * 60_000;

/** Uses that are remembered. */
const MAX_NOTED = 10_000;

/** Time between two looks for remains, which list all objects. */
const LOOK_EVERY_MS = 3_600_000;

/** Names that are read from the catalogue at a time. */
const BATCH = 500;

export interface S3PlaceOptions {
  readonly bucket: S3Bucket;
  readonly catalogue: BlobCatalogue;
  /** Beginning of the keys of all objects of the catalogue. */
  readonly prefix: string;
  readonly runtime: Pick<Runtime, 'clock' | 'newId'>;
  readonly log: Logger;
}

export class S3Place implements BlobPlace {
  readonly #options: S3PlaceOptions;
  #nextLookMs = 0;
  /** Monotonic times of the latest uses that this hub has noted, by name. */
  readonly #noted = new Map<string, number>();

  constructor(options: S3PlaceOptions) {
    this.#options = options;
  }

  async put(name: string, path: string, inTurn: InTurn): Promise<void> {
    await translated(async () => {
      while (!(await this.#putOnce(name, path, inTurn)));
      await rm(path, { force: true });
    });
  }

  async renew(name: string): Promise<boolean> {
    return (await this.#present(name)) !== undefined;
  }

  async find(name: string): Promise<FoundFile | undefined> {
    const found = await this.#present(name);
    if (!found) return undefined;
    const { object, sizeBytes } = found;
    return {
      sizeBytes,
      read: (start, end) => Readable.from(this.#read(object, start, end), { objectMode: false }),
    };
  }

  async open(name: string): Promise<OpenFile | undefined> {
    const entry = await this.#options.catalogue.find(name);
    if (!entry) return undefined;
    const { object, sizeBytes } = entry;
    return {
      sizeBytes,
      location: `s3://${this.#options.bucket.settings.bucket}/${object}`,
      blocks: (start, end, blockBytes) => blocksOf(this.#read(object, start, end), blockBytes),
      close: async () => undefined,
    };
  }

  async remove(files: readonly (string | UnusedFile)[]): Promise<void> {
    await this.#discard(await this.#options.catalogue.remove(files));
  }

  async usedAtMs(name: string): Promise<number | undefined> {
    return (await this.#options.catalogue.find(name))?.usedAtMs;
  }

  forgetUses(names: readonly string[]): void {
    for (const name of names) this.#noted.delete(name);
  }

  async *names(beforeMs: number): AsyncGenerator<readonly string[]> {
    const { catalogue, runtime } = this.#options;
    for (let after = ''; ; ) {
      const names = await catalogue.old(after, beforeMs, runtime.clock.nowMs(), BATCH);
      yield names;
      if (names.length < BATCH) return;
      after = names.at(-1) as string;
    }
  }

  /** A time of use in the future, from a clock that was ahead, counts as now. */
  async isOld(name: string, beforeMs: number): Promise<boolean> {
    const { catalogue, runtime } = this.#options;
    const entry = await catalogue.find(name);
    if (!entry) return false;
    const nowMs = runtime.clock.nowMs();
    if (entry.usedAtMs > nowMs) await catalogue.use({ ...entry, usedAtMs: nowMs });
    return entry.usedAtMs < beforeMs;
  }

  async removeRemains(): Promise<number> {
    const { bucket, catalogue, prefix, runtime } = this.#options;
    const monotonicMs = runtime.clock.monotonicMs();
    if (monotonicMs < this.#nextLookMs) return 0;
    this.#nextLookMs = monotonicMs + LOOK_EVERY_MS;
    const beforeMs = runtime.clock.nowMs() - REMAINS_AGE_MS;
    return translated(async () => {
      let removed = await bucket.abortUploads(prefix, beforeMs);
      for await (const page of bucket.list(prefix)) {
        const old = page.filter(({ changedAtMs }) => changedAtMs < beforeMs).map(({ key }) => key);
        const known = await catalogue.known(old);
        const stray = old.filter((key) => !known.has(key));
        await bucket.remove(stray);
        removed += stray.length;
      }
      return removed;
    });
  }

  /** False when the catalogue has changed meanwhile. */
  async #putOnce(name: string, path: string, inTurn: InTurn): Promise<boolean> {
    const { bucket, catalogue, prefix, runtime } = this.#options;
    const known = await catalogue.find(name);
    const usedAtMs = runtime.clock.nowMs();
    if (known && (await bucket.sizeOf(known.object)) === known.sizeBytes)
      return inTurn(() => catalogue.use({ ...known, usedAtMs }));
    const object = `${prefix}${runtime.newId()}`;
    const sizeBytes = await bucket.uploadFile(object, path);
    const entry = { name, object, sizeBytes, usedAtMs: runtime.clock.nowMs() };
    const kept = await inTurn(() => catalogue.add(entry, known?.object ?? null));
    if (kept !== object) await this.#discard([object]);
    else if (known) await this.#discard([known.object]);
    return true;
  }

  /** The entry of a file that exists, with the size of its object; its use is noted. */
  async #present(name: string): Promise<CatalogueEntry | undefined> {
    const { bucket, catalogue, runtime, log } = this.#options;
    const entry = await catalogue.find(name);
    if (!entry) return undefined;
    const sizeBytes = await translated(() => bucket.sizeOf(entry.object));
    if (sizeBytes === undefined) {
      log.error({ object: entry.object }, 'an object of the hub is not in the bucket any more');
      return undefined;
    }
    const usedAtMs = runtime.clock.nowMs();
    const isRecent = Math.abs(usedAtMs - entry.usedAtMs) < NOTE_USE_AFTER_MS && this.#isNoted(name);
    if (!isRecent) {
      this.#note(name);
      if (!(await catalogue.use({ ...entry, usedAtMs }))) return undefined;
    }
    return { ...entry, sizeBytes };
  }

  #isNoted(name: string): boolean {
    const atMs = this.#noted.get(name);
    return atMs !== undefined && this.#options.runtime.clock.monotonicMs() - atMs < NOTE_USE_AFTER_MS;
  }

  #note(name: string): void {
    this.#noted.delete(name);
    this.#noted.set(name, this.#options.runtime.clock.monotonicMs());
    const [oldest] = this.#noted.keys();
    if (this.#noted.size > MAX_NOTED && oldest !== undefined) this.#noted.delete(oldest);
  }

  async *#read(object: string, start: number, end: number): AsyncGenerator<Buffer> {
    try {
      yield* this.#options.bucket.read(object, start, end);
    } catch (error) {
      throw error instanceof S3Fault ? clientError(error) : error;
    }
  }

  /** Removes objects without a name. What cannot be removed now is left to {@link removeRemains}. */
  async #discard(objects: readonly string[]): Promise<void> {
    const { bucket, log } = this.#options;
    try {
      await bucket.remove(objects);
    } catch (error) {
      if (!(error instanceof S3Fault)) throw error;
      const why = sentenceOf(error, bucket.settings);
      log.warn(
        { objects: objects.length, why },
        'objects could not be removed from the bucket; the daily sweep removes them',
      );
    }
  }
}

/** Rethrows a fault of the object store as the error for clients. */
async function translated<T>(step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    throw error instanceof S3Fault ? clientError(error) : error;
  }
}
