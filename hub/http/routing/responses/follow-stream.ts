/** A stream of the events of one thing that a client follows, as fast as it reads them. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Clock, Timers } from '@workbench-hub/shared/runtime/runtime';
import { SharedBytes } from '../../wire/shared-bytes.js';
import type { EventConnection } from './event-stream.js';
import { StreamAuthorizations } from './stream-authorizations.js';

/** Unread bytes with which a client gets no more until it has read them. */
const MAX_UNREAD_BYTES = 256 * 1024;

const COMMENT_EVERY_MS = 15_000;
const COMMENT = new SharedBytes(': alive\n\n');
/** Sent at once, since nothing may happen for long; a browser connects again after this delay. */
const BEGINNING = new SharedBytes('retry: 2000\n\n');

export interface FollowStreamsOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Logger;
}

/** Events as they are sent; ends when the client has left. */
export type Follow = (client: AbortSignal) => AsyncGenerator<string>;

export interface FollowRequest {
  readonly follow: Follow;
  /** Time after which the stream ends; null for one that ends by itself. */
  readonly timeoutMs: number | null;
  /** Fields of log lines that name what is followed. */
  readonly of: object;
}

/** The streams of an endpoint. */
export class FollowStreams {
  readonly #options: FollowStreamsOptions;
  readonly #authorizations: StreamAuthorizations;

  constructor(options: FollowStreamsOptions) {
    this.#options = options;
    this.#authorizations = new StreamAuthorizations(options.clock);
  }

  open(connection: EventConnection, request: FollowRequest): void {
    const stream = new FollowStream(connection, this.#authorizations.of(connection), this.#options);
    void stream.run(request);
  }
}

class FollowStream {
  readonly #connection: EventConnection;
  readonly #mayListen: () => Promise<boolean>;
  readonly #options: FollowStreamsOptions;
  readonly #client = new AbortController();
  #onRead: () => void = () => undefined;

  constructor(connection: EventConnection, mayListen: () => Promise<boolean>, options: FollowStreamsOptions) {
    this.#connection = connection;
    this.#mayListen = mayListen;
    this.#options = options;
    connection.onRead(() => this.#onRead());
    connection.onClosed(() => {
      this.#client.abort();
      this.#onRead();
    });
  }

  async run({ follow, timeoutMs, of }: FollowRequest): Promise<void> {
    const { timers, log } = this.#options;
    const timer = timeoutMs === null ? undefined : timers.after(timeoutMs, () => this.#client.abort());
    this.#connection.send(BEGINNING);
    this.#commentLater();
    try {
      for await (const text of follow(this.#client.signal)) {
        if (!(await this.#mayListen()) || this.#client.signal.aborted) break;
        this.#connection.send(new SharedBytes(text));
        await this.#read();
        if (this.#client.signal.aborted) break;
      }
    } catch (error) {
      log.info({ err: error, ...of }, 'what a client follows can no longer be read');
    }
    timer?.cancel();
    this.#client.abort();
    this.#connection.end();
  }

  /** Resolves when the client has few unread bytes, or has left. */
  async #read(): Promise<void> {
    if (this.#connection.unreadBytes <= MAX_UNREAD_BYTES || this.#client.signal.aborted) return;
    await new Promise<void>((resolve) => {
      this.#onRead = resolve;
    });
  }

  #commentLater(): void {
    const timer = this.#options.timers.after(COMMENT_EVERY_MS, () => {
      void this.#mayListen().then((may) => {
        if (!may) return this.#client.abort();
        if (this.#connection.unreadBytes === 0) this.#connection.send(COMMENT);
        if (!this.#client.signal.aborted) this.#commentLater();
      });
    });
    this.#client.signal.addEventListener('abort', () => timer.cancel(), { once: true });
  }
}
