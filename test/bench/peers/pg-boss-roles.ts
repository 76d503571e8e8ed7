import { randomUUID } from 'node:crypto';
import PgBoss from 'pg-boss';
import type { LoadTask } from '../load/dialects.js';
import { inBatches } from './batches.js';
import { serveFront } from './front.js';
import { listenTo } from './postgres-client.js';
import { execute, type PeerRoles } from './role.js';

const QUEUE = 'bench';
const PRIORITY = { HIGHEST: 10, OTHER: 0 } as const;
const CONNECTIONS = 10;
const MAX_CREATED_TOGETHER = 1000;
/** Tasks of one fetch; the notice of their ends holds all ids, and has 8,000 bytes at most. */
const MAX_TAKEN_TOGETHER = 200;
/** The shortest interval of the library's own polling, for a notice that got lost. */
const POLL_EVERY_MS = 500;

interface Ended {
  readonly id: string;
  readonly ok: boolean;
}

async function bossAt(connectionString: string, supervise: boolean): Promise<PgBoss> {
  const boss = new PgBoss({ connectionString, max: CONNECTIONS, supervise, schedule: false });
  // The server is stopped while connections are open.
  boss.on('error', () => undefined);
  await boss.start();
  return boss;
}

export const pgBossRoles: PeerRoles = {
  async front({ serverUrl }) {
    const boss = await bossAt(serverUrl, false);
    await boss.createQueue(QUEUE);
    const add = inBatches<PgBoss.JobInsert>(async (jobs) => {
      await boss.insert([...jobs]);
      void boss.getDb().executeSql('NOTIFY created', []);
    }, MAX_CREATED_TOGETHER);
    const { port, ended } = await serveFront({
      create: async (task) => {
        const id = randomUUID();
        const priority = task.priority === 'HIGHEST' ? PRIORITY.HIGHEST : PRIORITY.OTHER;
        await add({ id, name: QUEUE, data: task, priority });
        return id;
      },
      read: async (id) => {
        const job = await boss.getJobById(QUEUE, id);
        if (!job) return undefined;
        if (job.state === 'completed') return { state: 'COMPLETED', result: job.output };
        return { state: job.state === 'failed' ? 'FAILED' : 'PENDING' };
      },
    });
    await listenTo(serverUrl, 'ended', (ids) => {
      for (const id of ids.split(',')) ended(id);
    });
    return port;
  },

  // Its own workers look twice a second at most, and keep no results of a batch: this one fetches and completes by itself.
  async worker({ serverUrl, slots }, go) {
    const boss = await bossAt(serverUrl, true);
    const end = inBatches<Ended>((tasks) => complete(boss, tasks), MAX_TAKEN_TOGETHER);
    let noticed = false;
    let wake: () => void = () => undefined;
    await listenTo(serverUrl, 'created', () => {
      noticed = true;
      wake();
    });
    await go();
    for (;;) {
      noticed = false;
      const jobs = await boss.fetch<LoadTask>(QUEUE, { batchSize: MAX_TAKEN_TOGETHER });
      if (jobs.length > 0) await executeAll(jobs, slots, end);
      else if (!noticed) {
        await new Promise<void>((resolve) => {
          wake = resolve;
          setTimeout(resolve, POLL_EVERY_MS);
        });
      }
    }
  },
};

/** Executes some at a time; does not wait until the last ends are written. */
async function executeAll(
  jobs: readonly PgBoss.Job<LoadTask>[],
  slots: number,
  end: (task: Ended) => Promise<void>,
): Promise<void> {
  const waiting = jobs.values();
  const executeNext = async () => {
    for (const { id, data } of waiting) void end({ id, ...(await execute(data.kind)) });
  };
  await Promise.all(Array.from({ length: slots }, executeNext));
}

async function complete(boss: PgBoss, tasks: readonly Ended[]): Promise<void> {
  for (const ok of [true, false]) {
    // One result for all of a call, which the types of the library do not know.
    const result: object = { ok };
    const ids = tasks.filter((task) => task.ok === ok).map(({ id }) => id);
    if (ids.length > 0) await boss.complete(QUEUE, ids, result);
  }
  await boss.getDb().executeSql("SELECT pg_notify('ended', $1)", [tasks.map(({ id }) => id).join(',')]);
}
