/** Inputs of loans: fetched from the upstream once, by digest, and kept as any other blobs. Loans share one download of a blob, and each
 *  has all tries from its own request on. */
import { Readable } from 'node:stream';
import { type FileRef, filesOfJob, type Job } from '@workbench-hub/shared/domain/job';
import { DownloadTries } from '@workbench-hub/shared/joining/download-tries';
import { type HubConnection, TransferFailed } from '@workbench-hub/shared/joining/ports/hub';
import { SharedDownloads } from '@workbench-hub/shared/joining/shared-downloads';
import { withAnyOf } from '@workbench-hub/shared/runtime/abortable';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { messageOf } from '@workbench-hub/shared/runtime/message-of';
import { pause } from '@workbench-hub/shared/runtime/pause';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import { HubError } from '../../core/errors.js';
import { type BlobStore, DigestMismatch, type Hold, TransferInProgress } from '../../core/ports/blobs.js';

export interface LoanInputsOptions {
  readonly files: Pick<BlobStore, 'hold' | 'find' | 'receive' | 'receivedBytes' | 'storeEncrypted'>;
  /** Connection to the upstream, or the next one. */
  readonly connected: (signal: AbortSignal) => Promise<HubConnection>;
  readonly runtime: Runtime;
  readonly log: Logger;
}

/** The inputs cannot be had: the loan is given back. */
export class InputsMissing extends Error {
  override readonly name = 'InputsMissing';
}

/** The tries of a download are used up. */
class TriesUsedUp extends InputsMissing {}

export class LoanInputs {
  readonly #options: LoanInputsOptions;
  /** By digest and form; each resolves with whether the blob is kept encrypted. */
  readonly #downloads = new SharedDownloads<boolean>((error) => error instanceof TriesUsedUp);

  constructor(options: LoanInputsOptions) {
    this.#options = options;
  }

  /** Fetches what is missing; all of it is held. Resolves with the job whose files are named in the form in which they are kept here. Waits
   *  for an upstream that is away. Rejects with {@link InputsMissing}, with HubError `STORAGE_FULL`, and with the reason of the signal. */
  async fetch(job: Job, hold: Hold, signal: AbortSignal): Promise<Job> {
    const byDigest = new Map(filesOfJob(job).map((file) => [file.digest, file]));
    const encrypted = new Set<string>();
    for (const file of byDigest.values()) {
      // It holds the blob in both forms, also one that is fetched afterwards.
      const found = await this.#options.files.find(file.digest, hold);
      const isEncrypted = found ? found.isEncrypted : await this.#share(file, signal);
      if (isEncrypted) encrypted.add(file.digest);
    }
    return withForms(job, encrypted);
  }

  async #share(file: FileRef, signal: AbortSignal): Promise<boolean> {
    const key = `${file.digest} ${file.encrypted === true}`;
    const download = async (either: AbortSignal) => {
      const hold = this.#options.files.hold();
      try {
        return await this.#download(file, hold, either);
      } finally {
        hold.release();
      }
    };
    return this.#downloads.share(key, download, signal);
  }

  /** Resolves with whether the blob is kept encrypted. */
  async #download(file: FileRef, hold: Hold, signal: AbortSignal): Promise<boolean> {
    const { files, connected, runtime, log } = this.#options;
    const tries = new DownloadTries(runtime.random);
    for (;;) {
      const connection = await connected(signal);
      try {
        await withAnyOf([signal, connection.ended], (either) => this.#once(file, connection, hold, either));
        return file.encrypted === true;
      } catch (error) {
        signal.throwIfAborted();
        refuseLasting(error, file);
        // Another sender, such as an agent, brings it meanwhile.
        const isFailure = !(error instanceof TransferInProgress);
        if (isFailure) tries.failed(error, await files.receivedBytes(file.digest), connection.ended.aborted);
        const reason = messageOf(error);
        if (tries.left === 0)
          throw new TriesUsedUp(`an input file could not be fetched: ${reason}`, { cause: error });
        if (isFailure)
          log.warn({ digest: file.digest, reason }, 'fetching an input of a loan failed; trying again');
        await pause(runtime.timers, tries.nextPauseMs(), signal);
        const found = await files.find(file.digest, hold);
        if (found) return found.isEncrypted;
      }
    }
  }

  async #once(
    file: FileRef,
    { files: transfer }: HubConnection,
    hold: Hold,
    signal: AbortSignal,
  ): Promise<void> {
    const { files } = this.#options;
    const { digest, sizeBytes } = file;
    if (file.encrypted === true) {
      const { content } = await transfer.download(digest, 0, signal);
      const stored = await files.storeEncrypted(buffers(content), sizeBytes, hold);
      if (stored.digest !== digest) throw new DigestMismatch(`expected ${digest}, received ${stored.digest}`);
      return;
    }
    const { fromByte, content } = await transfer.download(digest, await files.receivedBytes(digest), signal);
    const stream = Readable.from(content, { objectMode: false });
    // The reader handles it, unless it has given up before.
    stream.on('error', () => undefined);
    try {
      await files.receive({ digest, sizeBytes }, stream, fromByte, hold);
    } finally {
      stream.destroy();
    }
  }
}

/** Throws the fault that another try would meet again. */
function refuseLasting(error: unknown, { digest }: FileRef): void {
  if (error instanceof HubError) throw error;
  if (!(error instanceof TransferFailed) || error.failure !== 'MISSING') return;
  throw new InputsMissing(`the upstream has no file ${digest} that the job needs`, { cause: error });
}

async function* buffers(content: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  for await (const piece of content) yield Buffer.from(piece);
}

/** The job with the form of each file as it is kept here. */
function withForms(job: Job, encrypted: ReadonlySet<string>): Job {
  if (job.type === 'SIMULATE_WORK') return job;
  const inForm = <File extends FileRef>(file: File): File => {
    const { encrypted: _, ...rest } = file;
    return (encrypted.has(file.digest) ? { ...rest, encrypted: true } : rest) as File;
  };
  const { model, scripts, additionalFiles } = job;
  return {
    ...job,
    model: model?.kind === 'BLOB' ? inForm(model) : model,
    scripts: scripts.map(inForm),
    additionalFiles: additionalFiles.map(inForm),
  };
}
