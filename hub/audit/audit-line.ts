/** Conversion between entries and lines of JSON. */
import type { AuditEntry } from '../core/ports/audit.js';

/** Maximum length of texts in bytes of the line. Texts from outside are visibly cut, so that lines stay small and
 *  readable whatever clients send. Authenticated names always fit. */
const MAX_BYTES = { provenUser: 1100, claimedUser: 256, address: 64, resource: 512, detail: 512 };

/** Maximum line: the texts above and what stands between them. */
export const MAX_LINE_BYTES = 3 * 1024;

/** The line with its line end. JSON escapes line breaks within. */
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

/** Undefined for an incomplete entry, as a crash may leave. */
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

function bytesOf(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) - 2;
}
