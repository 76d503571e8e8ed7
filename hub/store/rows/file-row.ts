import type { FileRef, NamedFileRef } from '@workbench-hub/shared/domain/job';
import type { NamedSize, TaskFiles } from '../../core/task.js';

/** Place of a file among those of its task. */
export interface FilePlace {
  readonly role: 'INPUT' | 'OUTPUT' | 'LOG' | 'CHECKPOINT';
  readonly position: number;
  /** Null where the role has no path. */
  readonly path: string | null;
}

/** A file of a task. */
export interface FileRow {
  readonly role: string;
  readonly path: string;
  readonly digest: string;
  readonly size_bytes: number;
  readonly encrypted: boolean | number;
}

/** The checkpoint of a task, of rows in the order of their positions. */
export function checkpointOfRows(rows: readonly Omit<FileRow, 'role'>[]): NamedFileRef[] {
  return rows.map((row) => ({ path: row.path, ...fileOfRow(row) }));
}

/** Rows in the order of their positions; those of other roles than `OUTPUT` and `LOG` are left out. */
export function filesOfRows(rows: readonly FileRow[], storedFiles: readonly NamedSize[]): TaskFiles {
  const log = rows.find(({ role }) => role === 'LOG');
  return {
    outputFiles: rows
      .filter(({ role }) => role === 'OUTPUT')
      .map((row) => ({ path: row.path, ...fileOfRow(row) })),
    log: log ? fileOfRow(log) : null,
    ...(storedFiles.length === 0 ? {} : { storedFiles }),
  };
}

function fileOfRow({ digest, size_bytes, encrypted }: Omit<FileRow, 'role'>): FileRef {
  return { digest, sizeBytes: size_bytes, ...(encrypted ? { encrypted: true } : {}) };
}
