/** Fields by which lists filter and sort, in rows so narrow that all of them are read fast. The hub fills the table beside its
 *  work; see lists/listed-tasks.ts. */
export const listedTasks = `
  CREATE TABLE listed_task (
    seq          INTEGER PRIMARY KEY REFERENCES task (seq) ON DELETE CASCADE,
    kind         INTEGER NOT NULL, -- type, status and priority; see task-kinds.ts
    requested_at INTEGER NOT NULL,
    instance_id  TEXT,
    id           TEXT NOT NULL,
    name         TEXT,
    creator      TEXT
  ) STRICT;
`;
