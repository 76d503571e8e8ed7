/** Every workload of the benchmark at a small scale; its figures are not checked. */
import { describe, expect, it } from 'vitest';
import { hasSlurm } from '../support/hosts/slurm-cluster.js';
import { hasPostgres } from '../support/stores/postgres.js';
import { runWorkload } from './run-workload.js';
import { type STORES, WORKLOADS } from './workloads.js';

interface Measured {
  readonly said: readonly string[];
  readonly figures: readonly string[];
  readonly processes: readonly string[];
  readonly skipped: readonly string[];
}

async function inSmall(
  name: string,
  only?: readonly string[],
  store: (typeof STORES)[number] = 'sqlite',
): Promise<Measured> {
  const workload = WORKLOADS[store].find((each) => each.name === name);
  if (!workload) throw new Error(`there is no workload ${name}`);
  const said: string[] = [];
  const { figures, processes, skipped } = await runWorkload(workload, {
    runs: 1,
    scale: 0.001,
    seed: 1,
    plans: true,
    ...(only ? { only } : {}),
    say: (line) => said.push(line),
  });
  for (const { median } of figures) expect(median).not.toBeNaN();
  for (const { cpuS, peakRssMib } of processes) expect([cpuS, peakRssMib]).not.toContain(Number.NaN);
  return {
    said,
    figures: figures.map((figure) => figure.name),
    processes: processes.map((use) => use.name),
    skipped,
  };
}

/** Long enough for many processes on a busy machine. */
const TIMEOUT_MS = 180_000;

// Reads the resource use of processes from /proc.
describe.skipIf(process.platform !== 'linux')(
  'the benchmark at a small scale: workload',
  { timeout: TIMEOUT_MS },
  () => {
    it.each([
      ['w0', 'creates'],
      ['w1', 'tasks'],
      ['w1c', 'round trips'],
      ['w2', 'round trip, median'],
      ['w4', 'tasks'],
    ])('%s measures hub and limit in turn, and what their processes use', async (name, figure) => {
      const { figures, processes } = await inSmall(name, ['hub', 'limit pipeline']);
      expect(figures).toEqual(
        expect.arrayContaining([`hub: ${figure}`, 'hub: CPU for each task', `limit pipeline: ${figure}`]),
      );
      expect(processes).toEqual(
        expect.arrayContaining(['hub: hub', 'limit pipeline: front', 'limit pipeline: worker']),
      );
    });

    it('w1 measures every peer whose servers can be started, and reports the others', async () => {
      const peers = [
        'bullmq always',
        'bullmq everysec',
        'bullmq sandboxed',
        'celery',
        'dask',
        'graphile batch',
        'pg-boss batch',
        'dbos batch',
        'beanstalkd',
        'nats always',
        'nats unsynced',
        'slurm',
      ];
      const { said, figures } = await inSmall('w1', peers);
      const measured = peers.filter((peer) => figures.includes(`${peer}: tasks`));
      const skipped = peers.filter((peer) =>
        said.some(
          (line) => line.startsWith(`w1: NOT MEASURED: ${peer}: `) && line.includes('is not installed'),
        ),
      );
      expect([...measured, ...skipped].sort()).toEqual([...peers].sort());
    });

    it('w3 works off a backlog, and restarts after a kill', async () => {
      const { figures } = await inSmall('w3', ['hub', 'limit pipeline']);
      expect(figures).toEqual(
        expect.arrayContaining([
          'hub: tasks from the backlog',
          'hub: memory above none waiting',
          'hub: start after a kill to first answer',
          'hub: task of the highest priority, median',
          'limit pipeline, 200,000 of one kind: tasks from the backlog',
        ]),
      );
    });

    it.skipIf(!hasPostgres).each([
      ['w0', 'creates'],
      ['w1', 'tasks'],
      ['w2', 'round trip, median'],
    ])('%s measures a hub on PostgreSQL, one on SQLite, and queues on PostgreSQL', async (name, figure) => {
      const { figures, processes } = await inSmall(name, undefined, 'postgres');
      const queues = ['graphile batch', 'pg-boss batch', 'dbos batch'];
      const subjects = ['hub on postgres', 'hub on sqlite', ...queues];
      expect(figures).toEqual(expect.arrayContaining(subjects.map((subject) => `${subject}: ${figure}`)));
      expect(processes).toContain('hub on postgres: processes of postgres');
    });

    it.skipIf(!hasPostgres)('w3 works off a backlog on PostgreSQL', async () => {
      const { figures } = await inSmall('w3', ['hub on postgres'], 'postgres');
      expect(figures).toEqual(
        expect.arrayContaining([
          'hub on postgres: tasks from the backlog',
          'hub on postgres: start after a kill to first answer',
          'hub on postgres: task of the highest priority, median',
        ]),
      );
    });

    it.skipIf(!hasPostgres)('cluster measures several hubs', { timeout: 600_000 }, async () => {
      const { figures, processes } = await inSmall('cluster', undefined, 'postgres');
      expect(figures).toEqual(
        expect.arrayContaining([
          'one hub: tasks',
          '3 hubs: tasks, of one hub',
          '3 hubs: other hubs, CPU for each task',
          'across three hubs: beyond one hub, median',
          'agents: all listed by all hubs after',
          'killed hub: all joined again after',
          'idle: rows of hub for each hub',
        ]),
      );
      expect(processes).toContain('2 hubs: database server');
    });

    it('w5 joins, disconnects and rejoins its agents', async () => {
      const { figures } = await inSmall('w5');
      expect(figures).toEqual(
        expect.arrayContaining(['tasks', 'cores of the hub', 'all joined again after', 'create, median']),
      );
    });

    it('w6 runs tasks beside long polls and lists', async () => {
      const { figures } = await inSmall('w6');
      expect(figures).toEqual(
        expect.arrayContaining(['tasks alone', 'tasks beside polls and lists', 'list meanwhile, median']),
      );
    });

    it('w8 gets the same numbers from jobs and from a bare loop', async () => {
      const { figures } = await inSmall('w8');
      expect(figures).toEqual(
        expect.arrayContaining([
          'bare loop: jobs',
          'hub: jobs',
          'hub: CPU for each job beyond the bare loop',
          'hub, least isolation: jobs',
        ]),
      );
    });

    it('study gets the same numbers from single tasks and from one study', async () => {
      const { figures } = await inSmall('study');
      expect(figures).toEqual(
        expect.arrayContaining([
          'single tasks: jobs',
          'one study: jobs',
          'the study again, with reuse: points',
          'hub with a study of waiting points: memory',
        ]),
      );
    });

    it('w10 gets the same numbers from a large study and from a bare loop', async () => {
      const { figures } = await inSmall('w10');
      expect(figures).toEqual(
        expect.arrayContaining([
          'study: CPU for each job beyond the bare loop',
          'study, least isolation: jobs',
          'study of points that do nothing: CPU for each job',
        ]),
      );
    });

    it('w9 starts slots and uses all of them at once', async () => {
      const { figures } = await inSmall('w9');
      expect(figures).toEqual(
        expect.arrayContaining([
          'all slots up after',
          'memory of the agent and its programs, idle',
          'a script for each slot: peak memory',
        ]),
      );
    });

    it.skipIf(!hasSlurm())('hosts measures what a task waits for on a host that comes for it', async () => {
      const { figures } = await inSmall('hosts');
      expect(figures).toEqual(
        expect.arrayContaining([
          'first task after the start of its host, median',
          'job of the host gone after its task ended, median',
        ]),
      );
    });

    it('machine measures syncs and messages', async () => {
      const { figures } = await inSmall('machine');
      expect(figures).toEqual(
        expect.arrayContaining(['fsync of 4 KiB', 'round trips of 300 bytes, one at a time']),
      );
    });

    it('lists finds the tasks that it filters, and shows query plans', async () => {
      const { said, figures } = await inSmall('lists');
      expect(figures).toEqual(
        expect.arrayContaining([
          '2.0 list (1116)',
          '2.0 list?status=FAILED (3)',
          '2.0 list?creator=rita (3)',
          '2.0 list?name=*haystack (3)',
          '2.0 list?name=*xyzzy* (0)',
          '1.0 list/running (16)',
        ]),
      );
      expect(said.filter((line) => line.startsWith('query plan of'))).not.toHaveLength(0);
    });

    it.skipIf(!hasPostgres)('lists finds the same tasks on PostgreSQL', async () => {
      const { said, figures } = await inSmall('lists', undefined, 'postgres');
      expect(figures).toEqual(
        expect.arrayContaining([
          '2.0 list (1116)',
          '2.0 list?name=*haystack (3)',
          '2.0 list?page=55&size=20 (1116)',
          '1.0 list/running (16)',
        ]),
      );
      expect(said.filter((line) => line.startsWith('query plan of'))).not.toHaveLength(0);
    });

    it('uploads measures what is sent again over a connection that is cut', async () => {
      const { figures } = await inSmall('uploads', ['tus-js-client', 'tus-js-client, encrypted']);
      expect(figures).toEqual(
        expect.arrayContaining(['tus-js-client: bytes sent', 'tus-js-client, encrypted: memory of the hub']),
      );
    });

    it('a workload of which nothing is named says that nothing was measured', async () => {
      const { figures, skipped } = await inSmall('storage', ['hub', 'hatchet']);
      expect([figures, skipped]).toEqual([[], ['--only "hub,hatchet" names nothing that storage measures']]);
    });

    it('storage measures uploads, downloads and transfers to agents', async () => {
      const { figures } = await inSmall('storage');
      expect(figures).toEqual(
        expect.arrayContaining([
          'plain copy, synced',
          'sha256sum',
          'upload',
          'upload: of the slower of copy and digest',
          'download',
          'download: of the slower of copy and digest',
          'encrypted upload',
          'encrypted download',
          'hub to agent',
          'agent to hub',
          'staging: memory of the agent',
          'runs of one model: moved to an agent, of the model',
          'JSON in',
          'JSON in: memory of the hub',
          'JSON out',
          'JSON out: memory of the hub',
        ]),
      );
    });

    it('events tells every listener', async () => {
      const { figures } = await inSmall('events');
      expect(figures).toEqual(
        expect.arrayContaining(['tasks alone', 'tasks beside 100 who follow all', 'memory above idle']),
      );
    });

    // A test for each part: a busy machine needs minutes for one of them.
    it.each(['first load', 'live', 'list', 'study', 'log', 'tabs'])(
      'console shows a hub in a browser, or says that there is none: %s',
      async (part) => {
        const { figures, skipped } = await inSmall('console', [part]);
        if (skipped.length > 0)
          expect(skipped).toEqual([`${part}: chromium-headless-shell is not installed`]);
        else expect(figures.filter((figure) => figure.startsWith(`${part}: `))).not.toEqual([]);
      },
    );

    it('polls answers every client that stays', async () => {
      const { figures } = await inSmall('polls');
      expect(figures).toEqual(
        expect.arrayContaining([
          'memory above idle',
          'places of 1 that left free after',
          'end to answer, median',
          'hub to bare server',
        ]),
      );
    });
  },
);
