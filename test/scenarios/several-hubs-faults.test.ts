/** Hubs of one database that fail, as real processes: the others go on, and each task is carried out once. */
import { existsSync } from 'node:fs';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { allEnded, createTask, TaskFlow, Workers } from '../support/agents/task-flow.js';
import { eventually } from '../support/eventually.js';
import { type ClusterHub, ClusterPrograms } from '../support/hubs/cluster-programs.js';
import { base64, restClient } from '../support/interface/rest-client.js';
import { type LogLine, startAgent, startProgram } from '../support/programs/programs.js';
import { hasPostgres, migratedDatabase, type TestDatabase } from '../support/stores/postgres.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

vi.setConfig({ testTimeout: 180_000 });

const CLOCK = fileURLToPath(new URL('../dist/chaos/jumping-clock.js', import.meta.url));
const HOUR_MS = 3_600_000;
const NAMES = ['one', 'two', 'three'];

let folder: TemporaryFolder;
let database: TestDatabase;
let cluster: ClusterPrograms;
let workers: Workers;

/** Waits until all tasks have ended, and compares them with what was accepted and carried out. */
async function expectEachOnce(accepted: readonly string[], hub: ClusterHub): Promise<void> {
  await allEnded(hub);
  const ended = new Map((await cluster.tasks()).map(({ id, ...rest }) => [id, rest]));
  const wrong = accepted.filter((id) => {
    const task = ended.get(id);
    return task?.status !== 'FINISHED' || task.attempt !== 1;
  });
  expect(wrong.map((id) => [id, ended.get(id)])).toEqual([]);
  expect(workers.violations).toEqual([]);
  const assigned = workers.assigned.map(({ taskId }) => taskId);
  expect(assigned).toHaveLength(new Set(assigned).size);
  expect(assigned).toEqual(expect.arrayContaining([...accepted]));
}

describe.runIf(hasPostgres)('several hubs', () => {
  beforeEach(async () => {
    folder = await temporaryFolder();
    database = await migratedDatabase();
    cluster = new ClusterPrograms(folder.path, database);
    workers = new Workers();
  });
  afterEach(async () => {
    await cluster.end();
    await database.drop();
    await folder.remove();
  });

  describe('whose scheduler', () => {
    let hubs: ClusterHub[];
    let first: ClusterHub;
    let others: ClusterHub[];
    beforeEach(async () => {
      hubs = await cluster.startAll(NAMES);
      first = await cluster.scheduler(hubs);
      others = hubs.filter((hub) => hub !== first);
      for (const hub of others) await workers.join(hub, `agent-of-${hub.name}`);
    });

    it('is paused for longer than its term have another within six seconds, and no task twice when it goes on', async () => {
      await workers.join(first, 'agent-of-the-paused');
      const flow = new TaskFlow(others);
      await flow.more(20);
      cluster.pause(first);
      expect(await cluster.untilOtherSchedules(others)).toBeLessThan(6000);
      await flow.more(50);
      // It still believes to have the role, and its view of queue and instances is that of the moment at which it was paused.
      cluster.goOn(first);
      await first.logged(({ msg }) => msg?.startsWith("the scheduler's role ") === true);
      await flow.more(50);
      await expectEachOnce(await flow.end(), first);
      expect(flow.refusals).toEqual([]);
    });

    it('stops in order have another within a second', async () => {
      const flow = new TaskFlow(others);
      await flow.more(20);
      first.process.kill('SIGTERM');
      expect(await cluster.untilOtherSchedules(others)).toBeLessThan(1000);
      expect(await first.ended).toBe(0);
      await flow.more(50);
      const [next] = others as [ClusterHub];
      await expectEachOnce(await flow.end(), next);
      expect(flow.refusals).toEqual([]);
    });

    it('is killed have another within six seconds', async () => {
      const flow = new TaskFlow(others);
      await flow.more(20);
      await first.kill();
      expect(await cluster.untilOtherSchedules(others)).toBeLessThan(6000);
      await flow.more(50);
      const [next] = others as [ClusterHub];
      await expectEachOnce(await flow.end(), next);
      const again = await cluster.start(first.name);
      expect(again.hubId).toBe(first.hubId);
      const id = await createTask(again);
      await expectEachOnce([String(id)], again);
    });
  });

  it('let the agents of one that is cut off from the database move, with what they run', async () => {
    const [one, two] = (await cluster.startAll(['one', 'two'])) as [ClusterHub, ClusterHub];
    const hubs = new Map([one, two].map((hub) => [hub.baseUrl.replace('http', 'ws'), hub]));
    // As many as the agents below: none of those is asked to move for the spread, which may cost an attempt that is on its way.
    for (const id of ['first', 'second']) await workers.join(two, `${id}-of-two`);
    const go = join(folder.path, 'go');
    const [busy, idle] = ['busy', 'idle'].map((id) =>
      startAgent(folder.path, one, id, {
        hub: [one.baseUrl.replace('http', 'ws')],
        token: one.token,
        tokenFile: null,
        instances: [{ id: `${id}-sim`, version: id === 'busy' ? '1' : '2' }],
      }),
    ) as [ReturnType<typeof startAgent>, ReturnType<typeof startAgent>];
    const isJoin = ({ msg }: LogLine) => msg === 'joined the hub';
    for (const agent of [busy, idle]) expect(hubs.get(String((await agent.logged(isJoin))['hub']))).toBe(one);
    const client = restClient(two.baseUrl);
    const id = await client.createBatchJob({
      classifiers: [{ type: 'VERSION', value: '1' }],
      inputScripts: [
        {
          content: base64(
            `const fs = require('node:fs'); fs.writeFileSync(go + '.began', ''); const t = setInterval(() => fs.existsSync(go) && clearInterval(t), 20);`,
          ),
        },
      ],
      variablesToInject: [{ key: 'go', value: go }],
    });
    await eventually(() => existsSync(`${go}.began`));

    one.link.accept(false);
    one.link.cut();
    await eventually(async () => (await fetch(`${one.baseUrl}/readyz`)).status === 503);
    // Asked to move or, on a slow machine, when the hub has closed the connection.
    const isMoved = (line: LogLine) => isJoin(line) && hubs.get(String(line['hub'])) === two;
    for (const agent of [busy, idle]) await agent.logged(isMoved);
    expect(await createTask(one)).toBe(503);
    await writeFile(go, '');
    expect(await client.batchJobResult(id)).toMatchObject({ status: 'FINISHED' });
    const next = await client.createBatchJob({
      classifiers: [{ type: 'VERSION', value: '2' }],
      inputScripts: [{ content: base64('') }],
    });
    expect(await client.batchJobResult(next)).toMatchObject({ status: 'FINISHED' });
    expect(await database.query('SELECT attempt, agent_id, loss, reason FROM former_attempt')).toEqual([]);
    expect((await cluster.tasks()).map(({ attempt }) => attempt)).toEqual([1, 1]);

    one.link.accept(true);
    await eventually(async () => (await fetch(`${one.baseUrl}/readyz`)).status === 200);
    expect(typeof (await createTask(one))).toBe('string');
  });

  it('work together with clocks that are an hour apart', async () => {
    const at = async (name: string, aheadMs: number) => {
      const file = join(folder.path, `${name}.clock`);
      await writeFile(file, String(aheadMs));
      const by = ['env', `NODE_OPTIONS=--import=${CLOCK}`, `CHAOS_CLOCK_FILE=${file}`];
      // An hour less than what a hub ahead would otherwise remove.
      return cluster.start(name, { by, config: { tasks: { keepEndedFor: '30m' } } });
    };
    const hubs = [await at('behind', -HOUR_MS), await at('ahead', HOUR_MS), await cluster.start('right')];
    for (const hub of hubs) await workers.join(hub, `agent-of-${hub.name}`);
    const beganAtMs = Date.now() - 1000;
    const flow = new TaskFlow(hubs);
    await flow.more(60);
    const first = await cluster.scheduler(hubs);
    const others = hubs.filter((hub) => hub !== first);
    await first.kill();
    expect(await cluster.untilOtherSchedules(others)).toBeLessThan(6000);
    // Refusals and lost tasks of the killed one's clients and agent are another test's.
    const accepted = await flow.end();
    const [next] = others as [ClusterHub];
    await eventually(async () => {
      const tasks = await cluster.tasks();
      return tasks.filter(({ status }) => status === 'FINISHED').length >= accepted.length - 2;
    });
    const times = await database.query<{ first: number; last: number }>(
      `SELECT min(least(requested_at, started_at, ended_at))::float8 AS first,
         max(greatest(requested_at, started_at, ended_at))::float8 AS last
       FROM task JOIN task_request ON task_request.task_seq = task.seq`,
    );
    expect(times[0]?.first).toBeGreaterThan(beganAtMs);
    expect(times[0]?.last).toBeLessThan(Date.now() + 1000);
    const listed = (await (await fetch(`${next.baseUrl}/api/x/hubs`)).json()) as {
      content: { id: string; status: string }[];
    };
    const live = listed.content.filter(({ id }) => others.some(({ hubId }) => hubId === id));
    expect(live.map(({ status }) => status)).toEqual(['UP', 'UP']);
    expect(workers.violations).toEqual([]);
  });

  it('refuse one on a copy of the data folder of another, in words, while that runs', async () => {
    const [one, two] = (await cluster.startAll(['one', 'two'])) as [ClusterHub, ClusterHub];
    const copy = join(folder.path, 'copy');
    await cp(join(one.folder, 'hub'), join(copy, 'hub'), { recursive: true });
    const config = JSON.parse(await readFile(join(one.folder, 'hub.yaml'), 'utf8')) as object;
    const file = join(copy, 'hub.yaml');
    await writeFile(file, JSON.stringify({ ...config, dataDir: join(copy, 'hub'), server: { port: 0 } }));
    const second = startProgram('hub/bin/workbench-hub.js', ['--config', file], copy);
    expect(await second.ended).not.toBe(0);
    const said = [...second.printed, ...second.lines.map(({ msg }) => msg)].join('\n');
    expect(said).toMatch(
      new RegExp(
        `another hub with the same id ${one.hubId} runs on the database .*: each hub needs a dataDir of its own; ` +
          'remove the file hub-id from a dataDir that is a copy',
      ),
    );
    const worker = await workers.join(one, 'agent-of-one');
    const ids = [await createTask(one), await createTask(two)].map(String);
    await expectEachOnce(ids, two);
    expect(worker.heard.filter(({ type }) => type === 'assign')).toHaveLength(2);
  });
});
