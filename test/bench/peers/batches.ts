interface Entry<Item> {
  readonly item: Item;
  resolve(): void;
  reject(error: unknown): void;
}

/** Batches of items: one that is added while a batch is written, or in the same turn of the event loop, goes into the next
 *  batch. The promise resolves when it is written. */
export function inBatches<Item>(
  write: (items: readonly Item[]) => Promise<unknown>,
  max: number,
): (item: Item) => Promise<void> {
  const waiting: Entry<Item>[] = [];
  let busy = false;
  const writeAll = async () => {
    while (waiting.length > 0) {
      const batch = waiting.splice(0, max);
      try {
        await write(batch.map(({ item }) => item));
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    busy = false;
  };
  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (busy) return;
      busy = true;
      setImmediate(() => void writeAll());
    });
}
