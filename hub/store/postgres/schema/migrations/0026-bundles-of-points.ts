/** Number of the first point of the bundle in which a point runs; null for one with a task of its own. */
export const bundlesOfPoints = {
  id: '0026-bundles-of-points',
  phase: 'expand',
  sql: `
  ALTER TABLE study_point ADD COLUMN bundle BIGINT;
`,
} as const;
