/** Reader of one series across its files, newest first, with one chunk in memory. */
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
import { type LineAt, readLinesBackwards } from './reverse-line-reader.js';

/** Position of an entry: everything before it is older. */
export interface Position {
  readonly number: number;
  readonly offset: number;
}

/** A matching entry, or (without one) the progress of the reader. */
export interface Passed {
  readonly position: Position;
  readonly atMs: number;
  readonly entry?: AuditEntry;
}

/** Present end of a series. */
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

/** File times come from a coarser clock than entries, and may be slightly earlier. */
const FILE_TIME_LAG_MS = 1000;

/** Goes through the entries before a position, newest first. */
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
      const end = await endOfWanted(handle, file.number, before, query);
      if (end === undefined) continue;
      for await (const lines of readLinesBackwards(handle, end)) {
        if (client.aborted) return;
        yield* passedIn(lines, file.number, query, looksRight);
      }
    } finally {
      await handle.close();
    }
  }
}

/** Offset up to which a file has entries before a position; undefined when none of them can match. */
async function endOfWanted(
  handle: FileHandle,
  number: number,
  before: Position,
  { fromMs }: AuditQuery,
): Promise<number | undefined> {
  const { size, mtimeMs } = await handle.stat();
  // A file last written before the wanted time has no matching entry.
  if (fromMs !== undefined && mtimeMs + FILE_TIME_LAG_MS < fromMs) return undefined;
  return number === before.number ? Math.min(before.offset, size) : size;
}

/** The matching entries among lines of a file, and then the progress to the last of the lines. */
function* passedIn(
  lines: readonly LineAt[],
  number: number,
  query: AuditQuery,
  looksRight: (text: string) => boolean,
): Generator<Passed> {
  for (const { offset, text } of lines) {
    const entry = looksRight(text) ? entryOf(text) : undefined;
    if (!entry || !isAskedFor(entry, query)) continue;
    yield { position: { number, offset }, atMs: entry.atMs, entry };
  }
  const oldest = lines.at(-1);
  const atMs = oldest && entryOf(oldest.text)?.atMs;
  if (oldest && atMs !== undefined) yield { position: { number, offset: oldest.offset }, atMs };
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

/** Undefined for a file removed in the meantime. The one being written may have become full. */
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

/** Rejects most lines by their text: parsing each would take ten times as long. */
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
