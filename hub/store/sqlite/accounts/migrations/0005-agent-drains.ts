/** One row for each drained agent. `since` is in milliseconds since 1970. */
export const agentDrains = `
  CREATE TABLE agent_drain (
    agent_id TEXT PRIMARY KEY,
    since INTEGER NOT NULL,
    drained_by TEXT NOT NULL
  ) STRICT;
`;
