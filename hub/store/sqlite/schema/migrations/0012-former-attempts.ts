/** Attempts that ended without ending their task. The latest attempt of a task is in its row. */
export const formerAttempts = `
  CREATE TABLE former_attempt (
    task_seq          INTEGER NOT NULL REFERENCES task (seq) ON DELETE CASCADE,
    attempt           INTEGER NOT NULL,
    agent_id          TEXT NOT NULL,
    instance_id       TEXT NOT NULL,
    instance_version  TEXT NOT NULL,
    instance_revision TEXT NOT NULL,
    started_at        INTEGER,
    ended_at          INTEGER,
    loss              TEXT NOT NULL,
    reason            TEXT,
    PRIMARY KEY (task_seq, attempt)
  ) STRICT, WITHOUT ROWID;
`;
