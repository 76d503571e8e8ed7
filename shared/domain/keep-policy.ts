/** When an agent keeps the working directory of a job that has ended. */
export const KEEP_POLICIES = ['never', 'failed', 'always'] as const;
export type KeepPolicy = (typeof KEEP_POLICIES)[number];
