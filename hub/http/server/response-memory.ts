/**
 * Bound on the memory of responses in all connections, from the time at which a large response is built until its client has
 * read it: otherwise clients that request much and read nothing would fill the memory of the hub. Small responses are not
 * counted: each connection has at most one.
 */
import { type IncomingMessage, ServerResponse } from 'node:http';
import { HubError } from '../../core/errors.js';

/** Memory for a response that may be large. */
export interface ResponseRoom {
  /** Reserves memory for a response that is being built, until it is handed to its connection. From the first call on, bytes
   *  that the client has not read are counted. Throws OVERLOADED. */
  hold(bytes: number): void;
}

const UNLIMITED: ResponseRoom = { hold: () => undefined };

/** Memory for the response written to `outgoing`; unlimited when that is not one of the hub's server. */
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

  /** Whether more than half of it is in use. */
  get isScarce(): boolean {
    return this.#heldBytes > this.#maxBytes / 2;
  }

  /** Throws OVERLOADED at the limit. A single response may exceed it. */
  take(bytes: number): void {
    if (this.#heldBytes > 0 && this.#heldBytes + bytes >= this.#maxBytes) {
      throw new HubError(
        'OVERLOADED',
        'the hub is overloaded: unread responses fill the memory for them (limits.answersInMemory); try again later',
        { retryAfterS: RETRY_AFTER_S },
      );
    }
    this.#heldBytes += bytes;
  }

  /** Adjusts the held memory, regardless of the limit. */
  change(byBytes: number): void {
    this.#heldBytes += byBytes;
  }
}

/** The response class of a server whose large responses are counted in `memory`. */
export function countedResponse(memory: ResponseMemory): typeof ServerResponse<IncomingMessage> {
  return class CountedResponse extends ServerResponse<IncomingMessage> implements ResponseRoom {
    /** Null while it is not counted. */
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
