/** Files of a loan for the output storage of its home: here they are among the outputs, in a folder of their own. */
import type { NamedFileRef } from '@workbench-hub/shared/domain/job';
import { RESERVED_PREFIX } from '@workbench-hub/shared/domain/relative-path';

/** No output of a job has such a name. */
const STORED_FOLDER = `${RESERVED_PREFIX}output-storage/`;

/** All files of a loan as outputs. */
export function asLoanFiles(
  outputFiles: readonly NamedFileRef[],
  storedFiles: readonly NamedFileRef[],
): NamedFileRef[] {
  return [...outputFiles, ...storedFiles.map((file) => ({ ...file, path: `${STORED_FOLDER}${file.path}` }))];
}

/** The two kinds of files again. */
export function fromLoanFiles(files: readonly NamedFileRef[]): {
  readonly outputFiles: NamedFileRef[];
  readonly storedFiles: NamedFileRef[];
} {
  const isStored = ({ path }: NamedFileRef) => path.startsWith(STORED_FOLDER);
  return {
    outputFiles: files.filter((file) => !isStored(file)),
    storedFiles: files
      .filter(isStored)
      .map((file) => ({ ...file, path: file.path.slice(STORED_FOLDER.length) })),
  };
}
