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

/** Checkpoint of the task `task_seq`, as JSON in the form of its rows; null for none. The argument is an SQL expression. */
export const checkpointJson = (taskSeq: string) => `(
  SELECT json_agg(json_build_object('path', path, 'digest', digest, 'size_bytes', size_bytes, 'encrypted', encrypted) ORDER BY position)
  FROM task_file WHERE task_file.task_seq = ${taskSeq} AND role = 'CHECKPOINT')`;

/** Removes the checkpoints of tasks that `ended` names by `seq`. */
export const dropCheckpoints = (ended: string) => `
  DELETE FROM task_file USING ${ended} WHERE task_file.task_seq = ${ended}.seq AND task_file.role = 'CHECKPOINT'`;

/** Common table expressions that put the files of a batch in the place of the checkpoints of tasks, which `requeued` names by `seq` and `at`, with the
 *  number of their files; null: the checkpoint stays. An update does not fire the trigger for deleted rows, so the replaced reference is logged here. */
export const replaceCheckpoints = (requeued: string) => `
  former_checkpoint AS (
    SELECT task_file.*, ${requeued}.checkpoint_files FROM ${requeued} JOIN task_file ON task_file.task_seq = ${requeued}.seq
    WHERE task_file.role = 'CHECKPOINT' AND ${requeued}.checkpoint_files IS NOT NULL),
  superfluous AS (
    DELETE FROM task_file USING former_checkpoint AS former
    WHERE task_file.task_seq = former.task_seq AND task_file.role = 'CHECKPOINT' AND task_file.position = former.position
      AND former.position >= former.checkpoint_files),
  replaced AS (
    INSERT INTO dropped_content (digest, encrypted, size_bytes)
    SELECT digest, encrypted, size_bytes FROM former_checkpoint WHERE position < checkpoint_files ORDER BY task_seq, position),
  checkpoint AS (${addFiles(requeued)}
    ON CONFLICT (task_seq, role, position) DO UPDATE SET path = excluded.path, digest = excluded.digest,
      size_bytes = excluded.size_bytes, encrypted = excluded.encrypted)`;

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
