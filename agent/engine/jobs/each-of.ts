/** Does `action` for each item, at most `limit` at a time. Rejects with the first error, after all that began have
 *  settled, so that nothing goes on behind the caller's back. */
export async function eachOf<T>(
  items: readonly T[],
  limit: number,
  action: (item: T) => Promise<void>,
): Promise<void> {
  const errors: unknown[] = [];
  const left = items.values();
  const work = async () => {
    for (const item of left) {
      if (errors.length > 0) return;
      await action(item).catch((error: unknown) => errors.push(error));
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, work));
  if (errors.length > 0) throw errors[0];
}
