/** Messages to the other hubs: sent one statement at a time, apart from all transactions. While there are many, they are gathered for a moment. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Clock, Timers } from '@workbench-hub/shared/runtime/runtime';
import { DatabaseFault } from '../../connection/database-fault.js';
import { type Database, statement } from '../../connection/pool.js';
import { RELAXED } from '../common/hub-statements.js';
import type { ClusterTimings } from '../common/timings.js';
import { WakeableDelay } from '../common/wakeable-delay.js';
import { CHANNEL, type Content, headOf, MAX_CONTENT_BYTES, type SentSignal } from './messages.js';

/** Messages that are kept while the database is away. */
const MAX_WAITING = 10_000;
/** Time for which messages are sent again. */
const HOLD_MS = 2000;
const RETRY_AFTER_MS = 50;
/** Messages of one statement. */
const MAX_AT_ONCE = 200;

/** PostgreSQL delivers the notifications of a transaction in their order. Parameters: the payloads. */
export const NOTIFY = statement(
  `WITH ${RELAXED} SELECT pg_notify('${CHANNEL}', payload) FROM relaxed, unnest($1::text[]) AS payload`,
);
/** The same with texts that are too long for a notification. Parameters: payloads, incarnation, numbers and texts. */
export const NOTIFY_OF_TEXTS = statement(
  `WITH ${RELAXED},
   kept AS (
     INSERT INTO signal_text (incarnation, number, told_at, signals)
     SELECT $2, given.number, clock_timestamp(), given.signals FROM unnest($3::bigint[], $4::text[]) AS given (number, signals)
     ON CONFLICT DO NOTHING)
   SELECT pg_notify('${CHANNEL}', payload) FROM relaxed, unnest($1::text[]) AS payload`,
);

export interface MessageSenderOptions {
  readonly hubId: string;
  readonly incarnation: string;
  readonly database: Database;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly timings: ClusterTimings;
  readonly log: Logger;
}

/** A message without content; what was sent before it has come back when it has. */
interface Mark {
  readonly content: Content;
  /** Its number once it is sent, or null when it could not be. */
  readonly number: Promise<number | null>;
  readonly sent: (number: number | null) => void;
}

interface LongText {
  readonly number: number;
  readonly signals: string;
}

export class MessageSender {
  /** The beginning of all own messages. */
  readonly head: string;
  readonly #options: MessageSenderOptions;
  readonly #delay: WakeableDelay;
  #waiting: (SentSignal | Content)[] = [];
  /** The mark that waits. */
  #mark: Mark | undefined;
  #number = 0;
  /** End of the latest statement. */
  #sentAtMs = Number.NEGATIVE_INFINITY;
  #work: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: MessageSenderOptions) {
    this.#options = options;
    this.head = headOf(options.hubId, options.incarnation);
    this.#delay = new WakeableDelay(options.timers);
  }

  /** Sends a signal, or another message, soon. Does not wait, and never throws. */
  send(message: SentSignal | Content): void {
    if (this.#isClosed) return;
    if (this.#waiting.length >= MAX_WAITING) this.#lose();
    this.#waiting.push(message);
    this.#work ??= this.#sendAll();
  }

  /** Sends a mark; resolves with its number, or with null when it could not be sent. */
  mark(): Promise<number | null> {
    if (this.#isClosed) return Promise.resolve(null);
    if (!this.#mark) {
      const content: Content = {};
      let sent: Mark['sent'] = () => undefined;
      const number = new Promise<number | null>((resolve) => {
        sent = resolve;
      });
      this.#mark = { content, number, sent };
      this.send(content);
    }
    return this.#mark.number;
  }

  /** Sends what waits, and nothing more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#delay.wake();
    await this.#work;
  }

  async #sendAll(): Promise<void> {
    const { log, clock } = this.#options;
    await this.#gather();
    while (this.#waiting.length > 0) {
      const { payloads, texts, mark, markNumber } = this.#take();
      try {
        await this.#sendPatiently(payloads, texts);
        this.#sentAtMs = clock.monotonicMs();
        mark?.sent(markNumber);
      } catch (error) {
        mark?.sent(null);
        log.warn({ err: error }, 'signals could not be sent to the other hubs; they read the database again');
        this.#lose();
      }
    }
    this.#work = undefined;
  }

  /** Waits for further messages: for those of this turn, or for a moment when others were sent just before. */
  #gather(): Promise<void> {
    const { timings, timers, clock } = this.#options;
    const isBusy = clock.monotonicMs() - this.#sentAtMs < timings.quietMs;
    return isBusy ? this.#delay.wait(timings.gatherMs) : new Promise((resolve) => timers.soon(resolve));
  }

  /** Leaves a gap in the numbers, by which the others notice the loss. */
  #lose(): void {
    this.#waiting = [];
    this.#mark?.sent(null);
    this.#mark = undefined;
    this.#number++;
  }

  #take(): { payloads: string[]; texts: LongText[]; mark: Mark | undefined; markNumber: number } {
    const payloads: string[] = [];
    const texts: LongText[] = [];
    const add = (json: string) => void payloads.push(`${this.head}${++this.#number} ${json}`);
    let signals: string[] = [];
    let bytes = 0;
    const addSignals = () => {
      if (signals.length === 0) return;
      const json = `{"signals":[${signals.join()}]}`;
      if (bytes <= MAX_CONTENT_BYTES) add(json);
      else {
        add('{"isLong":true}');
        texts.push({ number: this.#number, signals: json });
      }
      signals = [];
      bytes = 0;
    };
    let taken = 0;
    let mark: Mark | undefined;
    let markNumber = 0;
    for (const message of this.#waiting) {
      if (payloads.length >= MAX_AT_ONCE) break;
      taken++;
      const json = JSON.stringify(message);
      if (!('signal' in message)) {
        addSignals();
        add(json);
        if (message === this.#mark?.content) {
          mark = this.#mark;
          markNumber = this.#number;
          this.#mark = undefined;
        }
        continue;
      }
      const size = Buffer.byteLength(json) + 1;
      if (bytes + size > MAX_CONTENT_BYTES) addSignals();
      signals.push(json);
      bytes += size;
    }
    addSignals();
    this.#waiting.splice(0, taken);
    return { payloads, texts, mark, markNumber };
  }

  /** Repeated messages have the numbers that they had, so that the others ignore those that they know. */
  async #sendPatiently(payloads: readonly string[], texts: readonly LongText[]): Promise<void> {
    const { clock } = this.#options;
    const untilMs = clock.monotonicMs() + HOLD_MS;
    for (;;) {
      try {
        return await this.#sendOnce(payloads, texts);
      } catch (error) {
        if (!(error instanceof DatabaseFault) || this.#isClosed || clock.monotonicMs() >= untilMs)
          throw error;
      }
      await this.#delay.wait(RETRY_AFTER_MS);
    }
  }

  async #sendOnce(payloads: readonly string[], texts: readonly LongText[]): Promise<void> {
    const { database, incarnation } = this.#options;
    if (texts.length === 0) return void (await database.rows(NOTIFY, [payloads]));
    const numbers = texts.map(({ number }) => number);
    const signals = texts.map((text) => text.signals);
    await database.rows(NOTIFY_OF_TEXTS, [payloads, incarnation, numbers, signals]);
  }
}
