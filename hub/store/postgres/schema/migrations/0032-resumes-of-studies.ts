/** Times that a study was resumed, also at the end of each point, so that failures before the latest one are told apart without a clock. */
export const resumesOfStudies = {
  id: '0032-resumes-of-studies',
  phase: 'expand',
  sql: `
  ALTER TABLE study ADD COLUMN resume_count BIGINT NOT NULL DEFAULT 0;
  ALTER TABLE study_point ADD COLUMN resume_count BIGINT NOT NULL DEFAULT 0; -- of the study at the end of the point
  UPDATE study SET resume_count = 1 WHERE running_since_at > created_at AND state = 'RUNNING';
  UPDATE study_point SET resume_count = 1 FROM study
  WHERE study_seq = study.seq AND study.resume_count = 1 AND study_point.ended_at >= study.running_since_at;
`,
} as const;
