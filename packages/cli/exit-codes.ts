import {
  AuthenticationError,
  HubError,
  NoHubError,
  OverloadedError,
  PermissionError,
  RefusedError,
  type TaskDetails,
  UnreachableError,
} from '@workbench-hub/client';
import { FileExistsError, UnsafePathError } from '@workbench-hub/client/node';
import { READS_SYSTEM_STORE } from './system-authorities.js';

/** Exit codes of `wb`. */
export const EXIT = {
  FINISHED: 0,
  FAILED: 1,
  USAGE: 2,
  CANCELED: 3,
  UNREACHABLE: 4,
  NOT_ALLOWED: 5,
  /** Convention of shells for Ctrl-C. */
  INTERRUPTED: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Wrong arguments or files; the message is shown as it is. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The company's sign-on gives no token; the message is shown as it is. */
export class SignOnError extends Error {
  override readonly name = 'SignOnError';
}

/** Ctrl-C at a question. */
export class InterruptedError extends Error {
  override readonly name = 'InterruptedError';
}

/** Exit code of an ended task: a task whose scripts failed has FINISHED with the execution status ERROR. */
export function exitCodeOf({
  status,
  batchExecutionStatus,
}: Pick<TaskDetails, 'status' | 'batchExecutionStatus'>): ExitCode {
  if (status === 'CANCELED') return EXIT.CANCELED;
  return status === 'FINISHED' && batchExecutionStatus !== 'ERROR' ? EXIT.FINISHED : EXIT.FAILED;
}

export function exitCodeOfError(error: unknown): ExitCode {
  if (error instanceof InterruptedError) return EXIT.INTERRUPTED;
  if (error instanceof UsageError || error instanceof RefusedError) return EXIT.USAGE;
  if (error instanceof FileExistsError || error instanceof UnsafePathError) return EXIT.USAGE;
  if (
    error instanceof AuthenticationError ||
    error instanceof PermissionError ||
    error instanceof SignOnError
  )
    return EXIT.NOT_ALLOWED;
  if (error instanceof UnreachableError || error instanceof NoHubError || error instanceof OverloadedError)
    return EXIT.UNREACHABLE;
  return EXIT.FAILED;
}

/** Another way to trust a private authority, where there is one. */
const ELSE_SYSTEM = READS_SYSTEM_STORE ? ', or add it to those that this system trusts' : '';

/** Message for people, with a remedy where there is one. */
export function messageOf(error: unknown): string {
  if (error instanceof AuthenticationError) return `${error.message}. Log in with: wb login`;
  if (error instanceof UnreachableError && error.isUntrusted)
    return `${error.message}; name the certificate of a private authority with --ca-file, or WB_CA_FILE${ELSE_SYSTEM}`;
  if (error instanceof HubError) {
    // The hub says it for those who call its interface.
    const message = error.message.replace(/; add \?force=true to end it/, '; --force ends it');
    return error.requestId === undefined ? message : `${message} (request ${error.requestId})`;
  }
  return error instanceof Error ? error.message : String(error);
}
