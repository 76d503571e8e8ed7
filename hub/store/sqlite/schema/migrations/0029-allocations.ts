/** Allocations: jobs of workload managers that run agents, and what is known of their recipes. */
export const allocations = `
  CREATE TABLE allocation (
    seq        INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    recipe     TEXT NOT NULL,
    state      TEXT NOT NULL,
    job_id     TEXT,
    reason     TEXT NOT NULL,
    cause      TEXT,
    message    TEXT,
    wanted_at  INTEGER NOT NULL,
    started_at INTEGER,
    joined_at  INTEGER,
    ends_at    INTEGER,
    ended_at   INTEGER
  ) STRICT;
  CREATE INDEX allocation_open ON allocation (seq) WHERE ended_at IS NULL;
  CREATE INDEX allocation_ended ON allocation (ended_at) WHERE ended_at IS NOT NULL;
  CREATE INDEX allocation_of_recipe ON allocation (recipe, ended_at) WHERE ended_at IS NOT NULL;
  CREATE TABLE host_recipe (
    recipe     TEXT PRIMARY KEY,
    paused_at  INTEGER,
    paused_by  TEXT,
    resumed_at INTEGER,
    drained_at INTEGER,
    drained_by TEXT,
    fault      TEXT
  ) STRICT, WITHOUT ROWID;
`;
