/** Several hubs as real processes, and faults of the database that they share and of the ways to it. */

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { allEnded, createTask, TaskFlow, Workers } from '../support/agents/task-flow.js';
import { eventually } from '../support/eventually.js';
import { type ClusterHub, ClusterPrograms } from '../support/hubs/cluster-programs.js';
import { base64, restClient } from '../support/interface/rest-client.js';
import { startAgent } from '../support/programs/programs.js';
import {
  hasPostgres,
  holdLocks,
  migratedDatabase,
  migratedOn,
  type OwnPostgresServer,
  startPostgres,
  type TestDatabase,
} from '../support/stores/postgres.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

vi.setConfig({ testTimeout: 240_000 });

const NAMES = ['one', 'two', 'three'];
/** Each hub reads again every 10 s what it knows from signals, and sends an assignment that was missing twice. */
const HEALED_WITHIN_MS = 60_000;

let folder: TemporaryFolder;
let database: TestDatabase;
let cluster: ClusterPrograms;
let workers: Workers;

async function expectAllFinished(accepted: readonly string[], hub: ClusterHub): Promise<void> {
  await allEnded(hub, 120_000);
  const statuses = new Map((await cluster.tasks()).map(({ id, status }) => [id, status]));
  expect(accepted.filter((id) => statuses.get(id) !== 'FINISHED')).toEqual([]);
  expect(workers.violations).toEqual([]);
}

/** Creates jobs, the first two of which take some seconds; gives their ids. */
async function createSixJobs({ baseUrl }: ClusterHub): Promise<string[]> {
  const client = restClient(baseUrl);
  const ids: string[] = [];
  for (let number = 0; number < 6; number++) {
    ids.push(
      await client.createBatchJob({
        name: `job ${number}`,
        inputScripts: [{ content: base64(`setTimeout(() => undefined, ${number < 2 ? 2000 : 1})`) }],
      }),
    );
  }
  return ids;
}

describe.runIf(hasPostgres)('several hubs', () => {
  beforeEach(async () => {
    folder = await temporaryFolder();
    workers = new Workers();
  });
  afterEach(async () => {
    await cluster.end();
    await folder.remove();
  });

  describe('on a server that runs', () => {
    let hubs: ClusterHub[];
    beforeEach(async () => {
      database = await migratedDatabase();
      cluster = new ClusterPrograms(folder.path, database);
      hubs = await cluster.startAll(NAMES);
      for (const hub of hubs) await workers.join(hub, `agent-of-${hub.name}`);
    });
    afterEach(() => database.drop());

    it('carry out each task once while all of their connections are ended again and again', async () => {
      const flow = new TaskFlow(hubs);
      for (let times = 0; times < 5; times++) {
        await flow.more(20);
        const [ended] = await database.query<{ count: number }>(
          `SELECT count(pg_terminate_backend(pid))::int AS count FROM pg_stat_activity
           WHERE datname = current_database() AND application_name LIKE 'workbench-hub%'`,
        );
        expect(ended?.count).toBeGreaterThan(3);
      }
      const accepted = await flow.end();
      await expectAllFinished(accepted, hubs[0] as ClusterHub);
      expect((await cluster.tasks()).filter(({ attempt }) => attempt !== 1)).toEqual([]);
      for (const { process } of hubs) expect(process.exitCode).toBeNull();
    });

    it('carry out tasks although no notification arrives any more', async () => {
      for (const { link } of hubs) link.dropsNotifications = true;
      const scheduler = await cluster.scheduler(hubs);
      const others = hubs.filter((hub) => hub !== scheduler);
      const ids: string[] = [];
      for (const hub of [...others, ...others]) ids.push(String(await createTask(hub)));
      await allEnded(scheduler, HEALED_WITHIN_MS);
      await expectAllFinished(ids, scheduler);
      for (const { link } of hubs) link.dropsNotifications = false;
      const flow = new TaskFlow(hubs);
      await flow.more(20);
      await expectAllFinished(await flow.end(), scheduler);
    });

    it('stay, with their scheduler, while a lock keeps all connections of their pools busy', async () => {
      const scheduler = await cluster.scheduler(hubs);
      const [term] = await database.query('SELECT term FROM scheduler_term');
      const flow = new TaskFlow(hubs);
      await flow.more(20);
      const release = await holdLocks(database.url, 'LOCK TABLE task IN ACCESS EXCLUSIVE MODE');
      // Far more requests than a pool has connections, each of which waits for the lock.
      const reads = hubs.flatMap(({ baseUrl }) =>
        Array.from({ length: 30 }, () =>
          fetch(`${baseUrl}/api/2.0/workbench/task/list?status=WAITING`).then(({ status }) => status),
        ),
      );
      await new Promise((resolve) => setTimeout(resolve, 7000));
      for (const { baseUrl } of hubs) expect((await fetch(`${baseUrl}/livez`)).status).toBe(200);
      await release();
      for (const status of await Promise.all(reads)) expect([200, 503]).toContain(status);
      const accepted = await flow.end();
      await expectAllFinished(accepted, scheduler);
      expect(await database.query('SELECT term FROM scheduler_term')).toEqual([term]);
      const [gone] = await database.query('SELECT count(*)::int AS hubs FROM hub');
      expect(gone).toEqual({ hubs: 3 });
    });
  });

  it('stop in order without the database, also while they do not know whether a write took place', async () => {
    database = await migratedDatabase();
    cluster = new ClusterPrograms(folder.path, database);
    const hub = await cluster.start('one');
    await createTask(hub);
    // The hub saves its counts every few seconds.
    const release = await holdLocks(database.url, 'LOCK TABLE task_statistics');
    const waiting =
      "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%task_statistics%'";
    await eventually(async () => (await database.query(waiting)).length > 0);
    hub.link.accept(false);
    hub.link.cut();
    await release();
    await hub.logged(
      ({ msg, lane }) => lane === 'side' && msg === 'the database cannot be reached; trying again',
    );
    expect(await hub.stop()).toBe(0);
    await database.drop();
  });

  describe('on a server of their own', () => {
    let server: OwnPostgresServer;
    beforeEach(async () => {
      server = await startPostgres();
      database = await migratedOn(server);
      cluster = new ClusterPrograms(folder.path, database);
    });
    afterEach(() => server.end());

    it('lose nothing and end nothing twice while that is restarted under load', async () => {
      const hubs = await cluster.startAll(NAMES);
      for (const hub of hubs) await workers.join(hub, `agent-of-${hub.name}`);
      const flow = new TaskFlow(hubs);
      for (let times = 0; times < 2; times++) {
        await flow.more(20);
        await server.stop();
        await server.start();
      }
      await flow.more(20);
      const accepted = await flow.end();
      await expectAllFinished(accepted, hubs[0] as ClusterHub);
      for (const { process } of hubs) expect(process.exitCode).toBeNull();
    });

    it.each([
      ['the database first', ['database', 'hubs', 'agent']],
      ['the agent first', ['agent', 'hubs', 'database']],
      ['the hubs first', ['hubs', 'agent', 'database']],
    ] as const)('go on after all was without power, and %s is back', async (_, order) => {
      const hubs = await cluster.startAll(NAMES);
      const startHost = () =>
        startAgent(folder.path, hubs[0] as ClusterHub, 'host', {
          hub: hubs.map(({ baseUrl }) => baseUrl.replace('http', 'ws')),
          token: hubs[0]?.token,
          tokenFile: null,
          instances: [{ id: 'sim', version: '1', count: 2 }],
        });
      let agent = startHost();
      await agent.logged(({ msg }) => msg === 'joined the hub');
      const ids = await createSixJobs(hubs[0] as ClusterHub);
      await eventually(async () => (await cluster.tasks()).some(({ status }) => status === 'RUNNING'));
      await Promise.all([...hubs.map((hub) => hub.kill()), agent.kill(), server.kill()]);

      const back = {
        database: async () => void (await eventually(() => server.start().then(() => true))),
        // As a service manager does, which starts a program again that has ended.
        hubs: async () => {
          const names = [...NAMES].reverse();
          const starting = names.map((name) => eventually(() => cluster.start(name), 120_000));
          if (order.indexOf('hubs') > order.indexOf('database')) await Promise.all(starting);
          else
            await Promise.race([Promise.any(starting), new Promise((resolve) => setTimeout(resolve, 1000))]);
          return starting;
        },
        agent: async () => {
          agent = startHost();
        },
      };
      let started: Promise<ClusterHub>[] = [];
      for (const part of order) {
        if (part === 'hubs') started = await back.hubs();
        else await back[part]();
      }
      const again = await Promise.all(started);
      await agent.logged(({ msg }) => msg === 'joined the hub');
      for (const id of ids) {
        const result = await restClient((again[0] as ClusterHub).baseUrl).batchJobResult(id);
        expect(result).toMatchObject({ status: 'FINISHED' });
      }
    });
  });
});
