/** Wishes of one hub that follow a fall at once, and a rise only when it lasts. */
import type { WantedInstances } from '@workbench-hub/shared/domain/lent-recipe';

/** Time for which more must be wanted before it is asked for: a hub that joins again is back by then. */
const LASTS_MS = 3000;

interface Wish {
  count: number;
  /** Time since which more is wanted, and the least of it; undefined while no more is. */
  rise: { readonly sinceMs: number; least: number } | undefined;
}

export class SteadyWishes {
  /** By recipe and requirement. */
  #wishes = new Map<string, Wish>();

  /** Wishes to ask for now. `isAtOnce`: a rise need not last. Times are monotonic. */
  settled(wanted: readonly WantedInstances[], nowMs: number, isAtOnce: boolean): WantedInstances[] {
    const before = this.#wishes;
    this.#wishes = new Map();
    return wanted.flatMap((each) => {
      const key = JSON.stringify([each.recipe, each.requirement]);
      const wish = next(before.get(key) ?? { count: 0, rise: undefined }, each.count, nowMs, isAtOnce);
      this.#wishes.set(key, wish);
      return wish.count === 0 ? [] : [{ ...each, count: wish.count }];
    });
  }
}

function next({ count, rise }: Wish, wanted: number, nowMs: number, isAtOnce: boolean): Wish {
  if (isAtOnce || wanted <= count) return { count: wanted, rise: undefined };
  const least = Math.min(rise?.least ?? wanted, wanted);
  const sinceMs = rise?.sinceMs ?? nowMs;
  if (nowMs - sinceMs < LASTS_MS) return { count, rise: { sinceMs, least } };
  return { count: least, rise: least < wanted ? { sinceMs: nowMs, least: wanted } : undefined };
}
