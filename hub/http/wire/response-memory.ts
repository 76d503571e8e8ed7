/**
 * Bound on the memory of responses in all connections, from the time at which a large response is built until its client has
 * read it: otherwise clients that request much and read nothing would fill the memory of the hub. Small responses are not
 * counted: each connection has at most one. A user holds at most twice of what is left for all others (contract 12.37).
 */
import { type IncomingMessage, ServerResponse } from 'node:http';
import { HubError } from '../../core/errors.js';
import { type Holding, isBeyondShare, Shares } from '../../core/shares.js';

/** Memory for a response that may be large. */
export interface ResponseRoom {
  /** Counts the memory for this user, before it is held. */
  countFor(username: string): void;
  /** Reserves memory for a response that is being built, until it is handed to its connection. From the first call on, bytes
   *  that the client has not read are counted. Throws OVERLOADED. */
  hold(bytes: number): void;
}

const UNLIMITED: ResponseRoom = { countFor: () => undefined, hold: () => undefined };

/** Memory for the response written to `outgoing`; unlimited when that is not one of the hub's server. */
export function roomOf(outgoing: object | undefined): ResponseRoom {
  return outgoing !== undefined && 'hold' in outgoing ? (outgoing as ResponseRoom) : UNLIMITED;
}

const RETRY_AFTER_S = 1;

/** Bytes of the responses to one user. */
type HeldBytes = Holding<{ bytes: number }>;

export class ResponseMemory {
  readonly users = new Shares<{ bytes: number }>(() => ({ bytes: 0 }));
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

  /** Throws OVERLOADED at the limit, and beyond the share of the user. A single response may exceed both. */
  take(bytes: number, user: HeldBytes | null = null): void {
    if (this.#heldBytes > 0 && this.#heldBytes + bytes >= this.#maxBytes) {
      throw overloaded('unread responses fill the memory for them');
    }
    if (user && isBeyondShare(user.held.bytes, bytes, this.#maxBytes - this.#heldBytes)) {
      throw overloaded(`unread responses to ${user.name} fill most of the memory for them`);
    }
    this.change(bytes, user);
  }

  /** Adjusts the held memory, regardless of the limit. */
  change(byBytes: number, user: HeldBytes | null = null): void {
    this.#heldBytes += byBytes;
    if (user) user.held.bytes += byBytes;
  }
}

function overloaded(why: string): HubError {
  const message = `the hub is overloaded: ${why} (limits.answersInMemory); try again later`;
  return new HubError('OVERLOADED', message, { retryAfterS: RETRY_AFTER_S });
}

/** The response class of a server whose large responses are counted in `memory`. */
export function countedResponse(memory: ResponseMemory): typeof ServerResponse<IncomingMessage> {
  return class CountedResponse extends ServerResponse<IncomingMessage> implements ResponseRoom {
    /** Null while it is not counted. */
    #heldBytes: number | null = null;
    #username: string | null = null;
    #user: HeldBytes | null = null;

    countFor(username: string): void {
      this.#username = username;
    }

    hold(bytes: number): void {
      if (this.#heldBytes === null) this.#begin();
      memory.take(bytes, this.#user);
      this.#heldBytes = (this.#heldBytes ?? 0) + bytes;
    }

    #begin(): void {
      this.#heldBytes = 0;
      this.#user = this.#username === null ? null : memory.users.of(this.#username);
      this.once('close', () => {
        this.#count(0);
        if (this.#user) memory.users.leave(this.#user);
      });
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
      memory.change(bytes - (this.#heldBytes ?? 0), this.#user);
      this.#heldBytes = bytes;
    }
  };
}
