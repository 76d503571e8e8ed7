/**
 * Order in which the thread works on lists. Lists without a text filter are cheap and go first; the others are worked on for a
 * turn at a time. Clients take turns, so that one with many lists delays only itself.
 */
import type { ListPage } from './thread-messages.js';

export interface WaitingList {
  readonly client: string;
  /** True when it takes a single, short turn. */
  readonly isShort: boolean;
  /** Does a part of the work; resolves with the page when it is complete. */
  turn(): Promise<ListPage | undefined>;
  answer(page: ListPage): void;
  fail(error: unknown): void;
}

/** Short lists in a row after which another one has a turn. */
const SHORT_IN_A_ROW = 8;

export class FairQueue {
  readonly #beforeNext: () => Promise<void>;
  readonly #short = new Turns<WaitingList>();
  readonly #long = new Turns<WaitingList>();
  #shortInARow = 0;
  #isWorking = false;

  /** @param beforeNext Resolves when lists that arrived in the meantime were added. */
  constructor(beforeNext: () => Promise<void>) {
    this.#beforeNext = beforeNext;
  }

  add(list: WaitingList): void {
    this.#turnsOf(list).add(list.client, list);
    if (!this.#isWorking) void this.#work();
  }

  /** Removes an abandoned list. A turn in progress ends. */
  remove(list: WaitingList): void {
    this.#turnsOf(list).remove(list.client, list);
  }

  async #work(): Promise<void> {
    this.#isWorking = true;
    for (let list = this.#next(); list; list = this.#next()) {
      try {
        const page = await list.turn();
        if (page && this.#turnsOf(list).remove(list.client, list)) list.answer(page);
      } catch (error) {
        this.remove(list);
        list.fail(error);
      }
      await this.#beforeNext();
    }
    this.#isWorking = false;
  }

  #next(): WaitingList | undefined {
    const short = this.#shortInARow < SHORT_IN_A_ROW ? this.#short.next() : undefined;
    const next = short ?? this.#long.next() ?? this.#short.next();
    this.#shortInARow = next?.isShort ? this.#shortInARow + 1 : 0;
    return next;
  }

  #turnsOf({ isShort }: WaitingList): Turns<WaitingList> {
    return isShort ? this.#short : this.#long;
  }
}

/** Round robin over clients; the items of one client are served in order. */
class Turns<Item> {
  /** The client to be served next comes first. */
  readonly #waiting = new Map<string, Item[]>();

  add(client: string, item: Item): void {
    const items = this.#waiting.get(client);
    if (items) items.push(item);
    else this.#waiting.set(client, [item]);
  }

  /** The next item, which stays until it is removed. */
  next(): Item | undefined {
    for (const [client, items] of this.#waiting) {
      this.#waiting.delete(client);
      this.#waiting.set(client, items);
      return items[0];
    }
    return undefined;
  }

  /** False when it is not there. */
  remove(client: string, item: Item): boolean {
    const items = this.#waiting.get(client);
    const at = items?.indexOf(item) ?? -1;
    if (!items || at < 0) return false;
    items.splice(at, 1);
    if (items.length === 0) this.#waiting.delete(client);
    return true;
  }
}
