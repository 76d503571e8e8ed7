/** Pieces in which a body comes. Each chunk of a chunked body costs microseconds, however short it is: a body in chunks of one
 *  byte would keep the event loop busy at a few megabytes a second, and everybody else waiting. */
import { type HubError, invalidInput } from '../../core/errors.js';

/** So many pieces may be of any size. */
const FREE_PIECES = 5000;

/** Bytes that further pieces have on average at least. No client writes less at a time. */
const MIN_AVERAGE_BYTES = 16;

export class BodyChunks {
  #count = 0;
  #bytes = 0;

  /** Counts a piece; gives INVALID_INPUT when the pieces are too many and too short. */
  faultOf(bytes: number): HubError | undefined {
    this.#count++;
    this.#bytes += bytes;
    if (this.#count <= FREE_PIECES || this.#bytes >= this.#count * MIN_AVERAGE_BYTES) return undefined;
    const what = `comes in more than ${FREE_PIECES} chunks of less than ${MIN_AVERAGE_BYTES} bytes: send larger ones`;
    return invalidInput([{ where: 'body', what }]);
  }
}
