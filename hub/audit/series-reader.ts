/** Reads one series of the audit log, newest first, across its files, without ever holding more than a piece of one. */
import { type FileHandle, open } from 'node:fs/promises';
import type { AuditEntry, AuditQuery } from '../core/ports/audit.js';
import {
  type AuditFile,
  type AuditSeries,
  currentFileOf,
  currentNumber,
  fullFileOf,
  fullFilesIn,
} from './audit-folder.js';
import { entryOf } from './audit-line.js';
import { readLinesBackwards } from './reverse-line-reader.js';

/** Where an entry begins: everything before it is older. */
export interface Position {
  readonly number: number;
  readonly offset: number;
}

/** An entry that the query asks for, or (without one) how far the reader has come. */
export interface Passed {
  readonly position: Position;
  readonly atMs: number;
  readonly entry?: AuditEntry;
}

/** The end of a series as it is now. */
export async function endOf(folder: string, series: AuditSeries): Promise<Position> {
  for (const file of await listFiles(folder, series)) {
    const handle = await openIfThere(folder, series, file);
    if (handle === undefined) continue;
    try {
      return { number: file.number, offset: (await handle.stat()).size };
    } finally {
      await handle.close();
    }
  }
  return { number: 0, offset: 0 };
}

/** The time of a file comes from a coarser clock than that of an entry, and may be a little behind it. */
const FILE_TIME_LAG_MS = 1000;

/** Goes through what was written before a position, newest first. */
export async function* readBackwards(
  folder: string,
  series: AuditSeries,
  before: Position,
  query: AuditQuery,
  client: { readonly aborted: boolean },
): AsyncGenerator<Passed> {
  const looksRight = glanceFor(query);
  for (const file of await listFiles(folder, series)) {
    if (file.number > before.number) continue;
    const handle = await openIfThere(folder, series, file);
    if (handle === undefined) continue;
    try {
      const { size, mtimeMs } = await handle.stat();
      // What was last written before the time in question holds nothing from it.
      if (query.fromMs !== undefined && mtimeMs + FILE_TIME_LAG_MS < query.fromMs) continue;
      const end = file.number === before.number ? Math.min(before.offset, size) : size;
      for await (const lines of readLinesBackwards(handle, end)) {
        if (client.aborted) return;
        for (const { offset, text } of lines) {
          const entry = looksRight(text) ? entryOf(text) : undefined;
          if (!entry || !isAskedFor(entry, query)) continue;
          yield { position: { number: file.number, offset }, atMs: entry.atMs, entry };
        }
        const oldest = lines.at(-1);
        const atMs = oldest && entryOf(oldest.text)?.atMs;
        if (oldest && atMs !== undefined)
          yield { position: { number: file.number, offset: oldest.offset }, atMs };
      }
    } finally {
      await handle.close();
    }
  }
}

/** Newest first. */
async function listFiles(folder: string, series: AuditSeries): Promise<AuditFile[]> {
  try {
    const full = await fullFilesIn(folder, series);
    return [{ number: currentNumber(full), path: currentFileOf(folder, series) }, ...full.reverse()];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** Undefined for a file that has gone meanwhile. The one that was being written may have become full. */
async function openIfThere(
  folder: string,
  series: AuditSeries,
  file: AuditFile,
): Promise<FileHandle | undefined> {
  const candidates = [...new Set([fullFileOf(folder, series, file.number).path, file.path])];
  for (const path of candidates) {
    try {
      return await open(path, 'r');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
  return undefined;
}

/** Sorts out most lines by a look at their text: to parse each would take ten times as long. */
function glanceFor({ user, action, outcome }: AuditQuery): (text: string) => boolean {
  const pieces = [user, action, outcome].flatMap((value) =>
    value === undefined ? [] : [JSON.stringify(value)],
  );
  return (text) => pieces.every((piece) => text.includes(piece));
}

function isAskedFor(entry: AuditEntry, { user, action, outcome, fromMs, toMs }: AuditQuery): boolean {
  return (
    (user === undefined || entry.user === user) &&
    (action === undefined || entry.action === action) &&
    (outcome === undefined || entry.outcome === outcome) &&
    (fromMs === undefined || entry.atMs >= fromMs) &&
    (toMs === undefined || entry.atMs < toMs)
  );
}
