/** Partial blobs: one file `<digest>.partial` each, for senders that resume. */
import { createHash, type Hash } from 'node:crypto';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { FileRef } from '@workbench-hub/shared/domain/job';
import { NoRoom } from '@workbench-hub/shared/runtime/no-room';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import { SYNC_EVERY_BYTES, writeStream } from '@workbench-hub/shared/runtime/write-stream';
import { DigestMismatch, TransferInProgress, WrongOffset } from '../core/ports/blobs.js';
import { absent, type BlobDisk, type BlobFile } from './blob-disk.js';
import { touchFile } from './touch-file.js';

const PARTIAL_NAME = /^[0-9a-f]{64}\.partial$/;

/** Silence after which a sender gives way to another: its connection is probably dead. */
const SILENT_SENDER_MS = 10_000;

interface Sender {
  readonly stream: Readable;
  /** Resolves with whether the blob was kept. */
  readonly done: Promise<boolean>;
  /** Null while the hub reads the stored part, which may take long. */
  heardAtMs: number | null;
}

export class PartialBlobs {
  readonly #folder: string;
  readonly #disk: BlobDisk;
  readonly #runtime: Runtime;
  readonly #senders = new Map<string, Sender>();

  private constructor(folder: string, disk: BlobDisk, runtime: Runtime) {
    this.#folder = folder;
    this.#disk = disk;
    this.#runtime = runtime;
  }

  /** Removes everything but partial blobs from the folder. */
  static async open(folder: string, disk: BlobDisk, runtime: Runtime): Promise<PartialBlobs> {
    for (const name of await disk.list(folder)) {
      if (!PARTIAL_NAME.test(name)) await disk.remove(join(folder, name));
    }
    return new PartialBlobs(folder, disk, runtime);
  }

  async sizeOf(digest: string): Promise<number> {
    return this.#disk.stat(this.#pathOf(digest)).then(({ size }) => size, absent(0));
  }

  /** Receives a blob from `fromByte` on. `keep` takes over the path of the complete, verified and synced file. A sender that has
   *  nothing left to send waits for the one before. Rejects as the port's `receive` does, and with errors of the disk. */
  async receive(
    expected: FileRef,
    stream: Readable,
    fromByte: number,
    keep: (path: string) => Promise<void>,
  ): Promise<void> {
    const { digest } = expected;
    // The check and the claim of the turn happen in the same tick: of several waiting senders one gets it.
    for (let before = this.#senders.get(digest); before; before = this.#senders.get(digest)) {
      const isKept = await this.#giveWay(before);
      if (isKept && fromByte === expected.sizeBytes) return;
    }
    let settle: (isKept: boolean) => void = () => undefined;
    const done = new Promise<boolean>((resolve) => {
      settle = resolve;
    });
    const sender: Sender = { stream, done, heardAtMs: null };
    this.#senders.set(digest, sender);
    let isKept = false;
    try {
      const path = this.#pathOf(digest);
      await this.#write(path, expected, sender, fromByte);
      await keep(path);
      isKept = true;
    } finally {
      this.#senders.delete(digest);
      settle(isKept);
    }
  }

  /** Removes partial blobs begun before this time that are not being received; resolves with their number. */
  async sweep(beforeMs: number): Promise<number> {
    let removed = 0;
    for (const { name, mtimeMs } of await this.#idle()) {
      if (mtimeMs >= beforeMs || this.#senders.has(digestOf(name))) continue;
      await this.#disk.remove(join(this.#folder, name));
      removed++;
    }
    return removed;
  }

  /** Partial blobs that are not being received, oldest first. */
  async #idle(): Promise<{ readonly name: string; readonly mtimeMs: number; readonly size: number }[]> {
    const idle: { name: string; mtimeMs: number; size: number }[] = [];
    for (const name of await this.#disk.list(this.#folder)) {
      if (!PARTIAL_NAME.test(name) || this.#senders.has(digestOf(name))) continue;
      const info = await this.#disk.stat(join(this.#folder, name)).catch(absent(undefined));
      if (info) idle.push({ name, mtimeMs: info.mtimeMs, size: info.size });
    }
    return idle.sort((a, b) => a.mtimeMs - b.mtimeMs);
  }

  /** Removes the oldest idle partial blob to free space; false when there is none. */
  async #makeRoom(): Promise<boolean> {
    for (const { name } of await this.#idle()) {
      if (this.#senders.has(digestOf(name))) continue;
      await this.#disk.remove(join(this.#folder, name));
      return true;
    }
    return false;
  }

  #pathOf(digest: string): string {
    return join(this.#folder, `${digest}.partial`);
  }

  async #giveWay({ stream, done, heardAtMs }: Sender): Promise<boolean> {
    if (heardAtMs === null || this.#runtime.clock.monotonicMs() - heardAtMs < SILENT_SENDER_MS) {
      throw new TransferInProgress();
    }
    stream.destroy(new Error('another connection continues this transfer'));
    return done;
  }

  async #write(path: string, expected: FileRef, sender: Sender, fromByte: number): Promise<void> {
    const keptBytes = await this.sizeOf(expected.digest);
    if (fromByte > 0 && keptBytes !== fromByte) throw new WrongOffset(keptBytes);
    const file = await this.#disk.open(path, 'a+');
    let isWorthKeeping = false;
    try {
      const hash = await this.#resume(file, path, expected, fromByte);
      isWorthKeeping = true;
      sender.heardAtMs = this.#runtime.clock.monotonicMs();
      let sizeBytes = fromByte;
      const onChunk = (chunk: Uint8Array) => {
        sender.heardAtMs = this.#runtime.clock.monotonicMs();
        sizeBytes += chunk.length;
        if (sizeBytes > expected.sizeBytes) {
          isWorthKeeping = false;
          throw mismatch(expected, `more than ${expected.sizeBytes} bytes`);
        }
        hash.update(chunk);
      };
      // Not destroyed on refusal, since the sender still gets a response.
      const pieces = sender.stream.iterator({ destroyOnReturn: false });
      const makeRoom = () => this.#makeRoom();
      await writeStream(file, pieces, { onChunk, syncEveryBytes: SYNC_EVERY_BYTES, makeRoom });
      isWorthKeeping = false;
      const digest = hash.digest('hex');
      if (digest !== expected.digest || sizeBytes !== expected.sizeBytes) {
        throw mismatch(expected, `${digest} (${sizeBytes} bytes)`);
      }
      await touchFile(file, this.#runtime.clock);
      await file.sync();
    } catch (error) {
      // Kept for resumption only after a broken connection. A blob that did not fit would take space from others.
      const isOfTheDisk =
        (error as NodeJS.ErrnoException).syscall !== undefined && error !== sender.stream.errored;
      if (isWorthKeeping && !isOfTheDisk) await touchFile(file, this.#runtime.clock).catch(() => undefined);
      else await this.#disk.remove(path);
      throw error;
    } finally {
      await file.close();
    }
  }

  /** Truncates the file to `fromByte` and returns the hash of the rest. */
  async #resume(file: BlobFile, path: string, expected: FileRef, fromByte: number): Promise<Hash> {
    if (fromByte === 0) await file.truncate(0);
    const neededBytes = expected.sizeBytes - fromByte;
    for (;;) {
      const freeBytes = await this.#disk.freeBytes(this.#folder);
      if (neededBytes <= freeBytes) break;
      if (!(await this.#makeRoom())) throw new NoRoom(`only ${freeBytes} bytes are free`);
    }
    const hash = createHash('sha256');
    if (fromByte > 0) {
      const kept = this.#disk.read(path, 0, fromByte);
      for await (const chunk of kept as AsyncIterable<Buffer>) hash.update(chunk);
    }
    return hash;
  }
}

function mismatch({ digest, sizeBytes }: FileRef, came: string): DigestMismatch {
  return new DigestMismatch(`announced ${digest} (${sizeBytes} bytes), received ${came}`);
}

function digestOf(partialName: string): string {
  return partialName.slice(0, 64);
}
