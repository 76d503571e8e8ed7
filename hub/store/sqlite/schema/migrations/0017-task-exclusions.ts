/** Agents that returned a task for a host fault, and do not get it again for a while. */
export const taskExclusions = `
  CREATE TABLE task_exclusion (
    task_seq INTEGER NOT NULL REFERENCES task (seq) ON DELETE CASCADE,
    agent_id TEXT NOT NULL,
    reason   TEXT NOT NULL,
    noted_at INTEGER NOT NULL,
    PRIMARY KEY (task_seq, agent_id)
  ) STRICT, WITHOUT ROWID;
`;
