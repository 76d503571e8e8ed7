/** Rules for the output files of a job. */
import { RESERVED_PREFIX, relativePathFault } from '@workbench-hub/shared/domain/relative-path';
import { exactSizeInWords } from '@workbench-hub/shared/domain/size-in-words';

/** Attributes that distinguish states of a file without reading it. */
export interface FileState {
  readonly sizeBytes: bigint;
  readonly modifiedNs: bigint;
  readonly changedNs: bigint;
  readonly inode: bigint;
}

/** True when a file is new or has changed since the job began. */
export function isOutput(before: FileState | undefined, now: FileState): boolean {
  return (
    before === undefined ||
    before.sizeBytes !== now.sizeBytes ||
    before.modifiedNs !== now.modifiedNs ||
    before.changedNs !== now.changedNs ||
    before.inode !== now.inode
  );
}

/** True for a name at the top of the working directory that belongs to the instance program. */
export function isReserved(path: string): boolean {
  return path.startsWith(RESERVED_PREFIX);
}

/** Path that these bytes encode, or the reason why it cannot be an output. */
export function outputPath(bytes: Uint8Array): { readonly path: string } | { readonly fault: string } {
  let path: string;
  try {
    path = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return { fault: 'its name is not valid UTF-8' };
  }
  const fault = relativePathFault(path);
  return fault === undefined ? { path } : { fault: `its name ${fault}` };
}

/** The same for the folder of the output storage, where names have no folders. */
export function storedPath(bytes: Uint8Array): ReturnType<typeof outputPath> {
  const named = outputPath(bytes);
  if ('fault' in named || !named.path.includes('/')) return named;
  return { fault: 'it lies in a folder; only files at the top of WORKBENCH_OUTPUT_STORAGE are stored' };
}

/** Limits on the outputs of one task, including stored files. */
export interface OutputLimits {
  /** Total of all files. */
  readonly totalBytes: number;
  readonly fileBytes: number;
  readonly files: number;
}

/** Reason why these outputs exceed a limit, with its setting; undefined when they do not. */
export function outputsFault(
  files: readonly { readonly path: string; readonly sizeBytes: number }[],
  limits: OutputLimits,
): string | undefined {
  let totalBytes = 0;
  let largest = files[0];
  for (const file of files) {
    totalBytes += file.sizeBytes;
    if (file.sizeBytes > (largest?.sizeBytes ?? 0)) largest = file;
  }
  const left = `the job left ${files.length} output file${files.length === 1 ? '' : 's'}`;
  if (files.length > limits.files) return tooManyFiles(limits);
  if (largest && largest.sizeBytes > limits.fileBytes) {
    const which = `${JSON.stringify(largest.path)} of ${exactSizeInWords(largest.sizeBytes)}`;
    return `the job left the output file ${which}, and this agent takes at most ${exactSizeInWords(limits.fileBytes)} in one file (setting "limits.outputFile")`;
  }
  if (totalBytes > limits.totalBytes) {
    return `${left} with ${exactSizeInWords(totalBytes)} in all, and this agent takes at most ${exactSizeInWords(limits.totalBytes)} of a task (setting "limits.taskOutputs")`;
  }
  return undefined;
}

/** For a job with more output files than the limit, which are not counted further. */
export function tooManyFiles({ files }: Pick<OutputLimits, 'files'>): string {
  return `the job left more than ${files} output files, and this agent takes no more of a task (setting "limits.outputFiles")`;
}

/** Returns a function that takes file sizes one by one and names the limit that a file exceeds; undefined when it fits. */
export function outputExcess(limits: OutputLimits): (sizeBytes: number) => string | undefined {
  let files = 0;
  let totalBytes = 0;
  return (sizeBytes) => {
    if (files >= limits.files) return `beyond ${limits.files} files (setting "limits.outputFiles")`;
    if (sizeBytes > limits.fileBytes)
      return `larger than ${exactSizeInWords(limits.fileBytes)} (setting "limits.outputFile")`;
    if (totalBytes + sizeBytes > limits.totalBytes)
      return `beyond ${exactSizeInWords(limits.totalBytes)} in all (setting "limits.taskOutputs")`;
    files++;
    totalBytes += sizeBytes;
    return undefined;
  };
}
