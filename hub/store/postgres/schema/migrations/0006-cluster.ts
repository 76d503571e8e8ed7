/** The hubs of the database, the holder of the scheduler's role, connections of agents, mail and long signals. */
export const cluster = {
  id: '0006-cluster',
  phase: 'expand',
  sql: `
  -- One row for each hub that runs, which it renews every second. All times of this migration that are no BIGINT are the server's.
  CREATE TABLE hub (
    id              TEXT COLLATE "C" PRIMARY KEY,
    incarnation     TEXT COLLATE "C" NOT NULL,
    version         TEXT COLLATE "C" NOT NULL,
    address         TEXT COLLATE "C" NOT NULL, -- for agents and clients; empty when it is not configured
    started_at      TIMESTAMPTZ NOT NULL,
    seen_at         TIMESTAMPTZ NOT NULL,
    clock_offset_ms BIGINT, -- lead of its machine's clock
    prepared_at     BIGINT  -- time of its shutdown preparation
  ) WITH (fillfactor = 50);

  ALTER TABLE scheduler_term
    ADD COLUMN holder      TEXT COLLATE "C", -- id of the hub; null when it has resigned
    ADD COLUMN incarnation TEXT COLLATE "C",
    ADD COLUMN until       TIMESTAMPTZ;

  CREATE TABLE cluster_preparation (
    only_row    BOOLEAN PRIMARY KEY DEFAULT TRUE CHECK (only_row),
    prepared_at BIGINT
  );
  INSERT INTO cluster_preparation DEFAULT VALUES;

  ALTER TABLE agent
    ADD COLUMN hub_id  TEXT COLLATE "C", -- hub that it is connected to
    ADD COLUMN node_id TEXT COLLATE "C",
    ADD COLUMN address TEXT COLLATE "C",
    ADD COLUMN epoch   BIGINT NOT NULL DEFAULT 0;

  -- Instances of connected agents.
  CREATE TABLE agent_instance (
    id         TEXT COLLATE "C" PRIMARY KEY,
    agent_id   TEXT COLLATE "C" NOT NULL,
    epoch      BIGINT NOT NULL, -- of the agent
    version    TEXT COLLATE "C" NOT NULL,
    revision   TEXT COLLATE "C" NOT NULL,
    labels     TEXT COLLATE "C" NOT NULL, -- JSON
    status     TEXT COLLATE "C" NOT NULL,
    started_at BIGINT
  ) WITH (fillfactor = 85);
  CREATE INDEX agent_instance_agent ON agent_instance (agent_id);

  -- Requests about agents of other hubs, with their replies. A crash of the server may empty this table and the next.
  CREATE UNLOGGED TABLE mail (
    id         TEXT COLLATE "C" PRIMARY KEY,
    from_hub   TEXT COLLATE "C" NOT NULL,
    to_hub     TEXT COLLATE "C" NOT NULL,
    agent_id   TEXT COLLATE "C" NOT NULL,
    request    TEXT COLLATE "C" NOT NULL, -- JSON, as the reply is
    asked_at   TIMESTAMPTZ NOT NULL,
    timeout_ms BIGINT NOT NULL,
    reply      TEXT COLLATE "C" -- null until there is one
  );

  -- Signals that are too long for a notification.
  CREATE UNLOGGED TABLE signal_text (
    incarnation TEXT COLLATE "C" NOT NULL, -- of the hub that tells them
    number      BIGINT NOT NULL,
    told_at     TIMESTAMPTZ NOT NULL,
    signals     TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (incarnation, number)
  );
`,
} as const;
