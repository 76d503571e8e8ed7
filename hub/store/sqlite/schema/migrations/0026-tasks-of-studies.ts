/** Study and point of a task, and an index of the rows that lists read, by which those of a study are found. */
export const tasksOfStudies = `
  ALTER TABLE task ADD COLUMN study_id TEXT;
  ALTER TABLE task ADD COLUMN study_point INTEGER;
  ALTER TABLE listed_task ADD COLUMN study_id TEXT;
  CREATE INDEX listed_task_study ON listed_task (study_id) WHERE study_id IS NOT NULL;
`;
