/** SQL query of the numbers of points by outcome, of the study with this `seq`. Each part reads an index alone: the rows of points are wide. */
export const countsOf = (seq: string) => `
  SELECT outcome, count(*) AS count FROM study_point
  WHERE study_seq = ${seq} AND outcome IS NOT NULL GROUP BY outcome
  UNION ALL SELECT 'OPEN', count(*) FROM study_point
  WHERE study_seq = ${seq} AND outcome IS NULL AND NOT is_due HAVING count(*) > 0
  UNION ALL SELECT 'DUE', count(*) FROM study_point
  WHERE study_seq = ${seq} AND is_due HAVING count(*) > 0`;
