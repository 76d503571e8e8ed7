/** Items of the calls of a batch, which a statement gets as one list and numbers from 1. */

/** One call, whose items are written together. */
export type Items<Item> = readonly Item[];

/** Values of the items that identify what they write; null for a repeated one, which therefore writes nothing. */
export function firstOnly<Item>(items: readonly Item[], keyOf: (item: Item) => string): (string | null)[] {
  const seen = new Set<string>();
  return items.map((item) => {
    const key = keyOf(item);
    if (seen.has(key)) return null;
    seen.add(key);
    return key;
  });
}

/** Results by the numbers of the items, for each call. */
export function byCall<Item, Result>(
  calls: readonly Items<Item>[],
  resultOf: (item: Item, number: number) => Result,
): Result[][] {
  let number = 0;
  return calls.map((items) =>
    items.map((item) => {
      number++;
      return resultOf(item, number);
    }),
  );
}

/** Whether each item took place, by a list of the numbers of those that did. */
export function tookPlace(calls: readonly Items<unknown>[], numbers: unknown): boolean[][] {
  const done = new Set((numbers ?? []) as number[]);
  return byCall(calls, (_, number) => done.has(number));
}
