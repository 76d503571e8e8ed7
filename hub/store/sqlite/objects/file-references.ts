import type { FileRef } from '@workbench-hub/shared/domain/job';
import type { FilePlace } from '../../rows/file-row.js';
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
