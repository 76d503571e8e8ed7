/** Named objects, stored files of tasks, and encrypted blobs. */
export const storage = `
  CREATE TABLE stored_file (
    area       TEXT NOT NULL,
    name       TEXT NOT NULL,
    digest     TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    encrypted  INTEGER NOT NULL,
    owner      TEXT,
    stored_at  INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (area, name)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX stored_file_digest ON stored_file (digest);
  CREATE INDEX stored_file_expiry ON stored_file (expires_at);
  CREATE INDEX stored_file_owner ON stored_file (area, owner);

  ALTER TABLE task_file ADD COLUMN encrypted INTEGER NOT NULL DEFAULT 0;

  -- What the result of a task says of the output storage: it keeps no content, since the names there expire.
  CREATE TABLE task_stored_file (
    task_seq   INTEGER NOT NULL REFERENCES task (seq) ON DELETE CASCADE,
    position   INTEGER NOT NULL,
    name       TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    PRIMARY KEY (task_seq, position)
  ) STRICT, WITHOUT ROWID;
`;
