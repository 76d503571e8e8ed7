/** Number of the first point of the bundle in which a point runs; null for one with a task of its own. */
export const bundlesOfPoints = `
  ALTER TABLE study_point ADD COLUMN bundle INTEGER;
`;
