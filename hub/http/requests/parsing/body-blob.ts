/** Files in a request body, and the limits that hold however the body is read. */
import type { FileRef } from '@workbench-hub/shared/domain/job';
import { HubError, type ValidationError } from '../../../core/errors.js';

export const NOT_BASE64 = 'must be Base64 (RFC 4648 section 4) with padding';

/** Takes the place of a file in a body that went into the blob store as it arrived. */
export class StoredBlob {
  readonly ref: Promise<FileRef>;

  constructor(ref: Promise<FileRef>) {
    this.ref = ref;
  }
}

/** Whether the string at a path of a body is the content of a file, as Base64. */
export type BlobPaths = (path: readonly (string | number)[]) => boolean;

export interface FileLimits {
  readonly maxFileBytes: number;
  readonly maxFiles: number;
}

export function fileTooLarge(where: string, maxBytes: number): HubError {
  return new HubError(
    'BODY_TOO_LARGE',
    `${where}: a file may have at most ${maxBytes} bytes (limits.fileSize)`,
  );
}

export function tooManyFiles(where: string, maxFiles: number): ValidationError {
  return {
    where,
    what: `a task may have at most ${maxFiles} files: model, scripts and additional files (limits.filesPerTask)`,
  };
}
