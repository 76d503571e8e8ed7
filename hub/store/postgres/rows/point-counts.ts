/** SQL query of the numbers of points by outcome, of the study with this `seq`. */
export const countsOf = (seq: string) => `
  SELECT coalesce(outcome, CASE WHEN is_due THEN 'DUE' ELSE 'OPEN' END) AS outcome, count(*) AS count
  FROM study_point WHERE study_seq = ${seq} GROUP BY 1`;
