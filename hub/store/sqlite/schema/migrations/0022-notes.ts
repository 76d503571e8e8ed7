/** Note of a task, and a table with those of all tasks that have one, as lists search them. */
export const notes = `
  ALTER TABLE task ADD COLUMN note TEXT;
  CREATE TABLE listed_note (
    seq  INTEGER PRIMARY KEY REFERENCES task (seq) ON DELETE CASCADE,
    note TEXT NOT NULL
  ) STRICT;
`;
