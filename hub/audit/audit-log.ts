/** The audit log of the hub: each entry goes to the series of its caller, which has a share of the kept volume. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { AuditEntry, AuditTrail } from '../core/ports/audit.js';
import { type AuditFile, openAuditFile } from './audit-file.js';
import { type AuditSeries, SERIES_SHARES } from './audit-folder.js';
import { lineOf } from './audit-line.js';
import { CallerRate } from './caller-rate.js';
import { CurrentFile } from './current-file.js';

export interface AuditLogOptions {
  readonly folder: string;
  /** Maximum file size; the kept volume is at most this times `keepFiles` plus 1. */
  readonly maxFileBytes: number;
  /** Number of full files kept in each series. */
  readonly keepFiles: number;
  readonly runtime: Runtime;
  readonly log: Logger;
}

export interface AuditLog extends AuditTrail {
  /** Opens the files again, in case another program has renamed them. */
  reopen(): Promise<void>;
  /** Writes waiting entries; resolves when all are synced or lost. Later entries are dropped. */
  close(): Promise<void>;
}

/** Opens the log. Rejects as `mkdir` and `open` do. */
export async function openAuditLog(options: AuditLogOptions): Promise<AuditLog> {
  const sizedFor = (series: AuditSeries) => ({
    ...options,
    series,
    maxFileBytes: Math.max(1, Math.floor(options.maxFileBytes * SERIES_SHARES[series])),
  });
  const files: Record<AuditSeries, AuditFile> = {
    audit: await openAuditFile(sizedFor('audit')),
    administration: await openAuditFile(sizedFor('administration')),
    refusals: await openAuditFile(sizedFor('refusals')),
    bulk: await openAuditFile(sizedFor('bulk')),
  };
  const pace = new CallerRate(options.runtime.clock);
  const seriesOf = (entry: AuditEntry, isAdministrators: boolean) => {
    if (entry.outcome !== 'ALLOWED') return isAdministrators ? 'administration' : 'refusals';
    if (pace.isExceeded(entry)) return 'bulk';
    return isAdministrators ? 'administration' : 'audit';
  };

  return {
    record: (entry, isAdministrators = false) => files[seriesOf(entry, isAdministrators)].record(entry),
    reopen: async () => {
      for (const file of Object.values(files)) await file.reopen();
    },
    close: async () => {
      for (const file of Object.values(files)) await file.close();
    },
  };
}

/** Appends an entry from a command's process, whether or not a hub runs. Resolves when it is synced. */
export async function appendToAudit(folder: string, entry: AuditEntry): Promise<void> {
  const file = new CurrentFile({ folder, series: 'administration', maxFileBytes: null, keepFiles: 0 });
  try {
    const { error } = await file.append([Buffer.from(lineOf(entry))]);
    if (error !== undefined) throw error;
    await file.sync();
  } finally {
    await file.close();
  }
}
