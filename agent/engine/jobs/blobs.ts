/** Downloads blobs that jobs need into the cache. Concurrent jobs share one download of a blob, and each has all tries from its own request
 *  on. */

import type { FileRef } from '@workbench-hub/shared/domain/job';
import { DownloadTries } from '@workbench-hub/shared/joining/download-tries';
import {
  type FileTransfer,
  type HubConnection,
  TransferFailed,
} from '@workbench-hub/shared/joining/ports/hub';
import { SharedDownloads } from '@workbench-hub/shared/joining/shared-downloads';
import { withAnyOf } from '@workbench-hub/shared/runtime/abortable';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { messageOf } from '@workbench-hub/shared/runtime/message-of';
import { pause } from '@workbench-hub/shared/runtime/pause';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import { hostFaultOf, inOwnFolders } from '../../core/host-fault.js';
import { type BlobCache, BlobMismatch } from '../../core/ports/blob-cache.js';
import { JobFailed } from '../../core/ports/programs.js';

export interface BlobsOptions {
  readonly cache: BlobCache;
  readonly runtime: Runtime;
  readonly log: Logger;
  /** Connection to the joined hub, or to the next one. */
  readonly connected: (signal: AbortSignal) => Promise<HubConnection>;
}

const NOT_STORED = 'an input file could not be stored';

/** The tries of a download are used up. */
class TriesUsedUp extends JobFailed {}

export class Blobs {
  readonly #options: BlobsOptions;
  readonly #downloads = new SharedDownloads<void>((error) => error instanceof TriesUsedUp);

  constructor(options: BlobsOptions) {
    this.#options = options;
  }

  /** Resolves when the blob is in the cache, where it stays until `unpin`; waits for an unreachable hub. Rejects with {@link
   *  JobFailed} when it is unavailable, with {@link HostFault} when this host cannot store it, or with the signal's reason. */
  async pin(file: FileRef, signal: AbortSignal): Promise<void> {
    while (!(await inOwnFolders(NOT_STORED, () => this.#options.cache.pin(file)))) {
      signal.throwIfAborted();
      await this.#downloads.share(file.digest, (either) => this.#download(file, either), signal);
    }
  }

  unpin(file: FileRef): void {
    this.#options.cache.unpin(file.digest);
  }

  async #fetch(file: FileRef, files: FileTransfer, signal: AbortSignal): Promise<void> {
    const { cache, runtime, log } = this.#options;
    const { digest, sizeBytes } = file;
    await cache.expect(file);
    const keptBytes = await cache.keptBytes(digest);
    const beganMs = runtime.clock.monotonicMs();
    const { fromByte, content } = await files.download(digest, keptBytes, signal);
    await cache.put(file, content, fromByte);
    const ms = Math.ceil(runtime.clock.monotonicMs() - beganMs);
    log.debug({ digest, sizeBytes, fromByte, ms }, 'downloaded a blob');
  }

  async #download(file: FileRef, signal: AbortSignal): Promise<void> {
    const { cache, connected, runtime, log } = this.#options;
    const tries = new DownloadTries(runtime.random);
    for (;;) {
      const hub = await connected(signal);
      try {
        await withAnyOf([signal, hub.ended], (either) => this.#fetch(file, hub.files, either));
        return;
      } catch (error) {
        signal.throwIfAborted();
        const lasting = lastingFaultOf(error, file, hub.ended);
        if (lasting) throw lasting;
        tries.failed(error, await cache.keptBytes(file.digest), hub.ended.aborted);
        if (tries.left === 0) throw notFetched(error);
        const reason = messageOf(error);
        log.warn({ digest: file.digest, reason }, 'downloading an input file failed; trying again');
        await pause(runtime.timers, tries.nextPauseMs(), signal);
      }
    }
  }
}

/** The fault that another try would meet again; undefined for one of the link or of the hub, which may pass. `linkEnded` is aborted
 *  with the link. */
function lastingFaultOf(error: unknown, { digest }: FileRef, linkEnded: AbortSignal): Error | undefined {
  if (!(error instanceof TransferFailed || error instanceof BlobMismatch || linkEnded.aborted)) {
    return (
      hostFaultOf(NOT_STORED, error) ??
      new JobFailed(`${NOT_STORED} on the agent's host: ${messageOf(error)}`, { cause: error })
    );
  }
  if (error instanceof TransferFailed && error.failure === 'MISSING') {
    return new JobFailed(`the hub has no blob ${digest} that the job needs`, { cause: error });
  }
  return undefined;
}

/** The failure of a job for whose file there are no tries left. */
function notFetched(error: unknown): Error {
  const what = 'an input file could not be fetched from the hub';
  // A process with too many open files reaches no hub either.
  return hostFaultOf(what, error) ?? new TriesUsedUp(`${what}: ${messageOf(error)}`, { cause: error });
}
