/** Holds on blobs that agents have uploaded, or need not upload, until the report that names them. */
import type { Readable } from 'node:stream';
import type { FileRef } from '@workbench-hub/shared/domain/job';
import type { Runtime, Timer } from '@workbench-hub/shared/runtime/runtime';
import type { BlobStore, FoundBlob, Hold } from '../../core/ports/blobs.js';

/** Time from the latest transfer of an agent to the end of its holds; after it, the agent may have to upload the blobs again. */
const UNREPORTED_MS = 3_600_000;

/** Longest time of a hold: an agent that is always busy may have left a blob unreported. */
const LONGEST_MS = 24 * 3_600_000;

/** Maximum number of holds; the oldest end first. */
const MAX_HELD = 100_000;

/** Agent with holds or transfers, or all agents that are not identified. */
interface Sender {
  readonly agentId: string | null;
  held: number;
  /** Number of transfers under way. */
  transfers: number;
  /** Monotonic time of the latest end of a transfer. */
  latestMs: number;
}

interface Held {
  readonly hold: Hold;
  readonly sender: Sender;
  readonly sinceMs: number;
  timer: Timer;
}

export class SentBlobs {
  readonly #files: BlobStore;
  readonly #runtime: Pick<Runtime, 'clock' | 'timers'>;
  /** Holds by agent and digest. */
  readonly #held = new Map<string, Held>();
  /** Senders by id of the agent. */
  readonly #senders = new Map<string | null, Sender>();

  constructor(files: BlobStore, runtime: Pick<Runtime, 'clock' | 'timers'>) {
    this.#files = files;
    this.#runtime = runtime;
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
    const sender = this.#senderOf(agentId);
    sender.transfers++;
    let found: T | undefined;
    try {
      found = await step(hold);
      return found;
    } finally {
      sender.transfers--;
      sender.latestMs = this.#nowMs;
      if (found) this.#keep(keyOf(agentId, digest), sender, hold);
      else hold.release();
      this.#forgetUnused(sender);
    }
  }

  #keep(key: string, sender: Sender, hold: Hold): void {
    // Before an earlier hold ends, so that its sender is not forgotten.
    sender.held++;
    this.#end(key, RELEASE);
    const timer = this.#expiryAfter(UNREPORTED_MS, key);
    this.#held.set(key, { hold, sender, sinceMs: this.#nowMs, timer });
    const [first] = this.#held.keys();
    if (this.#held.size > MAX_HELD && first !== undefined) this.#end(first, RELEASE);
  }

  #expiryAfter(delayMs: number, key: string): Timer {
    return this.#runtime.timers.after(delayMs, () => this.#expire(key));
  }

  /** Ends a hold, or renews it when its agent was active since. */
  #expire(key: string): void {
    const held = this.#held.get(key);
    if (!held) return;
    const { sender, sinceMs } = held;
    const activeMs = sender.transfers > 0 ? this.#nowMs : sender.latestMs;
    const leftMs = Math.min(activeMs + UNREPORTED_MS, sinceMs + LONGEST_MS) - this.#nowMs;
    if (leftMs > 0) held.timer = this.#expiryAfter(leftMs, key);
    else this.#end(key, RELEASE);
  }

  #end(key: string, end: (hold: Hold) => void): void {
    const held = this.#held.get(key);
    if (!held) return;
    this.#held.delete(key);
    held.timer.cancel();
    held.sender.held--;
    this.#forgetUnused(held.sender);
    end(held.hold);
  }

  #senderOf(agentId: string | null): Sender {
    const known = this.#senders.get(agentId);
    if (known) return known;
    const sender = { agentId, held: 0, transfers: 0, latestMs: this.#nowMs };
    this.#senders.set(agentId, sender);
    return sender;
  }

  #forgetUnused({ agentId, held, transfers }: Sender): void {
    if (held === 0 && transfers === 0) this.#senders.delete(agentId);
  }

  get #nowMs(): number {
    return this.#runtime.clock.monotonicMs();
  }
}

const RELEASE = (hold: Hold): void => hold.release();
const ABANDON = (hold: Hold): void => hold.abandon();

function keyOf(agentId: string | null, digest: string): string {
  return `${digest} ${agentId ?? ''}`;
}
