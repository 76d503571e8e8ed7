/** Holds on blobs that agents have uploaded, or need not upload, until the report that names them. */
import type { Readable } from 'node:stream';
import type { FileRef } from '@workbench-hub/shared/domain/job';
import type { Timer, Timers } from '@workbench-hub/shared/runtime/runtime';
import type { BlobStore, FoundBlob, Hold } from '../../core/ports/blobs.js';

/** Duration of a hold; after it, an agent may have to upload the blob again. */
const UNREPORTED_MS = 3_600_000;

/** Maximum number of holds; the oldest end first. */
const MAX_HELD = 100_000;

interface Held {
  readonly hold: Hold;
  readonly timer: Timer;
}

export class SentBlobs {
  readonly #files: BlobStore;
  readonly #timers: Timers;
  /** Holds by agent and digest. */
  readonly #held = new Map<string, Held>();

  constructor(files: BlobStore, timers: Timers) {
    this.#files = files;
    this.#timers = timers;
  }

  /** Receives a blob as the blob store does, for the agent with this id; null when the agent is not identified. */
  async receive(
    agentId: string | null,
    expected: FileRef,
    stream: Readable,
    fromByte: number,
  ): Promise<void> {
    const receive = (hold: Hold) => this.#files.receive(expected, stream, fromByte, hold).then(() => true);
    await this.#holding(agentId, expected.digest, receive);
  }

  /** Looks up a blob for an agent that is about to report it. */
  findForReport(agentId: string | null, digest: string): Promise<FoundBlob | undefined> {
    return this.#holding(agentId, digest, (hold) => this.#files.find(digest, hold));
  }

  /** Ends the holds on the blobs of a report whose consequence is durable. If it did not count, unreferenced blobs are removed. */
  reported(agentId: string, digests: Iterable<string>, counted: boolean): void {
    const end = counted ? RELEASE : ABANDON;
    for (const digest of digests) {
      this.#end(keyOf(agentId, digest), end);
      this.#end(keyOf(null, digest), end);
    }
  }

  /** Ends all holds. */
  stop(): void {
    for (const key of [...this.#held.keys()]) this.#end(key, RELEASE);
  }

  async #holding<T>(agentId: string | null, digest: string, step: (hold: Hold) => Promise<T>): Promise<T> {
    const hold = this.#files.hold();
    let found: T | undefined;
    try {
      found = await step(hold);
      return found;
    } finally {
      if (found) this.#keep(keyOf(agentId, digest), hold);
      else hold.release();
    }
  }

  #keep(key: string, hold: Hold): void {
    this.#end(key, RELEASE);
    const timer = this.#timers.after(UNREPORTED_MS, () => this.#end(key, RELEASE));
    this.#held.set(key, { hold, timer });
    const [first] = this.#held.keys();
    if (this.#held.size > MAX_HELD && first !== undefined) this.#end(first, RELEASE);
  }

  #end(key: string, end: (hold: Hold) => void): void {
    const held = this.#held.get(key);
    if (!held) return;
    this.#held.delete(key);
    held.timer.cancel();
    end(held.hold);
  }
}

const RELEASE = (hold: Hold): void => hold.release();
const ABANDON = (hold: Hold): void => hold.abandon();

function keyOf(agentId: string | null, digest: string): string {
  return `${digest} ${agentId ?? ''}`;
}
