/**
 * Memory that answers take in all connections: from the moment in which a large answer is put together until its client has
 * taken it. Without a bound, clients that ask for much and read nothing would fill the memory of the hub. Small answers are
 * not counted: each connection has at most one.
 */
import { HubError } from '../../core/errors.js';
import { SecureResponse } from '../middleware/security-headers.js';

/** Room for an answer that may be large. */
export interface ResponseRoom {
  /** Takes this many bytes more for an answer that is being put together, until it is handed over to its connection. From the first
   *  call on, what the client has not taken of the answer is counted. Throws OVERLOADED when there is no room. */
  hold(bytes: number): void;
}

const UNLIMITED: ResponseRoom = { hold: () => undefined };

/** Room for the answer that is written to `outgoing`; unlimited when that is no answer of the hub's server. */
export function roomOf(outgoing: object | undefined): ResponseRoom {
  return outgoing !== undefined && 'hold' in outgoing ? (outgoing as ResponseRoom) : UNLIMITED;
}

const RETRY_AFTER_S = 1;

export class ResponseMemory {
  readonly #maxBytes: number;
  #heldBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Whether more than half of it is taken. */
  get isScarce(): boolean {
    return this.#heldBytes > this.#maxBytes / 2;
  }

  /** Throws OVERLOADED when there is no room for as much. An answer larger than the limit is given when it is the only one. */
  take(bytes: number): void {
    if (this.#heldBytes > 0 && this.#heldBytes + bytes >= this.#maxBytes) {
      throw new HubError(
        'OVERLOADED',
        'the hub has more to do than it can: answers that their clients have not taken yet fill the memory for them ' +
          '(limits.answersInMemory); try again later',
        { retryAfterS: RETRY_AFTER_S },
      );
    }
    this.#heldBytes += bytes;
  }

  /** What is held has become more or less, whatever the limit says. */
  change(byBytes: number): void {
    this.#heldBytes += byBytes;
  }
}

/** The class of a server's answers, those that may be large counted in `memory`. */
export function countedResponse(memory: ResponseMemory): typeof SecureResponse {
  return class CountedResponse extends SecureResponse implements ResponseRoom {
    /** Null as long as it is not counted. */
    #heldBytes: number | null = null;

    hold(bytes: number): void {
      memory.take(bytes);
      if (this.#heldBytes === null) this.once('close', () => this.#count(0));
      this.#heldBytes = (this.#heldBytes ?? 0) + bytes;
    }

    override write(...written: unknown[]): boolean {
      const isTaken = (super.write as (...all: unknown[]) => boolean)(...written);
      if (this.#heldBytes !== null) this.#count(this.writableLength);
      return isTaken;
    }

    override end(...written: unknown[]): this {
      (super.end as (...all: unknown[]) => this)(...written);
      if (this.#heldBytes !== null) this.#count(this.writableLength);
      return this;
    }

    #count(bytes: number): void {
      memory.change(bytes - (this.#heldBytes ?? 0));
      this.#heldBytes = bytes;
    }
  };
}
