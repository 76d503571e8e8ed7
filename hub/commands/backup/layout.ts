/** What a backup holds, and under which names: those that it has in dataDir. */
import { z } from 'zod';
import { isAuditFile } from '../../audit/audit-folder.js';

export const MANIFEST = 'manifest.json';
export const TASKS_DATABASE = 'hub.sqlite';
export const ACCOUNTS_DATABASE = 'accounts.sqlite';
export const CONTENTS_FOLDER = 'files';
export const AUDIT_FOLDER = 'audit';

/** Secrets that the hub has made. Each is there only where the configuration does not give it. */
export const KEY_FILES = ['agent-token', 'storage-key', 'token-keys.json'] as const;

/** A restored hub has these from the backup, or not at all. */
export const RESTORED = [TASKS_DATABASE, ACCOUNTS_DATABASE, CONTENTS_FOLDER, ...KEY_FILES];

const FORMAT = 1;

const manifestSchema = z.object({
  format: z.literal(FORMAT),
  hubVersion: z.string(),
  createdAt: z.iso.datetime(),
  contents: z.int().nonnegative(),
  contentBytes: z.int().nonnegative(),
  /** Contents, by name, that the backed up hub had lost before. */
  missing: z.array(z.string()),
});

export type Manifest = z.output<typeof manifestSchema>;

export function manifestText(manifest: Omit<Manifest, 'format'>): string {
  return `${JSON.stringify({ format: FORMAT, ...manifest }, null, 2)}\n`;
}

/** Undefined for what is no manifest of a backup that this build can read. */
export function parseManifest(text: string): Manifest | undefined {
  try {
    return manifestSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

const ENTRY = new RegExp(
  [
    '^(?:hub\\.sqlite|accounts\\.sqlite|agent-token|storage-key|token-keys\\.json',
    '|files/([0-9a-f]{2})/\\1[0-9a-f]{62}(?:\\.enc|\\.sealed)?)$',
  ].join(''),
);

/** Whether a backup may hold an entry of this name. */
export function isEntry(name: string): boolean {
  const [folder, file] = [name.slice(0, AUDIT_FOLDER.length + 1), name.slice(AUDIT_FOLDER.length + 1)];
  return ENTRY.test(name) || (folder === `${AUDIT_FOLDER}/` && isAuditFile(file));
}
