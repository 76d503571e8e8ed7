/** Ways to keep the jobs of an instance apart, from the strictest to the fastest; packages/docs/mujoco.md has the differences. */
export const ISOLATIONS = ['thread', 'realm', 'none'] as const;

export type Isolation = (typeof ISOLATIONS)[number];

export const DEFAULT_ISOLATION: Isolation = 'realm';
