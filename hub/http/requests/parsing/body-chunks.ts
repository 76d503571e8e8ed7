/** Bound on the chunks of a body. Each chunk of a chunked body costs microseconds, however short it is: a body in chunks of one
 *  byte would occupy the event loop at a few megabytes a second, and delay all other requests. */
import { type HubError, invalidInput } from '../../../core/errors.js';

/** Chunks that may be of any size. */
const FREE_CHUNKS = 5000;

/** Minimum average size of further chunks. No client writes less at a time. */
const MIN_AVERAGE_BYTES = 16;

export class BodyChunks {
  #count = 0;
  #bytes = 0;

  /** Counts a chunk; returns INVALID_INPUT when there are too many short chunks. */
  errorOf(bytes: number): HubError | undefined {
    this.#count++;
    this.#bytes += bytes;
    if (this.#count <= FREE_CHUNKS || this.#bytes >= this.#count * MIN_AVERAGE_BYTES) return undefined;
    const what = `comes in more than ${FREE_CHUNKS} chunks of less than ${MIN_AVERAGE_BYTES} bytes: send larger ones`;
    return invalidInput([{ where: 'body', what }]);
  }
}
