/** Files of reports, which agents upload before the report. */
import type { AttemptReport } from '@workbench-hub/shared/domain/attempt';
import type { FileRef, NamedFileRef } from '@workbench-hub/shared/domain/job';
import type { BlobStore, Hold } from '../core/ports/blobs.js';

/** Holds the report's blobs. Returns the report with `encrypted` set as the blobs are stored, or the digest of the first missing one. */
export async function withStoredFiles(
  report: AttemptReport,
  files: Pick<BlobStore, 'find'>,
  hold: Hold,
): Promise<{ readonly report: AttemptReport } | { readonly missing: string }> {
  let missing: string | undefined;
  const storedAs = async <File extends FileRef>(file: File): Promise<File> => {
    const found = missing === undefined ? await files.find(file.digest, hold) : undefined;
    if (!found) missing ??= file.digest;
    return found?.isEncrypted ? { ...file, encrypted: true } : file;
  };
  const outputFiles: NamedFileRef[] = [];
  for (const file of report.outputFiles) outputFiles.push(await storedAs(file));
  const storedFiles: NamedFileRef[] = [];
  for (const file of report.storedFiles ?? []) storedFiles.push(await storedAs(file));
  const log = report.log && (await storedAs(report.log));
  return missing === undefined ? { report: { ...report, outputFiles, storedFiles, log } } : { missing };
}
