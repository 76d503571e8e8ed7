/** Shares of what users, or addresses, hold in common: who holds nothing is forgotten. */

/** Shares that one party holds. */
export interface Holding<Held> {
  readonly name: string;
  readonly held: Held;
  /** Holders, such as requests, that are counted for it. */
  holders: number;
}

/** Part of what is left for all others that a party may hold. */
const OF_FREE = 2;

/** Whether a party that holds `held` takes more than its share by `amount` more, of which `free` are left for all. One party alone
 *  gets two thirds, three get two sevenths each, and a newcomer always finds something. */
export function isBeyondShare(held: number, amount: number, free: number): boolean {
  return held > 0 && held + amount > OF_FREE * free;
}

export class Shares<Held> {
  readonly #parties = new Map<string, Holding<Held>>();
  readonly #nothing: () => Held;

  constructor(nothing: () => Held) {
    this.#nothing = nothing;
  }

  get size(): number {
    return this.#parties.size;
  }

  /** The party of this name, with one holder more, which must {@link leave}. */
  of(name: string): Holding<Held> {
    const known = this.#parties.get(name) ?? { name, held: this.#nothing(), holders: 0 };
    known.holders++;
    this.#parties.set(name, known);
    return known;
  }

  leave(party: Holding<Held>): void {
    party.holders--;
    if (party.holders === 0) this.#parties.delete(party.name);
  }
}
