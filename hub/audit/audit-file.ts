/**
 * Writer of one series of the audit log: JSON lines in private files, with a new file when one is full. Entries of one turn of
 * the event loop are one write. Commands append to the hub's file from processes of their own, so its state is checked before
 * each write.
 *
 * Callers never wait for the disk, nor notice that it is full: entries wait until they can be written. They are lost only when
 * too many wait, or the hub stops, which the hub's log tells at once and the audit log as soon as possible.
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
  const { folder, series, runtime, log } = options;
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

  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  /** Lost entries not yet recorded in the audit log. */
  let lost = 0;
  let failing = false;
  let isPlanned = false;
  let isClosed = false;
  let writing: Promise<void> | undefined;

  const takeWaiting = (): Buffer[] => {
    const lines = waiting;
    waiting = [];
    waitingBytes = 0;
    return lines;
  };

  /** Writes all waiting and arriving entries; false after a failure. */
  const writeWaiting = async (): Promise<boolean> => {
    while (waiting.length > 0) {
      const lines = takeWaiting();
      const appended = await file.append(lines);
      if (appended.error !== undefined) {
        waiting = [...lines.slice(appended.lines), ...waiting];
        waitingBytes = waiting.reduce((sum, { length }) => sum + length, 0);
        log.error(
          { err: appended.error, waiting: waiting.length, lost, folder },
          'the audit log cannot be written: requests continue, and a limited number of entries waits',
        );
        return false;
      }
      if (failing) log.warn({ folder }, 'the audit log can be written again');
      failing = false;
      if (lost > 0) waiting.unshift(Buffer.from(lineOf(entryOfLoss(runtime.clock.nowMs(), series, lost))));
      lost = 0;
    }
    return true;
  };

  const plan = () => {
    if (isPlanned || isClosed || writing !== undefined || waiting.length === 0) return;
    isPlanned = true;
    const begin = () => {
      isPlanned = false;
      if (isClosed) return;
      writing = writeWaiting().then((written) => {
        failing = !written;
        writing = undefined;
        plan();
      });
    };
    if (failing) runtime.timers.after(RETRY_AFTER_MS, begin);
    else runtime.timers.soon(begin);
  };

  return {
    record(entry) {
      if (isClosed) return;
      const line = Buffer.from(lineOf(entry));
      if (waitingBytes + line.length > MAX_WAITING_BYTES) {
        lost++;
        return;
      }
      waiting.push(line);
      waitingBytes += line.length;
      plan();
    },
    async close() {
      isClosed = true;
      await writing;
      const written = await writeWaiting();
      if (!written) log.error({ lost: waiting.length + lost, folder }, 'entries of the audit log are lost');
      waiting = [];
      await file.sync().catch((error: unknown) => {
        log.error({ err: error, folder }, 'the audit log could not be synced');
      });
      await file.close();
    },
  };
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
