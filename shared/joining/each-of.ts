import pLimit from 'p-limit';

/** Runs `action` for each item, at most `limit` at a time. After an error no further one begins; rejects with the first
 *  error when all that began have settled, so that nothing continues in the background. */
export async function eachOf<T>(
  items: readonly T[],
  limit: number,
  action: (item: T) => Promise<void>,
): Promise<void> {
  const limited = pLimit(limit);
  const errors: unknown[] = [];
  await limited.map(items, async (item) => {
    if (errors.length === 0) await action(item).catch((error: unknown) => errors.push(error));
  });
  if (errors.length > 0) throw errors[0];
}
