import { Logger, run, runMigrations } from 'graphile-worker';
import type pg from 'pg';
import type { LoadTask } from '../load/dialects.js';
import { inBatches } from './batches.js';
import { type StoredTask, serveFront } from './front.js';
import { listenTo, poolOf } from './postgres-client.js';
import { execute, type PeerRoles } from './role.js';

const PRIORITY = { HIGHEST: -10, OTHER: 0 } as const;
const FRONT_CONNECTIONS = 16;
const WORKER_CONNECTIONS = 10;
const LOCAL_QUEUE = 200;
const MAX_CREATED_TOGETHER = 1000;
/** The notice holds all ids, and has 8,000 bytes at most. */
const MAX_ENDED_TOGETHER = 300;

/** The library forgets a job that is done and keeps no result: a table of tasks holds both. */
const SCHEMA = `
  CREATE SCHEMA bench;
  CREATE TABLE bench.task (id text PRIMARY KEY, kind text NOT NULL, payload json NOT NULL,
                           state text NOT NULL DEFAULT 'PENDING', result json) WITH (fillfactor = 70)`;

const CREATE = `
  WITH new AS (SELECT * FROM unnest($1::text[], $2::text[], $3::json[], $4::smallint[])
                        AS n (id, kind, payload, priority)),
       task AS (INSERT INTO bench.task (id, kind, payload) SELECT id, kind, payload FROM new)
  SELECT count(*) FROM graphile_worker.add_jobs(array(
    SELECT row('run', json_build_object('id', id, 'kind', kind, 'payload', payload), null, null, 1, null, priority, null)
             ::graphile_worker.job_spec
    FROM new))`;

const END = `
  WITH ended AS (UPDATE bench.task t SET state = n.state, result = n.result
                 FROM unnest($1::text[], $2::text[], $3::json[]) AS n (id, state, result)
                 WHERE t.id = n.id RETURNING t.id)
  SELECT pg_notify('ended', string_agg(id, ',')) FROM ended`;

type Row = readonly (string | number)[];

const quiet = new Logger(() => () => undefined);

/** Runs a statement whose parameters are columns. */
function byColumns(pool: pg.Pool, name: string, text: string): (rows: readonly Row[]) => Promise<unknown> {
  return (rows) => {
    const values = (rows[0] ?? []).map((_, column) => rows.map((row) => row[column]));
    return pool.query({ name, text, values });
  };
}

export const graphileRoles: PeerRoles = {
  async front({ serverUrl }) {
    const pool = poolOf(serverUrl, FRONT_CONNECTIONS);
    await runMigrations({ pgPool: pool, logger: quiet });
    await pool.query(SCHEMA);
    const add = inBatches(byColumns(pool, 'create', CREATE), MAX_CREATED_TOGETHER);
    let last = 0;
    const { port, ended } = await serveFront({
      create: async ({ kind, priority, payload }) => {
        const id = `${++last}`;
        const rank = priority === 'HIGHEST' ? PRIORITY.HIGHEST : PRIORITY.OTHER;
        await add([id, kind, JSON.stringify(payload), rank]);
        return id;
      },
      read: async (id) => {
        const text = 'SELECT state, result FROM bench.task WHERE id = $1';
        const { rows } = await pool.query<StoredTask>({ name: 'read', text, values: [id] });
        return rows[0];
      },
    });
    await listenTo(serverUrl, 'ended', (ids) => {
      for (const id of ids.split(',')) ended(id);
    });
    return port;
  },

  async worker({ serverUrl, slots }, go) {
    const pgPool = poolOf(serverUrl, WORKER_CONNECTIONS);
    const end = inBatches(byColumns(pgPool, 'end', END), MAX_ENDED_TOGETHER);
    await go();
    await run({
      pgPool,
      noHandleSignals: true,
      logger: quiet,
      parsedCronItems: [],
      taskList: {
        run: async (task) => {
          const { id, kind } = task as { id: string; kind: LoadTask['kind'] };
          await end([id, 'COMPLETED', JSON.stringify(await execute(kind))]);
        },
      },
      preset: {
        worker: {
          concurrentJobs: slots,
          localQueue: { size: LOCAL_QUEUE },
          completeJobBatchDelay: 0,
          failJobBatchDelay: 0,
        },
      },
    });
  },
};
