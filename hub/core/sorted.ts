/** Sorted lists, searched by bisection. */

/** Negative when `a` comes first; never 0 for two items of the same list. */
export type Order<T> = (a: T, b: T) => number;

/** Inserts an item at its place in a sorted list. */
export function insertSorted<T>(list: T[], item: T, order: Order<T>): void {
  list.splice(positionIn(list, item, order), 0, item);
}

/** Removes an item of the list; what decides its order must not have changed since its insertion. */
export function removeSorted<T>(list: T[], item: T, order: Order<T>): void {
  list.splice(positionIn(list, item, order), 1);
}

/** Number of items that come before this one. */
export function positionIn<T>(list: readonly T[], item: T, order: Order<T>): number {
  let from = 0;
  let to = list.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (order(list[middle] as T, item) < 0) from = middle + 1;
    else to = middle;
  }
  return from;
}
