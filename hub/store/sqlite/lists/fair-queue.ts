/**
 * Whose list the thread works on next. Lists without a text filter cost little and go first; the others are worked on for a
 * turn at a time. Askers take turns, so that one who asks for much waits for it longer than the others do.
 */
import type { ListPage } from './thread-messages.js';

export interface WaitingList {
  /** Who has asked; each asker has its share of the turns. */
  readonly asker: string;
  /** True when it takes a single, short turn. */
  readonly isShort: boolean;
  /** Does a part of the work; gives the page when nothing is left to do. */
  turn(): Promise<ListPage | undefined>;
  answer(page: ListPage): void;
  fail(error: unknown): void;
}

/** After so many short lists in a row, another one has a turn. */
const SHORT_IN_A_ROW = 8;

export class FairQueue {
  readonly #beforeNext: () => Promise<void>;
  readonly #short = new Turns<WaitingList>();
  readonly #long = new Turns<WaitingList>();
  #shortInARow = 0;
  #isWorking = false;

  /** @param beforeNext Resolves when what has arrived meanwhile was added. */
  constructor(beforeNext: () => Promise<void>) {
    this.#beforeNext = beforeNext;
  }

  add(list: WaitingList): void {
    this.#turnsOf(list).add(list.asker, list);
    if (!this.#isWorking) void this.#work();
  }

  /** Nobody waits for this list any more. A turn that is under way ends. */
  remove(list: WaitingList): void {
    this.#turnsOf(list).remove(list.asker, list);
  }

  async #work(): Promise<void> {
    this.#isWorking = true;
    for (let list = this.#next(); list; list = this.#next()) {
      try {
        const page = await list.turn();
        if (page && this.#turnsOf(list).remove(list.asker, list)) list.answer(page);
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

/** Items of several askers, of whom each in turn is served. The items of one asker are served in their order. */
class Turns<Item> {
  /** The asker whose turn it is comes first. */
  readonly #waiting = new Map<string, Item[]>();

  add(asker: string, item: Item): void {
    const items = this.#waiting.get(asker);
    if (items) items.push(item);
    else this.#waiting.set(asker, [item]);
  }

  /** The item whose turn it is; it stays until it is removed. */
  next(): Item | undefined {
    for (const [asker, items] of this.#waiting) {
      this.#waiting.delete(asker);
      this.#waiting.set(asker, items);
      return items[0];
    }
    return undefined;
  }

  /** False when it is not there. */
  remove(asker: string, item: Item): boolean {
    const items = this.#waiting.get(asker);
    const at = items?.indexOf(item) ?? -1;
    if (!items || at < 0) return false;
    items.splice(at, 1);
    if (items.length === 0) this.#waiting.delete(asker);
    return true;
  }
}
