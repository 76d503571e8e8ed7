/** Reads a study from the store about once a second, for all who follow it at this hub. */
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { Loop } from '@workbench-hub/shared/runtime/loop';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { Studies } from '../../core/ports/studies.js';
import type { StudyRecord } from '../../core/studies/study.js';
import type { Disconnect } from '../following/result-waiters.js';
import type { CountedRecord } from './study-service.js';

export interface StudyReaderOptions {
  readonly studies: Pick<Studies, 'record' | 'counts'>;
  readonly runtime: Pick<Runtime, 'clock' | 'timers'>;
  readonly log: Logger;
}

const READ_EVERY_MS = 1000;
/** Pause after a read as a multiple of its duration, for studies whose points take long to count. */
const PAUSES_OF_A_READ = 10;
const RETRY_MS = 5000;

type Waiter = (study: CountedRecord | null) => void;

export class StudyReader {
  /** Those who follow the study. */
  followers = 0;
  readonly #id: string;
  readonly #options: StudyReaderOptions;
  readonly #loop: Loop;
  readonly #waiters = new Set<Waiter>();
  #latest: CountedRecord | null = null;

  constructor(id: string, options: StudyReaderOptions) {
    this.#id = id;
    this.#options = options;
    this.#loop = new Loop({
      timers: options.runtime.timers,
      pass: () => this.#pass(),
      failed: (error) => {
        options.log.error(
          { err: error, studyId: id },
          'a study that is followed could not be read; the hub tries again',
        );
        return RETRY_MS;
      },
    });
  }

  /** Resolves with the study as it is by the next read, with null when there is none, or when the client disconnects; `isFirst` begins
   *  that read at once. */
  next(isFirst: boolean, client: Disconnect): Promise<CountedRecord | null> {
    return new Promise((resolve) => {
      const waiter: Waiter = (study) => {
        this.#waiters.delete(waiter);
        client.removeEventListener('abort', leave);
        resolve(study);
      };
      const leave = () => waiter(null);
      this.#waiters.add(waiter);
      client.addEventListener('abort', leave);
      if (isFirst) this.#loop.wake();
    });
  }

  /** Reads no more; those who wait get null. */
  stop(): void {
    void this.#loop.stop();
    for (const waiter of this.#waiters) waiter(null);
  }

  async #pass(): Promise<number> {
    const { clock } = this.#options.runtime;
    const beganAtMs = clock.monotonicMs();
    // Those who come during the read get what the next one finds.
    const waiters = [...this.#waiters];
    this.#latest = await this.#read();
    for (const waiter of waiters) waiter(this.#latest);
    return Math.max(READ_EVERY_MS, PAUSES_OF_A_READ * (clock.monotonicMs() - beganAtMs));
  }

  async #read(): Promise<CountedRecord | null> {
    const { studies } = this.#options;
    const study = await studies.record(this.#id);
    if (!study) return null;
    const known = this.#latest;
    return known && isAtRest(known, study) ? known : { study, counts: await studies.counts(this.#id) };
  }
}

/** Whether a study has the numbers of points that it had: nothing runs, and a change would be one of the record, too. */
function isAtRest({ study, counts }: CountedRecord, record: StudyRecord): boolean {
  return record.state !== 'RUNNING' && !counts.OPEN && isDeepStrictEqual(study, record);
}
