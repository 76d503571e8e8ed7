import { randomUUID } from 'node:crypto';
import { DBOS, DBOSClient } from '@dbos-inc/dbos-sdk';
import type pg from 'pg';
import type { LoadTask } from '../load/dialects.js';
import { inBatches } from './batches.js';
import { type StoredTask, serveFront } from './front.js';
import { listenTo, poolOf } from './postgres-client.js';
import { execute, type PeerRoles } from './role.js';

const APPLICATION = 'bench';
const QUEUE = 'bench';
const WORKFLOW = 'execute';
/** The lowest number runs first, and 0 is the default. */
const PRIORITY = { HIGHEST: 1, OTHER: 10 } as const;
const CONNECTIONS = 16;
const MAX_CREATED_TOGETHER = 100;
/** The notice holds all ids, and has 8,000 bytes at most. */
const MAX_ENDED_TOGETHER = 200;
/** Neither a queue nor the end of a workflow has a notice: both are looked for. */
const POLL_EVERY_MS = 1;

const STATES: Readonly<Record<string, StoredTask['state']>> = { SUCCESS: 'COMPLETED', ERROR: 'FAILED' };

interface NewTask {
  readonly id: string;
  readonly task: LoadTask;
}

export const dbosRoles: PeerRoles = {
  async front({ serverUrl }) {
    await DBOS.migrate(serverUrl);
    const pool = poolOf(serverUrl, CONNECTIONS);
    const client = await clientOf(serverUrl, pool);
    const add = inBatches<NewTask>((tasks) => createAll(client, pool, tasks), MAX_CREATED_TOGETHER);
    const { port, ended } = await serveFront({
      create: async (task) => {
        const id = randomUUID();
        await add({ id, task });
        return id;
      },
      read: async (id) => {
        const workflow = await client.getWorkflow(id);
        return workflow && { state: STATES[workflow.status] ?? 'PENDING', result: workflow.output };
      },
    });
    await listenTo(serverUrl, 'ended', (ids) => {
      for (const id of ids.split(',')) ended(id);
    });
    return port;
  },

  async worker({ serverUrl, slots }, go) {
    const pool = poolOf(serverUrl, CONNECTIONS);
    const client = await clientOf(serverUrl, pool);
    const end = inBatches<string>((ids) => tellEnds(client, pool, ids), MAX_ENDED_TOGETHER);
    DBOS.setConfig({
      name: APPLICATION,
      systemDatabaseUrl: serverUrl,
      systemDatabasePoolSize: CONNECTIONS,
      applicationVersion: '1',
      logLevel: 'error',
      runAdminServer: false,
    });
    DBOS.registerWorkflow(
      async (kind: LoadTask['kind']) => {
        const result = await execute(kind);
        // Its end is written after this function.
        void end(DBOS.workflowID ?? '');
        return result;
      },
      { name: WORKFLOW },
    );
    await go();
    await DBOS.launch();
    await DBOS.registerQueue(QUEUE, { workerConcurrency: slots, minPollingIntervalMs: POLL_EVERY_MS });
  },
};

function clientOf(systemDatabaseUrl: string, systemDatabasePool: pg.Pool): Promise<DBOSClient> {
  return DBOSClient.create({ systemDatabaseUrl, systemDatabasePool, applicationName: APPLICATION });
}

async function createAll(client: DBOSClient, pool: pg.Pool, tasks: readonly NewTask[]): Promise<void> {
  const connection = await pool.connect();
  try {
    await connection.query('BEGIN');
    for (const { id, task } of tasks) {
      const priority = task.priority === 'HIGHEST' ? PRIORITY.HIGHEST : PRIORITY.OTHER;
      const options = { workflowName: WORKFLOW, queueName: QUEUE, workflowID: id, priority };
      await client.enqueueInTransaction(connection, options, task.kind, task.payload);
    }
    await connection.query('COMMIT');
  } catch (error) {
    await connection.query('ROLLBACK');
    throw error;
  } finally {
    connection.release();
  }
}

async function tellEnds(client: DBOSClient, pool: pg.Pool, ids: readonly string[]): Promise<void> {
  const workflows = ids.map((id) => client.retrieveWorkflow(id));
  await client.waitAll(workflows, { pollingIntervalMs: POLL_EVERY_MS });
  await pool.query("SELECT pg_notify('ended', $1)", [ids.join(',')]);
}
