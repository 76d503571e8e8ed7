/** Rollouts of versions to agents: what was seen of each agent, and what an administrator has stopped. */
export const agentRollouts = `
  CREATE TABLE agent_rollout (
    target     TEXT PRIMARY KEY,
    version    TEXT NOT NULL,
    begun_at   INTEGER NOT NULL,
    stopped_at INTEGER,
    stopped_by TEXT
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE rollout_member (
    target     TEXT NOT NULL REFERENCES agent_rollout (target) ON DELETE CASCADE,
    agent_id   TEXT NOT NULL,
    place      INTEGER NOT NULL,
    progress   TEXT NOT NULL,
    running    TEXT,
    reason     TEXT,
    log        TEXT,
    changed_at INTEGER NOT NULL,
    PRIMARY KEY (target, agent_id)
  ) STRICT, WITHOUT ROWID;
`;
