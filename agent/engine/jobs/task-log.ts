/**
 * The log of one attempt: the output of its scripts. It is written to a blob of the spool, up to a limit (then the beginning,
 * a line that says how much is left out, and the end), and sent live to the hub, which may miss pieces: the whole comes with
 * the result. An attempt without output has no log.
 */

import type { FileRef } from '@workbench-hub/shared/domain/job';
import type { AttemptRef } from '@workbench-hub/shared/domain/task';
import type { HubConnection } from '@workbench-hub/shared/joining/ports/hub';
import type { Runtime, Timer } from '@workbench-hub/shared/runtime/runtime';
import { hasNoRoom } from '../../core/host-fault.js';
import type { BlobWriter } from '../../core/ports/spool.js';
import { TailBuffer } from '../../core/tail-buffer.js';

/** Length of the output that is resent after a reconnect, in UTF-16 units. */
const TAIL_LENGTH = 64 * 1024;
/** Bounds of the end that is kept of a log beyond its limit, in UTF-16 units: an eighth of the limit within them. It is in memory. */
const MIN_END_LENGTH = TAIL_LENGTH;
const MAX_END_LENGTH = 2 * 1024 * 1024;
/** Size at which live output is sent before the interval is over; at most the length of the tail. */
const LIVE_PIECE_LENGTH = 16 * 1024;
const LIVE_INTERVAL_MS = 100;
/** Unwritten bytes above which the script is held back. */
const HELD_BACK_BYTES = 256 * 1024;

export interface TaskLogOptions {
  readonly runtime: Runtime;
  readonly limitBytes: number;
  /** Called with the first text, and again when the log could not be written. */
  readonly openWriter: () => Promise<BlobWriter>;
  /** Makes room on a full disk for the end of the log; false when there is none. */
  readonly makeRoom: () => Promise<boolean>;
  readonly connection: () => HubConnection | null;
}

export class TaskLog {
  readonly #ref: AttemptRef;
  readonly #options: TaskLogOptions;
  readonly #tail = new TailBuffer(TAIL_LENGTH);
  #writer: Promise<BlobWriter> | null = null;
  #roomBytes: number;
  /** Text beyond the limit; null before. */
  #beyond: TailBuffer | null = null;
  #beyondBytes = 0;
  #queue: Buffer[] = [];
  #queuedBytes = 0;
  #writing: Promise<void> | null = null;
  #fault: unknown;
  #liveEnd = 0;
  #liveTimer: Timer | null = null;

  constructor(ref: AttemptRef, options: TaskLogOptions) {
    this.#ref = ref;
    this.#options = options;
    this.#roomBytes = options.limitBytes;
  }

  /** Appends text; a returned promise holds the program back until it is settled. */
  append(text: string): Promise<void> | undefined {
    if (text === '') return undefined;
    this.#keepHead(text);
    this.#tail.push(text);
    // Beyond the limit, live output is sent once an interval.
    const enough = this.#beyond === null && this.#tail.end - this.#liveEnd >= LIVE_PIECE_LENGTH;
    if (enough) this.#sendLive();
    else this.#liveTimer ??= this.#options.runtime.timers.after(LIVE_INTERVAL_MS, () => this.#sendLive());
    return this.#queuedBytes > HELD_BACK_BYTES ? (this.#writing ?? undefined) : undefined;
  }

  /** Sends the latest output to a hub that was joined again. */
  resend(): void {
    this.#liveEnd = 0;
    this.#sendLive();
  }

  /** Error of the disk, as soon as it is known. */
  get fault(): unknown {
    return this.#fault;
  }

  /** Ends the log; null when nothing was printed. After a failed write the end of the log is kept, if there is room for it.
   *  Throws the error of the disk. */
  async finish(): Promise<FileRef | null> {
    this.#liveTimer?.cancel();
    this.#liveTimer = null;
    if (!this.#writer) return null;
    this.#keepEnd();
    await this.#writing;
    try {
      if (this.#fault === undefined) return await (await this.#writer).finish();
    } catch (error) {
      this.#fault = error;
    }
    await this.#discard().catch(() => undefined);
    return this.#finishWithEnd();
  }

  async #finishWithEnd(): Promise<FileRef> {
    for (;;) {
      try {
        return await this.#writeEnd();
      } catch (error) {
        if (!hasNoRoom(error) || !(await this.#options.makeRoom())) throw error;
      }
    }
  }

  async #writeEnd(): Promise<FileRef> {
    const end = this.#tail.from(this.#tail.end - Math.floor(this.#options.limitBytes / 3));
    const isWhole = end.length === this.#tail.end;
    const why = this.#fault instanceof Error ? this.#fault.message : String(this.#fault);
    const note = isWhole ? '' : `[agent] the beginning of the log could not be kept: ${why}\n`;
    const writer = await this.#options.openWriter();
    try {
      await writer.write(Buffer.from(`${note}${end}`));
      return await writer.finish();
    } catch (error) {
      await writer.abandon().catch(() => undefined);
      throw error;
    }
  }

  /** Ends the log without keeping it. */
  async abandon(): Promise<void> {
    this.#liveTimer?.cancel();
    this.#queue = [];
    await this.#writing;
    await this.#discard();
  }

  /** Also after a failed write: earlier bytes take room on a full disk. */
  async #discard(): Promise<void> {
    const writer = await this.#writer?.catch(() => undefined);
    await writer?.abandon();
  }

  #keepHead(text: string): void {
    const byteLength = Buffer.byteLength(text);
    if (this.#beyond !== null) {
      this.#beyondBytes += byteLength;
      this.#beyond.push(text);
      return;
    }
    if (byteLength <= this.#roomBytes) {
      this.#roomBytes -= byteLength;
      this.#write(Buffer.from(text));
      return;
    }
    // The limit may split a character: the text is cut in units of at most three bytes.
    let fits = Math.min(text.length, Math.floor(this.#roomBytes / 3));
    const last = text.charCodeAt(fits - 1);
    if (fits > 0 && last >= 0xd800 && last < 0xdc00) fits--;
    const endLength = Math.floor(this.#options.limitBytes / 8);
    this.#beyond = new TailBuffer(Math.min(Math.max(endLength, MIN_END_LENGTH), MAX_END_LENGTH));
    this.#beyond.push(text.slice(fits));
    const head = Buffer.from(text.slice(0, fits));
    this.#beyondBytes = byteLength - head.length;
    this.#write(head);
  }

  #keepEnd(): void {
    if (this.#beyond === null) return;
    const end = Buffer.from(this.#beyond.lines());
    const leftOutBytes = this.#beyondBytes - end.length;
    if (leftOutBytes > 0) {
      this.#write(Buffer.from(`\n[agent] ${leftOutBytes} bytes are left out here: limits.taskLog\n`));
    }
    this.#write(end);
  }

  #write(bytes: Buffer): void {
    this.#queue.push(bytes);
    this.#queuedBytes += bytes.length;
    this.#writer ??= this.#options.openWriter();
    this.#writing ??= this.#writeQueue(this.#writer).finally(() => {
      this.#writing = null;
    });
  }

  async #writeQueue(opening: Promise<BlobWriter>): Promise<void> {
    try {
      const writer = await opening;
      while (this.#queue.length > 0) {
        const bytes = Buffer.concat(this.#queue);
        this.#queue = [];
        if (this.#fault === undefined) await writer.write(bytes);
        this.#queuedBytes -= bytes.length;
      }
    } catch (error) {
      // `finish` reports it at the end; the script continues.
      this.#fault ??= error;
      this.#queue = [];
      this.#queuedBytes = 0;
      this.#roomBytes = 0;
    }
  }

  #sendLive(): void {
    this.#liveTimer?.cancel();
    this.#liveTimer = null;
    const connection = this.#options.connection();
    if (!connection || this.#tail.end === this.#liveEnd) return;
    if (connection.isCongested()) {
      this.#liveTimer = this.#options.runtime.timers.after(LIVE_INTERVAL_MS, () => this.#sendLive());
      return;
    }
    const text = this.#tail.from(this.#liveEnd);
    this.#liveEnd = this.#tail.end;
    connection.sendOutput(this.#ref, this.#tail.end - text.length, text);
  }
}
