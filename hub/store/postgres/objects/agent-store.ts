import type { AgentRecord, AgentStore } from '../../../core/ports/agent-store.js';
import { type AgentRow, agentOfRow, installationText } from '../../rows/agent-row.js';
import type { Database } from '../connection/pool.js';
import { rowsOf, sql } from '../connection/statement.js';
import { type LaneWrite, laneStatement } from '../lanes/lane-statements.js';
import type { Lanes } from '../lanes/lanes.js';

const SAVE: LaneWrite<AgentRecord, null> = {
  statement: laneStatement({
    isDurable: false,
    parameters: {
      ids: 'text[]',
      versions: 'text[]',
      revisions: 'text[]',
      seenAts: 'bigint[]',
      clockOffsets: 'bigint[]',
      installations: 'text[]',
      instances: 'text[]',
    },
    parts: `
      saved_agents AS (
        INSERT INTO agent (id, version, revision, seen_at, clock_offset_ms, installation, instances)
        SELECT given.* FROM held, unnest(:ids, :versions, :revisions, :seenAts, :clockOffsets, :installations, :instances)
          AS given (id, version, revision, seen_at, clock_offset_ms, installation, instances)
        ON CONFLICT (id) DO UPDATE SET version = excluded.version, revision = excluded.revision,
          seen_at = excluded.seen_at, clock_offset_ms = excluded.clock_offset_ms,
          installation = excluded.installation, instances = excluded.instances)`,
    outcome: "'null'",
  }),
  isDurable: false,
  keys: ({ id }) => [id],
  values: (agents) => ({
    ids: agents.map(({ id }) => id),
    versions: agents.map(({ version }) => version),
    revisions: agents.map(({ revision }) => revision),
    seenAts: agents.map(({ seenAtMs }) => seenAtMs),
    clockOffsets: agents.map(({ clockOffsetMs }) => clockOffsetMs),
    installations: agents.map(({ installation }) => installationText(installation)),
    instances: agents.map(({ instances }) => JSON.stringify(instances)),
  }),
  results: (agents) => agents.map(() => null),
};

const FORGET: LaneWrite<string, null> = {
  statement: laneStatement({
    isDurable: false,
    parameters: { ids: 'text[]' },
    parts: 'forgotten AS (DELETE FROM agent USING held WHERE agent.id = ANY (:ids))',
    outcome: "'null'",
  }),
  isDurable: false,
  keys: (id) => [id],
  values: (ids) => ({ ids }),
  results: (ids) => ids.map(() => null),
};

const ALL = sql(
  {},
  'SELECT id, version, revision, seen_at, clock_offset_ms, installation, instances FROM agent ORDER BY id',
);

export function postgresAgentStore(db: Database, { side }: Lanes): AgentStore {
  return {
    save: async (agent) => void (await side.write(SAVE, agent)),
    all: async () => (await rowsOf<AgentRow>(db, ALL, {})).map(agentOfRow),
    forget: async (agentId) => void (await side.write(FORGET, agentId)),
  };
}
