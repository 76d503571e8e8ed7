/** Note of a task, as it is and as lists search it. */
export const notes = {
  id: '0019-notes',
  phase: 'expand',
  sql: `
  ALTER TABLE task_request ADD COLUMN note TEXT COLLATE "C";
  ALTER TABLE task_text ADD COLUMN note TEXT COLLATE "C";
`,
} as const;
