import type { FileRef } from '@workbench-hub/shared/domain/job';
import type { FilePlace } from '../../rows/file-row.js';

/** Parameters of the references of a batch of tasks to blobs. */
export const FILE_PARAMETERS = {
  fileAts: 'integer[]',
  fileRoles: 'text[]',
  filePositions: 'integer[]',
  filePaths: 'text[]',
  fileDigests: 'text[]',
  fileSizes: 'bigint[]',
  fileEncrypted: 'boolean[]',
} as const;

/** Adds the references of the tasks that `tasks` names by `seq` and, as number within the batch, `at`. */
export const addFiles = (tasks: string) => `
  INSERT INTO task_file (task_seq, role, position, path, digest, size_bytes, encrypted)
  SELECT ${tasks}.seq, file.role, file.position, file.path, file.digest, file.size_bytes, file.encrypted
  FROM ${tasks} JOIN unnest(:fileAts, :fileRoles, :filePositions, :filePaths, :fileDigests, :fileSizes, :fileEncrypted)
    AS file (at, role, position, path, digest, size_bytes, encrypted) ON file.at = ${tasks}.at`;

export interface FileReference extends FilePlace {
  readonly file: FileRef;
}

/** @param files References of each task of the batch, which are numbered from 1. */
export function fileValues(
  files: readonly (readonly FileReference[])[],
): Readonly<Record<keyof typeof FILE_PARAMETERS, unknown>> {
  const all = files.flatMap((ofTask, index) => ofTask.map((each) => ({ at: index + 1, ...each })));
  return {
    fileAts: all.map(({ at }) => at),
    fileRoles: all.map(({ role }) => role),
    filePositions: all.map(({ position }) => position),
    filePaths: all.map(({ path }) => path),
    fileDigests: all.map(({ file }) => file.digest),
    fileSizes: all.map(({ file }) => file.sizeBytes),
    fileEncrypted: all.map(({ file }) => file.encrypted === true),
  };
}
