/** One entry as a line of JSON, and back. */
import type { AuditEntry } from '../core/ports/audit.js';

/** What comes from outside is cut to this length: a line must stay one that is easily read. */
const MAX_TEXT_LENGTH = 1000;

/** With its line end. JSON escapes every line break within. */
export function lineOf({ atMs, ...entry }: AuditEntry): string {
  const line = {
    at: new Date(atMs).toISOString(),
    ...entry,
    user: cut(entry.user),
    resource: cut(entry.resource),
    detail: cut(entry.detail),
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

function cut<Text extends string | null>(text: Text): Text | string {
  return text !== null && text.length > MAX_TEXT_LENGTH ? `${text.slice(0, MAX_TEXT_LENGTH)}…` : text;
}
