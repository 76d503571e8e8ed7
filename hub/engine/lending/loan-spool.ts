/** The spool of loans: the rows of open loans and the blobs of this hub. Nothing is written twice. */
import { createHash } from 'node:crypto';
import type { FileRef } from '@workbench-hub/shared/domain/job';
import { attemptKey } from '@workbench-hub/shared/domain/task';
import { TransferFailed } from '@workbench-hub/shared/joining/ports/hub';
import { BlobLost, type ReportSpool, type SpooledReport } from '@workbench-hub/shared/joining/ports/spool';
import { messageOf } from '@workbench-hub/shared/runtime/message-of';
import { type BlobStore, BlobUnreadable } from '../../core/ports/blobs.js';
import type { LoanClosing } from './loan-closing.js';
import type { OpenLoan } from './open-loan.js';

export interface LoanSpoolOptions {
  readonly files: Pick<BlobStore, 'find'>;
  readonly closing: Pick<LoanClosing, 'add'>;
  /** The loan with this task. */
  readonly loanOf: (taskId: string) => OpenLoan | undefined;
  /** Called when the loan is acknowledged. */
  readonly settled: (loan: OpenLoan) => void;
}

export function loanSpool({ files, closing, loanOf, settled }: LoanSpoolOptions): ReportSpool {
  const open = async (file: FileRef, fromByte: number) => {
    const found = await files.find(file.digest).catch((error: unknown) => {
      // It is there when the store is.
      throw lost(error) ?? new TransferFailed('UNAVAILABLE', messageOf(error), { cause: error });
    });
    if (!found) throw new BlobLost(`blob ${file.digest} is missing`);
    if (found.sizeBytes !== file.sizeBytes) throw wrongSize(file, found.sizeBytes);
    return found.open({ start: fromByte, end: found.sizeBytes });
  };
  async function* read(file: FileRef, fromByte: number): AsyncGenerator<Uint8Array> {
    let position = fromByte;
    if (fromByte < file.sizeBytes) {
      const content = await open(file, fromByte);
      try {
        for await (const piece of content as AsyncIterable<Uint8Array>) {
          position += piece.length;
          yield piece;
        }
      } catch (error) {
        throw lost(error) ?? retryable(error) ?? error;
      }
    }
    if (position !== file.sizeBytes) throw wrongSize(file, position);
  }
  /** Reads all of a blob; fails after the end when it has another digest. */
  async function* readVerified(file: FileRef): AsyncGenerator<Uint8Array> {
    const hash = createHash('sha256');
    for await (const piece of read(file, 0)) {
      hash.update(piece);
      yield piece;
    }
    const digest = hash.digest('hex');
    if (digest !== file.digest) throw new BlobLost(`blob ${file.digest} has the digest ${digest} now`);
  }
  const acknowledge = async ({ report, folder }: SpooledReport) => {
    const loan = loanOf(folder ?? '');
    if (!loan || attemptKey(loan.ref) !== attemptKey(report)) return;
    settled(loan);
    if (loan.hasTask) closing.add(loan);
  };
  return {
    leftOver: [],
    // The row of the task is its report.
    put: async () => undefined,
    acknowledge,
    read: (_, file, fromByte) => read(file, fromByte),
    readSmall: async (_, file) => {
      const pieces: Uint8Array[] = [];
      for await (const piece of readVerified(file)) pieces.push(piece);
      return Buffer.concat(pieces);
    },
    verify: async (_, file) => {
      for await (const _piece of readVerified(file));
    },
  };
}

function wrongSize({ digest, sizeBytes }: FileRef, foundBytes: number): BlobLost {
  return new BlobLost(`blob ${digest} has ${foundBytes} instead of ${sizeBytes} bytes`);
}

/** Error codes of a file that another try cannot read either: the name is no file's, or the disk has lost the bytes. */
const LOST_CODES: readonly unknown[] = ['ENOENT', 'ENOTDIR', 'EISDIR', 'EIO'];

/** The loss of a blob that another read cannot bring either; undefined for another error. */
function lost(error: unknown): BlobLost | undefined {
  const isLost = error instanceof BlobUnreadable || (isOfSystem(error) && LOST_CODES.includes(error.code));
  return isLost ? new BlobLost(messageOf(error), { cause: error }) : undefined;
}

function isOfSystem(error: unknown): error is Error & { readonly code: unknown } {
  return error instanceof Error && 'code' in error;
}

/** The error of a place of blobs that may be read again later; undefined for any other. */
function retryable(error: unknown): TransferFailed | undefined {
  if (!isOfSystem(error)) return undefined;
  return new TransferFailed('UNAVAILABLE', error.message, { cause: error });
}
