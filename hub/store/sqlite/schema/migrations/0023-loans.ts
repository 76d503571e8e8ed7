/** Tasks of other hubs, and those whose end the other hub has not acknowledged. */
export const loans = `
  ALTER TABLE task ADD COLUMN loan TEXT; -- JSON; null for a task of this hub
  CREATE TABLE open_loan (
    task_seq INTEGER PRIMARY KEY REFERENCES task (seq) ON DELETE CASCADE
  ) STRICT;
`;
