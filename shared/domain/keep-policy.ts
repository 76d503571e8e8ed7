/** Policies by which an agent keeps the working directories of ended jobs. */
export const KEEP_POLICIES = ['never', 'failed', 'always'] as const;
export type KeepPolicy = (typeof KEEP_POLICIES)[number];
