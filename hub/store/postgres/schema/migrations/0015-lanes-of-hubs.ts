/** More ids of lanes, and the hubs that have or had lanes. */
export const lanesOfHubs = {
  id: '0015-lanes-of-hubs',
  phase: 'expand',
  sql: `
  ALTER TABLE lane ALTER id TYPE INTEGER;
  ALTER TABLE task_change ALTER lane_id TYPE INTEGER;

  -- A row stays when the lanes of the hub are removed: a hub that comes back after that has lost nothing.
  CREATE TABLE lane_hub (
    hub     TEXT PRIMARY KEY,
    seen_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
  );
  INSERT INTO lane_hub (hub) SELECT DISTINCT hub FROM lane;
`,
} as const;
