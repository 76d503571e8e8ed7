/**
 * The files of the audit log, in series by whose doing an entry is, so that nobody's entries push out those of others. Of the
 * series `audit`, for instance, `audit.log` is written, `audit-000001.log` and so on are full. Each file has a number for good:
 * `audit.log` has the one that it will get when it is full.
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** What each series holds, and its share of the volume that is kept. In cursors they stand in this order. */
export const SERIES_SHARES = {
  /** What users and agents did that are no administrators, each at a pace that leaves room for others. */
  audit: 6 / 16,
  /** All that administrators did, and what they were refused. Commands on the machine of the hub write it, too, each from a
   *  process of its own: what is left to the size that no file exceeds leaves room for them. */
  administration: 5 / 16,
  /** Requests of all others that were refused, or failed. */
  refusals: 3 / 16,
  /** What was done beyond the pace. */
  bulk: 2 / 16,
} as const;

export type AuditSeries = keyof typeof SERIES_SHARES;

export const AUDIT_SERIES = Object.keys(SERIES_SHARES) as AuditSeries[];

const NAME = new RegExp(`^(?:${AUDIT_SERIES.join('|')})(?:-\\d{6,15})?\\.log$`);

export function auditFolderOf(dataDir: string): string {
  return join(dataDir, 'audit');
}

/** Whether a file of this name is one of the audit log. */
export function isAuditFile(name: string): boolean {
  return NAME.test(name);
}

export function currentFileOf(folder: string, series: AuditSeries): string {
  return join(folder, `${series}.log`);
}

export interface AuditFile {
  readonly number: number;
  readonly path: string;
}

export function fullFileOf(folder: string, series: AuditSeries, number: number): AuditFile {
  return { number, path: join(folder, `${series}-${String(number).padStart(6, '0')}.log`) };
}

/** The full ones, oldest first. */
export async function fullFilesIn(folder: string, series: AuditSeries): Promise<AuditFile[]> {
  const numbers = (await readdir(folder)).flatMap((name) => {
    const number =
      isAuditFile(name) && name.startsWith(`${series}-`) ? /-(\d+)\.log$/.exec(name)?.[1] : undefined;
    return number === undefined ? [] : [Number(number)];
  });
  return numbers.sort((a, b) => a - b).map((number) => fullFileOf(folder, series, number));
}

/** The number of the one that is written. */
export function currentNumber(fullFiles: readonly AuditFile[]): number {
  return (fullFiles.at(-1)?.number ?? 0) + 1;
}
