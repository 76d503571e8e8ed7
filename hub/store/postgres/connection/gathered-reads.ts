/** Look-ups by key that are gathered while a statement is under way, which reads all of them at once. */

/** Keys of one statement. */
const MAX_KEYS = 1000;

interface Waiting<Value> {
  readonly key: string;
  resolve(value: Value | undefined): void;
  reject(error: unknown): void;
}

/** @param read Gives the values that exist. */
export function gathered<Value>(
  read: (keys: readonly string[]) => Promise<ReadonlyMap<string, Value>>,
): (key: string) => Promise<Value | undefined> {
  let waiting: Waiting<Value>[] = [];
  let isReading = false;

  const readAll = async () => {
    isReading = true;
    // Lets the other look-ups of this turn join.
    await Promise.resolve();
    while (waiting.length > 0) {
      const batch = waiting.slice(0, MAX_KEYS);
      waiting = waiting.slice(MAX_KEYS);
      try {
        const values = await read([...new Set(batch.map(({ key }) => key))]);
        for (const { key, resolve } of batch) resolve(values.get(key));
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    isReading = false;
  };

  return (key) =>
    new Promise((resolve, reject) => {
      waiting.push({ key, resolve, reject });
      if (!isReading) void readAll();
    });
}
