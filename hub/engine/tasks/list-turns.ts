/** Order in which lists are read: clients take turns, so that one with many lists delays only itself. */
import { abortable } from '@workbench-hub/shared/runtime/abortable';
import { HubError } from '../../core/errors.js';

/** Maximum number of concurrent list queries. */
const MAX_READING = 2;

/** Maximum pending lists of one client, and of all. */
const MAX_LISTS_OF_CLIENT = 64;
const MAX_LISTS = 512;

/** Time after which most pending lists are answered. */
const RETRY_AFTER_S = 1;

/** Client of a list. Clients have equal shares of the time for lists. */
export interface ListClient {
  readonly name: string;
  /** Aborted when the client no longer waits. */
  readonly signal: AbortSignal;
}

/** Client name of the hub itself, which is never refused. */
const HUB = '';

export class ListTurns {
  /** Lists that wait, by client; the client to be served next comes first. */
  readonly #waiting = new Map<string, (() => void)[]>();
  /** Pending lists by client, also those that are read. */
  readonly #pending = new Map<string, number>();
  #reading = 0;

  /** Reads a list at its client's turn, without a client for the hub itself. `read` is told when the client has gone. Rejects with
   *  OVERLOADED when too many lists of this client, or of all, are pending, with INVALID_INPUT when the client has gone, and as
   *  `read` does. */
  async run<Page>(
    client: ListClient | undefined,
    read: (signal: AbortSignal | undefined) => Promise<Page>,
  ): Promise<Page> {
    const { name, signal } = client ?? { name: HUB, signal: undefined };
    if (signal?.aborted) throw abandoned();
    if (client) this.#refuseTooMany(name);
    this.#count(name, 1);
    try {
      await this.#turn(name, signal);
      return await untilAbandoned(
        read(signal).finally(() => {
          this.#reading--;
          this.#next();
        }),
        signal,
      );
    } finally {
      this.#count(name, -1);
    }
  }

  #turn(name: string, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const begin = () => {
        signal?.removeEventListener('abort', abandon);
        this.#reading++;
        resolve();
      };
      const abandon = () => {
        this.#remove(name, begin);
        reject(abandoned());
      };
      signal?.addEventListener('abort', abandon, { once: true });
      this.#waiting.set(name, [...(this.#waiting.get(name) ?? []), begin]);
      this.#next();
    });
  }

  #next(): void {
    if (this.#reading >= MAX_READING) return;
    for (const [name, [begin]] of this.#waiting) {
      if (!begin) continue;
      this.#remove(name, begin);
      // Other clients come before its next list.
      const left = this.#waiting.get(name);
      this.#waiting.delete(name);
      if (left) this.#waiting.set(name, left);
      begin();
      return;
    }
  }

  #remove(name: string, begin: () => void): void {
    const left = (this.#waiting.get(name) ?? []).filter((each) => each !== begin);
    if (left.length > 0) this.#waiting.set(name, left);
    else this.#waiting.delete(name);
  }

  #count(name: string, by: number): void {
    const count = (this.#pending.get(name) ?? 0) + by;
    if (count > 0) this.#pending.set(name, count);
    else this.#pending.delete(name);
  }

  #refuseTooMany(name: string): void {
    if ((this.#pending.get(name) ?? 0) >= MAX_LISTS_OF_CLIENT) {
      throw overloaded(`${MAX_LISTS_OF_CLIENT} lists that you asked for are not answered yet`);
    }
    let all = 0;
    for (const [client, count] of this.#pending) all += client === HUB ? 0 : count;
    if (all >= MAX_LISTS) throw overloaded(`${MAX_LISTS} lists are not answered yet`);
  }
}

/** Rejects as soon as the client has gone. */
async function untilAbandoned<Page>(page: Promise<Page>, signal: AbortSignal | undefined): Promise<Page> {
  if (!signal) return page;
  try {
    return await abortable(page, signal);
  } catch (error) {
    throw signal.aborted ? abandoned() : error;
  }
}

function abandoned(): HubError {
  return new HubError('INVALID_INPUT', 'the request was broken off');
}

function overloaded(why: string): HubError {
  return new HubError('OVERLOADED', `the hub has more to do than it can: ${why}; try again later`, {
    retryAfterS: RETRY_AFTER_S,
  });
}
