/** Time since which a study runs, and keys of the requests that created studies and added points. */
export const studyRules = `
  ALTER TABLE study ADD COLUMN running_since_at INTEGER; -- null for studies of earlier versions
  ALTER TABLE study ADD COLUMN key TEXT;
  CREATE UNIQUE INDEX study_key ON study (coalesce(creator, ''), key) WHERE key IS NOT NULL;
  ALTER TABLE study_part ADD COLUMN key TEXT;
  CREATE UNIQUE INDEX study_part_key ON study_part (study_seq, key) WHERE key IS NOT NULL;
`;
