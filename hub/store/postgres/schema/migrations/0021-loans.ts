/** Tasks of other hubs, and those whose end the other hub has not acknowledged. */
export const loans = {
  id: '0021-loans',
  phase: 'expand',
  sql: `
  ALTER TABLE task_request ADD COLUMN loan TEXT COLLATE "C"; -- JSON; null for a task of this hub
  CREATE TABLE open_loan (
    task_seq BIGINT PRIMARY KEY
  );
`,
} as const;
