/** Limits for threads that hold columns. Their objects are either short-lived or permanent, so a small young generation keeps
 *  memory from staying as large as it once was. */
export const COLUMNS_THREAD_LIMITS = { maxYoungGenerationSizeMb: 3 } as const;
