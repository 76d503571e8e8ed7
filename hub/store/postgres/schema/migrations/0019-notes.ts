/** Note of a task, and a table with those of all tasks that have one, as lists search them. */
export const notes = {
  id: '0019-notes',
  phase: 'expand',
  sql: `
  ALTER TABLE task_request ADD COLUMN note TEXT COLLATE "C";
  CREATE TABLE task_note (
    task_seq BIGINT PRIMARY KEY,
    note     TEXT COLLATE "C" NOT NULL
  );
`,
} as const;
