/** Follows studies: all who follow the same one at this hub share its reader. */
import { isDeepStrictEqual } from 'node:util';
import type { Disconnect } from '../following/result-waiters.js';
import { StudyReader, type StudyReaderOptions } from './study-reader.js';
import type { CountedRecord } from './study-service.js';

export class StudyFollower {
  readonly #options: StudyReaderOptions;
  readonly #readers = new Map<string, StudyReader>();
  #isClosed = false;

  constructor(options: StudyReaderOptions) {
    this.#options = options;
  }

  /** The study as it is, and again after each change, at most about once a second; null when it has been deleted. Ends with that, when
   *  the client has disconnected, or with the hub. */
  async *follow(id: string, client: Disconnect): AsyncGenerator<CountedRecord | null> {
    const reader = this.#join(id);
    let told: CountedRecord | undefined;
    try {
      while (!client.aborted && !this.#isClosed) {
        const study = await reader.next(told === undefined, client);
        if (client.aborted || this.#isClosed) return;
        if (!isDeepStrictEqual(study, told)) yield study;
        if (study === null) return;
        told = study;
      }
    } finally {
      this.#leave(id, reader);
    }
  }

  /** Ends all, when the hub stops. */
  close(): void {
    this.#isClosed = true;
    for (const reader of this.#readers.values()) reader.stop();
  }

  #join(id: string): StudyReader {
    const reader = this.#readers.get(id) ?? new StudyReader(id, this.#options);
    this.#readers.set(id, reader);
    reader.followers++;
    return reader;
  }

  #leave(id: string, reader: StudyReader): void {
    reader.followers--;
    if (reader.followers > 0) return;
    this.#readers.delete(id);
    reader.stop();
  }
}
