/**
 * Files of the audit log, in series by kind of caller, so that no one's entries displace those of others. In the series
 * `audit`, for instance, `audit.log` is being written, and `audit-000001.log` and so on are full. The number of a file is
 * permanent: `audit.log` has the one that it will get when it is full.
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Series with their share of the kept volume, in the order of cursors. */
export const SERIES_SHARES = {
  /** Actions of users and agents who are no administrators, each within a rate limit. */
  audit: 6 / 16,
  /** Actions and refusals of administrators. Commands on the hub's machine write it, too, from processes of their own:
   *  the difference to the maximum file size leaves space for them. */
  administration: 5 / 16,
  /** Refused and failed requests of all others. */
  refusals: 3 / 16,
  /** Actions beyond the rate limit. */
  bulk: 2 / 16,
} as const;

export type AuditSeries = keyof typeof SERIES_SHARES;

export const AUDIT_SERIES = Object.keys(SERIES_SHARES) as AuditSeries[];

const NAME = new RegExp(`^(?:${AUDIT_SERIES.join('|')})(?:-\\d{6,15})?\\.log$`);

export function auditFolderOf(dataDir: string): string {
  return join(dataDir, 'audit');
}

/** True for the name of an audit file. */
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

/** Full files, oldest first. */
export async function fullFilesIn(folder: string, series: AuditSeries): Promise<AuditFile[]> {
  const numbers = (await readdir(folder)).flatMap((name) => {
    const number =
      isAuditFile(name) && name.startsWith(`${series}-`) ? /-(\d+)\.log$/.exec(name)?.[1] : undefined;
    return number === undefined ? [] : [Number(number)];
  });
  return numbers.sort((a, b) => a - b).map((number) => fullFileOf(folder, series, number));
}

/** Number of the file being written. */
export function currentNumber(fullFiles: readonly AuditFile[]): number {
  return (fullFiles.at(-1)?.number ?? 0) + 1;
}
