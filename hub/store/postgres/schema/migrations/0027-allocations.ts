/** Allocations: jobs of workload managers that run agents, and what is known of their recipes. */
export const allocations = {
  id: '0027-allocations',
  phase: 'expand',
  sql: `
  CREATE TABLE allocation (
    seq        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id         TEXT COLLATE "C" NOT NULL UNIQUE,
    recipe     TEXT COLLATE "C" NOT NULL,
    state      TEXT COLLATE "C" NOT NULL,
    job_id     TEXT COLLATE "C",
    reason     TEXT COLLATE "C" NOT NULL,
    cause      TEXT COLLATE "C",
    message    TEXT COLLATE "C",
    wanted_at  BIGINT NOT NULL,
    started_at BIGINT,
    joined_at  BIGINT,
    ends_at    BIGINT,
    ended_at   BIGINT
  );
  CREATE INDEX allocation_open ON allocation (seq) WHERE ended_at IS NULL;
  CREATE INDEX allocation_ended ON allocation (ended_at) WHERE ended_at IS NOT NULL;
  CREATE INDEX allocation_of_recipe ON allocation (recipe, ended_at) WHERE ended_at IS NOT NULL;
  CREATE TABLE host_recipe (
    recipe     TEXT COLLATE "C" PRIMARY KEY,
    paused_at  BIGINT,
    paused_by  TEXT COLLATE "C",
    resumed_at BIGINT,
    drained_at BIGINT,
    drained_by TEXT COLLATE "C",
    fault      TEXT COLLATE "C"
  );
`,
} as const;
