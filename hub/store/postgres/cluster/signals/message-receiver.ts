/** Messages of the other hubs: those of one hub are taken in their order, and a gap is noticed. */
import { type Content, type Message, messageOf, numberAfter, type SentSignal } from './messages.js';

export interface MessageReceiverOptions {
  /** The beginning of own messages, which are ignored. */
  readonly ownHead: string;
  /** Content other than signals. */
  readonly onContent: (content: Content) => void;
  /** Signals of one hub, in their order; the next ones wait. Rejects when they could not be taken. */
  readonly take: (hubId: string, signals: readonly SentSignal[]) => Promise<void>;
  /** Reads long signals, by number. Rejects when the database is away. */
  readonly textsOf: (incarnation: string, numbers: readonly number[]) => Promise<ReadonlyMap<number, string>>;
  readonly onGap: () => void;
}

interface Sender {
  readonly incarnation: string;
  number: number;
  waiting: Message[];
  /** Resolves when nothing waits; undefined while nothing does. */
  work: Promise<void> | undefined;
}

export class MessageReceiver {
  readonly #options: MessageReceiverOptions;
  /** By hub. */
  readonly #senders = new Map<string, Sender>();
  #ownNumber = 0;
  /** Calls that wait for an own message. */
  #waiters: { readonly number: number; readonly resolve: () => void }[] = [];

  constructor(options: MessageReceiverOptions) {
    this.#options = options;
  }

  /** Number of the latest own message that has come back. */
  get ownNumber(): number {
    return this.#ownNumber;
  }

  /** Resolves when the own message of this number has come back and the signals received before it have been taken. */
  async heard(number: number): Promise<void> {
    if (this.#ownNumber < number) {
      await new Promise<void>((resolve) => void this.#waiters.push({ number, resolve }));
    }
    await Promise.all([...this.#senders.values()].map(({ work }) => work));
  }

  receive(payload: string): void {
    const { ownHead, onContent, onGap } = this.#options;
    const own = numberAfter(ownHead, payload);
    if (own !== undefined) {
      this.#ownNumber = own;
      for (const { resolve } of this.#waiters.filter((waiter) => waiter.number <= own)) resolve();
      this.#waiters = this.#waiters.filter((waiter) => waiter.number > own);
      return;
    }
    const message = messageOf(payload);
    if (!message) return;
    const sender = this.#senderOf(message);
    if (message.number <= sender.number) return;
    if (message.number > sender.number + 1) onGap();
    sender.number = message.number;
    const { signals, isLong } = message.content;
    if (!signals && !isLong) {
      onContent(message.content);
      return;
    }
    sender.waiting.push(message);
    sender.work ??= this.#work(sender);
  }

  /** Messages that a hub sent before it was heard for the first time count as known. */
  #senderOf({ hubId, incarnation, number }: Message): Sender {
    const known = this.#senders.get(hubId);
    if (known?.incarnation === incarnation) return known;
    const sender = { incarnation, number: number - 1, waiting: [], work: undefined };
    this.#senders.set(hubId, sender);
    return sender;
  }

  async #work(sender: Sender): Promise<void> {
    while (sender.waiting.length > 0) {
      const messages = sender.waiting;
      sender.waiting = [];
      try {
        const [{ hubId }] = messages as [Message];
        await this.#options.take(hubId, await this.#signalsOf(sender.incarnation, messages));
      } catch {
        this.#options.onGap();
      }
    }
    sender.work = undefined;
  }

  async #signalsOf(incarnation: string, messages: readonly Message[]): Promise<readonly SentSignal[]> {
    const long = messages.filter(({ content }) => content.isLong).map(({ number }) => number);
    const texts = long.length === 0 ? undefined : await this.#options.textsOf(incarnation, long);
    return messages.flatMap(({ number, content }) => {
      if (!content.isLong) return content.signals ?? [];
      const text = texts?.get(number);
      if (text === undefined) this.#options.onGap();
      return text === undefined ? [] : ((JSON.parse(text) as Content).signals ?? []);
    });
  }
}
