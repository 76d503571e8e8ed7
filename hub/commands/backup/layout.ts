/** Entries of a backup. Their names are those in dataDir. */
import { z } from 'zod';
import { isAuditFile } from '../../audit/audit-folder.js';
import { KEY_FILES } from '../../core/ports/key-files.js';

export const MANIFEST = 'manifest.json';
export const BLOBS_FOLDER = 'files';
export const AUDIT_FOLDER = 'audit';

/** Parts of dataDir that a restored hub has from the backup or not at all. */
export function restoredParts(databases: readonly string[]): readonly string[] {
  return [...databases, BLOBS_FOLDER, ...KEY_FILES];
}

const FORMAT = 1;

const manifestSchema = z.object({
  format: z.literal(FORMAT),
  hubVersion: z.string(),
  createdAt: z.iso.datetime(),
  contents: z.int().nonnegative(),
  contentBytes: z.int().nonnegative(),
  /** Names of blobs that the hub had lost before the backup. */
  missing: z.array(z.string()),
});

export type Manifest = z.output<typeof manifestSchema>;

export function manifestText(manifest: Omit<Manifest, 'format'>): string {
  return `${JSON.stringify({ format: FORMAT, ...manifest }, null, 2)}\n`;
}

/** Undefined when the text is no manifest that this build can read. */
export function parseManifest(text: string): Manifest | undefined {
  try {
    return manifestSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

const BLOB = /^files\/([0-9a-f]{2})\/\1[0-9a-f]{62}(?:\.enc|\.sealed)?$/;

/** True for an entry that a backup with these databases may hold. */
export function isEntry(name: string, databases: readonly string[]): boolean {
  return databases.includes(name) || isKeyFile(name) || BLOB.test(name) || isAuditEntry(name);
}

export function isAuditEntry(name: string): boolean {
  const folder = `${AUDIT_FOLDER}/`;
  return name.startsWith(folder) && isAuditFile(name.slice(folder.length));
}

function isKeyFile(name: string): boolean {
  return (KEY_FILES as readonly string[]).includes(name);
}
