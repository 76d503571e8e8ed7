/** Reads the audit log, newest first, across its files, without ever holding more than a piece of one. */
import { type FileHandle, open } from 'node:fs/promises';
import { invalidInput } from '../core/errors.js';
import type { AuditEntry, AuditPage, AuditQuery, AuditReader } from '../core/ports/audit.js';
import { type AuditFile, currentFileOf, currentNumber, fullFileOf, fullFilesIn } from './audit-folder.js';
import { entryOf } from './audit-line.js';
import { linesBackwards } from './backwards.js';

/** Where an entry begins: everything before it is older. */
interface Position {
  readonly number: number;
  readonly offset: number;
}

interface Found {
  readonly position: Position;
  readonly entry: AuditEntry;
}

export function auditReader(folder: string): AuditReader {
  return {
    async read(query, client): Promise<AuditPage> {
      const before = query.before === undefined ? undefined : positionOf(query.before);
      const found: Found[] = [];
      // One more than asked for tells whether there is a next page.
      for await (const entry of entriesOf(folder, before, query, client)) {
        found.push(entry);
        if (found.length > query.limit) break;
      }
      const page = found.slice(0, query.limit);
      const last = page.at(-1);
      return {
        entries: page.map(({ entry }) => entry),
        next: found.length > page.length && last !== undefined ? cursorOf(last.position) : null,
      };
    },
  };
}

/** The time of a file comes from a coarser clock than that of an entry, and may be a little behind it. */
const FILE_TIME_LAG_MS = 1000;

/** Those that the query asks for, newest first. */
async function* entriesOf(
  folder: string,
  before: Position | undefined,
  query: AuditQuery,
  client: { readonly aborted: boolean },
): AsyncGenerator<Found> {
  const looksRight = glanceFor(query);
  for (const file of await filesOf(folder)) {
    if (before !== undefined && file.number > before.number) continue;
    const handle = await openIfThere(folder, file);
    if (handle === undefined) continue;
    try {
      const { size, mtimeMs } = await handle.stat();
      // What was last written before the time in question holds nothing from it.
      if (query.fromMs !== undefined && mtimeMs + FILE_TIME_LAG_MS < query.fromMs) continue;
      const end = file.number === before?.number ? Math.min(before.offset, size) : size;
      for await (const lines of linesBackwards(handle, end)) {
        if (client.aborted) return;
        for (const { offset, text } of lines) {
          const entry = looksRight(text) ? entryOf(text) : undefined;
          if (entry && isAskedFor(entry, query)) yield { position: { number: file.number, offset }, entry };
        }
      }
    } finally {
      await handle.close();
    }
  }
}

/** Newest first. */
async function filesOf(folder: string): Promise<AuditFile[]> {
  try {
    const full = await fullFilesIn(folder);
    return [{ number: currentNumber(full), path: currentFileOf(folder) }, ...full.reverse()];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** Undefined for a file that has gone meanwhile. The one that was being written may have become full. */
async function openIfThere(folder: string, file: AuditFile): Promise<FileHandle | undefined> {
  const candidates = [...new Set([fullFileOf(folder, file.number).path, file.path])];
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

function cursorOf({ number, offset }: Position): string {
  return `${number}.${offset}`;
}

function positionOf(cursor: string): Position {
  const [whole, number, offset] = /^(\d{1,15})\.(\d{1,15})$/.exec(cursor) ?? [];
  if (whole === undefined) {
    throw invalidInput([{ where: 'before', what: 'must be the "next" of an earlier answer' }]);
  }
  return { number: Number(number), offset: Number(offset) };
}
