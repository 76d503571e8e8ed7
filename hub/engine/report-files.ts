/** Files of reports. Agents upload their blobs before the report, or send small ones with it. */
import type { AttemptReport } from '@workbench-hub/shared/domain/attempt';
import type { FileRef, NamedFileRef } from '@workbench-hub/shared/domain/job';
import type { BlobStore, Hold } from '../core/ports/blobs.js';

/** Stores the blobs that came with the report, and holds all that it names. Returns the report with `encrypted` set as the blobs are
 *  stored, or the digest of the first missing one. Rejects as the blob store does. */
export async function withStoredFiles(
  report: AttemptReport,
  blobs: readonly Buffer[],
  files: Pick<BlobStore, 'find' | 'putUnlessEncrypted'>,
  hold: Hold,
): Promise<{ readonly report: AttemptReport } | { readonly missing: string }> {
  const came = new Map<string, FileRef>();
  for (const ref of await Promise.all(blobs.map((blob) => files.putUnlessEncrypted(blob, hold))))
    came.set(ref.digest, ref);
  let missing: string | undefined;
  const isEncrypted = async (digest: string): Promise<boolean | undefined> => {
    const ref = came.get(digest);
    return ref ? ref.encrypted === true : (await files.find(digest, hold))?.isEncrypted;
  };
  const storedAs = async <File extends FileRef>(file: File): Promise<File> => {
    const encrypted = missing === undefined ? await isEncrypted(file.digest) : undefined;
    if (encrypted === undefined) missing ??= file.digest;
    return encrypted === true ? { ...file, encrypted } : file;
  };
  const outputFiles: NamedFileRef[] = [];
  for (const file of report.outputFiles) outputFiles.push(await storedAs(file));
  const storedFiles: NamedFileRef[] = [];
  for (const file of report.storedFiles ?? []) storedFiles.push(await storedAs(file));
  const log = report.log && (await storedAs(report.log));
  return missing === undefined ? { report: { ...report, outputFiles, storedFiles, log } } : { missing };
}
