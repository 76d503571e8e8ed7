/**
 * Writer of one series of the audit log: JSON lines in private files, with a new file when one is full. Entries of one turn of
 * the event loop are one write. Commands append to the hub's file from processes of their own, so its state is checked before
 * each write.
 *
 * Callers never wait for the disk, nor notice that it is full: entries wait until they can be written. They are lost only when
 * too many wait, or the hub stops, which the hub's log reports at once and the audit log as soon as possible.
 */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { AuditEntry } from '../core/ports/audit.js';
import type { AuditSeries } from './audit-folder.js';
import { lineOf } from './audit-line.js';
import { CurrentFile } from './current-file.js';

export interface AuditFileOptions {
  readonly folder: string;
  readonly series: AuditSeries;
  /** Maximum file size, exceeded only by a single longer line. */
  readonly maxFileBytes: number;
  /** Number of full files kept. */
  readonly keepFiles: number;
  readonly runtime: Runtime;
  readonly log: Logger;
}

export interface AuditFile {
  /** Records an entry; never throws or waits. */
  record(entry: AuditEntry): void;
  /** Opens the file again at the next entry, in case another program has renamed it. */
  reopen(): Promise<void>;
  /** Writes waiting entries; resolves when all are synced or lost. Later entries are dropped. */
  close(): Promise<void>;
}

/** Maximum waiting entries while writing is impossible. */
const MAX_WAITING_BYTES = 4 * 1024 ** 2;

/** Delay before a failed write is retried. */
const RETRY_AFTER_MS = 1000;

/** Age below which a removal is reported to the operator. */
const SHORT_MS = 7 * 86_400_000;

/** Opens the series. Rejects as `mkdir` and `open` do. */
export async function openAuditFile(options: AuditFileOptions): Promise<AuditFile> {
  const { runtime, log } = options;
  const removed = (path: string, writtenAtMs: number) => {
    if (writtenAtMs + SHORT_MS < runtime.clock.nowMs()) return;
    log.warn(
      { path, writtenAt: new Date(writtenAtMs).toISOString() },
      'entries of the audit log less than a week old were removed for newer ones: raise audit.keepFiles, ' +
        'and find out who causes so many',
    );
  };
  const file = new CurrentFile({ ...options, removed });
  await file.open();
  return new AuditFileWriter(file, options);
}

class AuditFileWriter implements AuditFile {
  readonly #file: CurrentFile;
  readonly #options: AuditFileOptions;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  /** Lost entries not yet recorded in the audit log. */
  #lost = 0;
  #isFailing = false;
  #isPlanned = false;
  #isClosed = false;
  #writing: Promise<void> | undefined;

  constructor(file: CurrentFile, options: AuditFileOptions) {
    this.#file = file;
    this.#options = options;
  }

  record(entry: AuditEntry): void {
    if (this.#isClosed) return;
    const line = Buffer.from(lineOf(entry));
    if (this.#waitingBytes + line.length > MAX_WAITING_BYTES) {
      this.#lost++;
      return;
    }
    this.#waiting.push(line);
    this.#waitingBytes += line.length;
    this.#plan();
  }

  async reopen(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
    await this.#syncAndClose();
  }

  async close(): Promise<void> {
    const { folder, log } = this.#options;
    this.#isClosed = true;
    await this.#writing;
    if (!(await this.#writeWaiting()))
      log.error({ lost: this.#waiting.length + this.#lost, folder }, 'entries of the audit log are lost');
    this.#waiting = [];
    await this.#syncAndClose();
  }

  async #syncAndClose(): Promise<void> {
    const { folder, log } = this.#options;
    await this.#file.sync().catch((error: unknown) => {
      log.error({ err: error, folder }, 'the audit log could not be synced');
    });
    await this.#file.close();
  }

  /** Schedules a write of the waiting entries, later after a failure. */
  #plan(): void {
    if (this.#isPlanned || this.#isClosed || this.#writing !== undefined || this.#waiting.length === 0)
      return;
    this.#isPlanned = true;
    const { timers } = this.#options.runtime;
    if (this.#isFailing) timers.after(RETRY_AFTER_MS, () => this.#begin());
    else timers.soon(() => this.#begin());
  }

  #begin(): void {
    this.#isPlanned = false;
    if (this.#isClosed) return;
    this.#writing = this.#writeWaiting().then((written) => {
      this.#isFailing = !written;
      this.#writing = undefined;
      this.#plan();
    });
  }

  /** Writes all waiting and arriving entries; false after a failure. */
  async #writeWaiting(): Promise<boolean> {
    const { folder, series, runtime, log } = this.#options;
    while (this.#waiting.length > 0) {
      const lines = this.#takeWaiting();
      const appended = await this.#file.append(lines);
      if (appended.error !== undefined) {
        this.#waiting = [...lines.slice(appended.lines), ...this.#waiting];
        this.#waitingBytes = this.#waiting.reduce((sum, { length }) => sum + length, 0);
        log.error(
          { err: appended.error, waiting: this.#waiting.length, lost: this.#lost, folder },
          'the audit log cannot be written: requests continue, and a limited number of entries waits',
        );
        return false;
      }
      if (this.#isFailing) log.warn({ folder }, 'the audit log can be written again');
      this.#isFailing = false;
      if (this.#lost > 0) {
        const loss = entryOfLoss(runtime.clock.nowMs(), series, this.#lost);
        this.#waiting.unshift(Buffer.from(lineOf(loss)));
      }
      this.#lost = 0;
    }
    return true;
  }

  #takeWaiting(): Buffer[] {
    const lines = this.#waiting;
    this.#waiting = [];
    this.#waitingBytes = 0;
    return lines;
  }
}

function entryOfLoss(atMs: number, series: AuditSeries, entries: number): AuditEntry {
  return {
    atMs,
    user: null,
    by: null,
    address: null,
    action: 'ENTRIES_LOST',
    resource: `${series}.log`,
    outcome: 'FAILED',
    status: null,
    detail: `${entries} entries before this one could not be written`,
  };
}
