/**
 * The files of the audit log: `audit.log` is written, `audit-000001.log` and so on are full. Each file has a number for
 * good: `audit.log` has the one that it will get when it is full.
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

const CURRENT = 'audit.log';

export function auditFolderOf(dataDir: string): string {
  return join(dataDir, 'audit');
}

export function currentFileOf(folder: string): string {
  return join(folder, CURRENT);
}

export interface AuditFile {
  readonly number: number;
  readonly path: string;
}

export function fullFileOf(folder: string, number: number): AuditFile {
  return { number, path: join(folder, `audit-${String(number).padStart(6, '0')}.log`) };
}

/** The full ones, oldest first. */
export async function fullFilesIn(folder: string): Promise<AuditFile[]> {
  const numbers = (await readdir(folder)).flatMap((name) => {
    const number = /^audit-(\d{6,15})\.log$/.exec(name)?.[1];
    return number === undefined ? [] : [Number(number)];
  });
  return numbers.sort((a, b) => a - b).map((number) => fullFileOf(folder, number));
}

/** The number of `audit.log`. */
export function currentNumber(fullFiles: readonly AuditFile[]): number {
  return (fullFiles.at(-1)?.number ?? 0) + 1;
}
