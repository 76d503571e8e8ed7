/** Study and point of a task, and indexes of the texts that lists search: those of each study, and those of none. */
export const tasksOfStudies = {
  id: '0024-tasks-of-studies',
  phase: 'expand',
  sql: `
  ALTER TABLE task_request ADD COLUMN study_id TEXT COLLATE "C";
  ALTER TABLE task_request ADD COLUMN study_point BIGINT;
  ALTER TABLE task_text ADD COLUMN study_id TEXT COLLATE "C";
  CREATE INDEX task_text_study ON task_text (study_id, task_seq) WHERE study_id IS NOT NULL;
  CREATE INDEX task_text_alone ON task_text (task_seq) WHERE study_id IS NULL;
`,
} as const;
