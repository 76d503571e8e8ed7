/** The spool of loans: the rows of open loans and the blobs of this hub. Nothing is written twice. */
import type { FileRef } from '@workbench-hub/shared/domain/job';
import { attemptKey } from '@workbench-hub/shared/domain/task';
import { TransferFailed } from '@workbench-hub/shared/joining/ports/hub';
import { BlobLost, type ReportSpool, type SpooledReport } from '@workbench-hub/shared/joining/ports/spool';
import { messageOf } from '@workbench-hub/shared/runtime/message-of';
import type { BlobStore } from '../../core/ports/blobs.js';
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
      throw new TransferFailed('UNAVAILABLE', messageOf(error), { cause: error });
    });
    if (!found) throw new BlobLost(`blob ${file.digest} is missing`);
    return found.open({ start: fromByte, end: found.sizeBytes });
  };
  async function* read(file: FileRef, fromByte: number): AsyncGenerator<Uint8Array> {
    if (fromByte < file.sizeBytes) yield* (await open(file, fromByte)) as AsyncIterable<Uint8Array>;
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
      for await (const piece of read(file, 0)) pieces.push(piece);
      return Buffer.concat(pieces);
    },
    verify: async (_, file) => {
      // A damaged blob fails the stream.
      for await (const _piece of read(file, 0));
    },
  };
}
