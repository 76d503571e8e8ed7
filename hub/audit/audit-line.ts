/** One entry as a line of JSON, and back. */
import type { AuditEntry } from '../core/ports/audit.js';

/** How long the texts of an entry are at most, in bytes of the line. What comes from outside is cut, visibly: a line must stay
 *  one that is easily read, and small, whatever a client sends. A name that was proven is long enough for any. */
const MAX_BYTES = { provenUser: 1100, claimedUser: 256, address: 64, resource: 512, detail: 512 };

/** Longer ones are not written: the texts above and what stands between them. */
export const MAX_LINE_BYTES = 3 * 1024;

/** With its line end. JSON escapes every line break within. */
export function lineOf({ atMs, ...entry }: AuditEntry): string {
  const line = {
    at: new Date(atMs).toISOString(),
    ...entry,
    user: cut(entry.user, entry.by === null ? MAX_BYTES.claimedUser : MAX_BYTES.provenUser),
    address: cut(entry.address, MAX_BYTES.address),
    resource: cut(entry.resource, MAX_BYTES.resource),
    detail: cut(entry.detail, MAX_BYTES.detail),
  };
  return `${JSON.stringify(line)}\n`;
}

/** Undefined for what is no whole entry: a crash may have cut a line short. */
export function entryOf(line: string): AuditEntry | undefined {
  try {
    const { at, ...entry } = JSON.parse(line) as { at: string } & Omit<AuditEntry, 'atMs'>;
    const atMs = Date.parse(at);
    return Number.isNaN(atMs) || typeof entry.action !== 'string' ? undefined : { atMs, ...entry };
  } catch {
    return undefined;
  }
}

function cut(text: string | null, maxBytes: number): string | null {
  if (text === null || (text.length <= maxBytes && bytesOf(text) <= maxBytes)) return text;
  let bytes = 0;
  let kept = '';
  for (const character of text) {
    bytes += bytesOf(character);
    if (bytes > maxBytes) break;
    kept += character;
  }
  return `${kept}…`;
}

/** Within a line. */
function bytesOf(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) - 2;
}
