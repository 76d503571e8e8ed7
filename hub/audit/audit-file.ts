/**
 * Writes the audit log: lines of JSON, appended to a file that only this user may read, in a new file when one is full.
 * What comes in one turn of the event loop is one write. Commands append to the same file from processes of their own, so
 * before each write the file is looked at.
 *
 * Whoever is recorded never waits for the disk, nor notices that it is full: entries wait until they can be written. Only
 * when too many wait, or the hub stops, they are lost, which the hub's log tells at once and the audit log as soon as it
 * can.
 */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { AuditEntry, AuditTrail } from '../core/ports/audit.js';
import { lineOf } from './audit-line.js';
import { CurrentFile } from './current-file.js';

export interface AuditFileOptions {
  readonly folder: string;
  /** A file that has this size is full. */
  readonly maxFileBytes: number;
  /** How many full files are kept. */
  readonly keepFiles: number;
  readonly runtime: Runtime;
  readonly log: Logger;
}

export interface AuditFile extends AuditTrail {
  /** Writes what waits; resolves when all of it is synced, or given up. What is recorded after that is dropped. */
  close(): Promise<void>;
}

/** More than this does not wait while writing is impossible. */
const MAX_WAITING_BYTES = 16 * 1024 ** 2;

/** After a failure, writing is tried again after this pause. */
const RETRY_AFTER_MS = 1000;

/** Opens the log for writing. Rejects as `mkdir` and `open` do. */
export async function openAuditFile(options: AuditFileOptions): Promise<AuditFile> {
  const { folder, runtime, log } = options;
  const file = new CurrentFile(options);
  await file.open();

  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  /** Entries that are lost and of which the audit log knows nothing yet. */
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

  /** Writes all that waits, and what comes meanwhile; false when something kept it from that. */
  const writeWaiting = async (): Promise<boolean> => {
    while (waiting.length > 0) {
      const lines = takeWaiting();
      const appended = await file.append(lines);
      if (appended.error !== undefined) {
        waiting = [...lines.slice(appended.lines), ...waiting];
        waitingBytes = waiting.reduce((sum, { length }) => sum + length, 0);
        log.error(
          { err: appended.error, waiting: waiting.length, lost, folder },
          'the audit log cannot be written: requests go on, and its entries wait as long as there is room for them',
        );
        return false;
      }
      if (failing) log.warn({ folder }, 'the audit log can be written again');
      failing = false;
      if (lost > 0) waiting.unshift(Buffer.from(lineOf(entryOfLoss(runtime.clock.nowMs(), lost))));
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

/** Appends one entry from a process of its own, beside a hub that runs or does not. Resolves when it is synced. */
export async function appendToAudit(folder: string, entry: AuditEntry): Promise<void> {
  const file = new CurrentFile({ folder, maxFileBytes: null, keepFiles: 0 });
  try {
    const { error } = await file.append([Buffer.from(lineOf(entry))]);
    if (error !== undefined) throw error;
    await file.sync();
  } finally {
    await file.close();
  }
}

function entryOfLoss(atMs: number, entries: number): AuditEntry {
  return {
    atMs,
    user: null,
    by: null,
    address: null,
    action: 'ENTRIES_LOST',
    resource: 'audit.log',
    outcome: 'FAILED',
    status: null,
    detail: `${entries} entries before this one could not be written`,
  };
}
