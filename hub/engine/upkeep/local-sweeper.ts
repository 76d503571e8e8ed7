/** Sweep of the disk of this hub: removes the bytes of expired uploads, and parts of blobs that nobody has continued for long. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { type Loop, periodicLoop } from '@workbench-hub/shared/runtime/loop';
import type { Timers } from '@workbench-hub/shared/runtime/runtime';
import type { BlobStore } from '../../core/ports/blobs.js';
import type { ResumableUploadService } from '../storage/resumable-upload-service.js';
import type { ClockWatch } from './clock-watch.js';

export interface LocalSweeperOptions {
  readonly uploads: Pick<ResumableUploadService, 'sweep'>;
  readonly files: Pick<BlobStore, 'sweepPartial'>;
  readonly clockWatch: ClockWatch;
  readonly timers: Timers;
  readonly log: Logger;
}

const SWEEP_INTERVAL_MS = 60_000;

const PARTIAL_BLOB_AGE_MS = 3_600_000;

export class LocalSweeper {
  readonly #options: LocalSweeperOptions;
  readonly #loop: Loop;

  constructor(options: LocalSweeperOptions) {
    this.#options = options;
    this.#loop = periodicLoop(SWEEP_INTERVAL_MS, {
      timers: options.timers,
      pass: () => this.sweep(),
      failed: (error) => options.log.error({ err: error }, 'sweeping the disk of this hub failed'),
    });
  }

  start(): void {
    this.#loop.start(SWEEP_INTERVAL_MS);
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** Removes nothing while the clock is not trusted. */
  async sweep(): Promise<void> {
    const { uploads, files, clockWatch, log } = this.#options;
    clockWatch.measureJump();
    if (!clockWatch.isTrusted) return;
    const swept = { uploads: await uploads.sweep(), partial: await files.sweepPartial(PARTIAL_BLOB_AGE_MS) };
    if (swept.uploads + swept.partial > 0) log.info(swept, 'swept the disk of this hub');
  }
}
