/** Files of reports. Agents upload their blobs before the report, or send small ones with it. */
import type { AttemptReport } from '@workbench-hub/shared/domain/attempt';
import type { FileRef, NamedFileRef } from '@workbench-hub/shared/domain/job';
import type { BlobStore, Hold } from '../../core/ports/blobs.js';

/** Stores the blobs that came with the report, and holds all that it names. Returns the report with `encrypted` set as the blobs are
 *  stored, or what is wrong with the first blob that is missing or has another size. Rejects as the blob store does. */
export async function withStoredFiles(
  report: AttemptReport,
  blobs: readonly Buffer[],
  files: Pick<BlobStore, 'find' | 'putUnlessEncrypted'>,
  hold: Hold,
): Promise<{ readonly report: AttemptReport } | { readonly fault: string }> {
  if (blobs.length === 0 && !namesFiles(report)) return { report };
  const came = new Map<string, FileRef>();
  for (const ref of await Promise.all(blobs.map((blob) => files.putUnlessEncrypted(blob, hold))))
    came.set(ref.digest, ref);
  let fault: string | undefined;
  const stored = async (digest: string): Promise<{ isEncrypted: boolean; sizeBytes: number } | undefined> => {
    const ref = came.get(digest);
    return ref ? { isEncrypted: ref.encrypted === true, sizeBytes: ref.sizeBytes } : files.find(digest, hold);
  };
  const storedAs = async <File extends FileRef>(file: File): Promise<File> => {
    if (fault !== undefined) return file;
    const found = await stored(file.digest);
    if (!found) fault = `a file that was not sent, ${file.digest}`;
    else if (found.sizeBytes !== file.sizeBytes)
      fault = `a file with ${file.sizeBytes} bytes that has ${found.sizeBytes}, ${file.digest}`;
    return found?.isEncrypted === true ? { ...file, encrypted: true } : file;
  };
  const outputFiles: NamedFileRef[] = [];
  for (const file of report.outputFiles) outputFiles.push(await storedAs(file));
  const storedFiles: NamedFileRef[] = [];
  for (const file of report.storedFiles ?? []) storedFiles.push(await storedAs(file));
  const checkpoint: NamedFileRef[] = [];
  for (const file of report.checkpoint ?? []) checkpoint.push(await storedAs(file));
  const log = report.log && (await storedAs(report.log));
  if (fault !== undefined) return { fault };
  const kept = report.checkpoint === undefined ? {} : { checkpoint };
  return { report: { ...report, outputFiles, storedFiles, log, ...kept } };
}

function namesFiles({ outputFiles, storedFiles = [], checkpoint = [], log }: AttemptReport): boolean {
  return outputFiles.length + storedFiles.length + checkpoint.length > 0 || log !== null;
}
