/** Rollouts of versions to agents: what was seen of each agent, and what an administrator has stopped. */
export const agentRollouts = {
  id: '0029-agent-rollouts',
  phase: 'expand',
  sql: `
  CREATE TABLE agent_rollout (
    target     TEXT COLLATE "C" PRIMARY KEY,
    version    TEXT COLLATE "C" NOT NULL,
    begun_at   BIGINT NOT NULL,
    stopped_at BIGINT,
    stopped_by TEXT COLLATE "C"
  );
  CREATE TABLE rollout_member (
    target     TEXT COLLATE "C" NOT NULL REFERENCES agent_rollout (target) ON DELETE CASCADE,
    agent_id   TEXT COLLATE "C" NOT NULL,
    place      INTEGER NOT NULL, -- of its group
    progress   TEXT COLLATE "C" NOT NULL,
    running    TEXT COLLATE "C",
    reason     TEXT COLLATE "C",
    log        TEXT COLLATE "C",
    changed_at BIGINT NOT NULL,
    PRIMARY KEY (target, agent_id)
  );
`,
} as const;
