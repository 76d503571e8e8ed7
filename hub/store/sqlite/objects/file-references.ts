import type { FileRef, NamedFileRef } from '@workbench-hub/shared/domain/job';
import { checkpointOfRows, type FilePlace, type FileRow } from '../../rows/file-row.js';
import type { SqliteDatabase } from '../connection/database.js';

export interface FileReference extends FilePlace {
  readonly taskSeq: number;
}

/** Records that a task refers to a blob. To be called within a transaction. */
export function fileReferences(db: SqliteDatabase): (reference: FileReference, file: FileRef) => void {
  const insert = db.prepare<[number, string, number, string | null, string, number, number]>(
    `INSERT INTO task_file (task_seq, role, position, path, digest, size_bytes, encrypted)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
  );
  return ({ taskSeq, role, position, path }, { digest, sizeBytes, encrypted }) =>
    void insert.run(taskSeq, role, position, path, digest, sizeBytes, encrypted ? 1 : 0);
}

/** Checkpoints of tasks. Each method takes the number of a task. */
export interface Checkpoints {
  of(taskSeq: number): NamedFileRef[];
  /** To be called within a transaction, as the next one. */
  replace(taskSeq: number, files: readonly NamedFileRef[]): void;
  drop(taskSeq: number): void;
}

export function checkpoints(db: SqliteDatabase): Checkpoints {
  const select = db.prepare<[number], FileRow>(
    `SELECT path, digest, size_bytes, encrypted FROM task_file WHERE task_seq = ? AND role = 'CHECKPOINT' ORDER BY position`,
  );
  const remove = db.prepare<[number]>(`DELETE FROM task_file WHERE task_seq = ? AND role = 'CHECKPOINT'`);
  const refer = fileReferences(db);
  const drop = (taskSeq: number) => void remove.run(taskSeq);
  return {
    of: (taskSeq) => checkpointOfRows(select.all(taskSeq)),
    replace: (taskSeq, files) => {
      drop(taskSeq);
      for (const [position, file] of files.entries())
        refer({ taskSeq, role: 'CHECKPOINT', position, path: file.path }, file);
    },
    drop,
  };
}
