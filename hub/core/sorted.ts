/** Lists that are kept in order, in which a place is found by halving. */

/** Negative when `a` comes first; never 0 for two that are in the same list. */
export type Order<T> = (a: T, b: T) => number;

export function insertSorted<T>(list: T[], item: T, order: Order<T>): void {
  list.splice(positionIn(list, item, order), 0, item);
}

/** The item has to be in the list, with what decides its order as it was when it was inserted. */
export function removeSorted<T>(list: T[], item: T, order: Order<T>): void {
  list.splice(positionIn(list, item, order), 1);
}

/** How many come before the item. */
function positionIn<T>(list: readonly T[], item: T, order: Order<T>): number {
  let from = 0;
  let to = list.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (order(list[middle] as T, item) < 0) from = middle + 1;
    else to = middle;
  }
  return from;
}
