/** Shares one answer among all who ask while it is awaited: the gauges of one scrape. */
export function whileAsked<T>(ask: () => Promise<T>): () => Promise<T> {
  let asked: Promise<T> | undefined;
  return () => {
    asked ??= ask().finally(() => {
      asked = undefined;
    });
    return asked;
  };
}
