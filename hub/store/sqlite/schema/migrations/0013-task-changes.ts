/** Log of the changes of tasks, one row for each transaction; see change-log.ts. */
export const taskChanges = `
  CREATE TABLE task_change (
    first   INTEGER PRIMARY KEY, -- number of the first change of the transaction; the others follow it
    changes TEXT NOT NULL        -- JSON: seq of each changed task, id of each removed one
  ) STRICT;

  -- The numbers of the log count within one history: a restored database begins another.
  CREATE TABLE change_history (
    id   INTEGER PRIMARY KEY CHECK (id = 0),
    name TEXT NOT NULL
  ) STRICT;
  INSERT INTO change_history VALUES (0, lower(hex(randomblob(6))));
`;
