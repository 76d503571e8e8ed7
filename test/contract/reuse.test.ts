/** Reuse of earlier results by studies (contract 12.45). */
import { afterEach, expect, it, onTestFinished } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { eventually } from '../support/eventually.js';
import { api, hub, hubForEachTest, replaceHub } from '../support/hubs/hub-for-tests.js';
import { base64 } from '../support/interface/api.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const STUDIES = '/api/x/studies';
const INVALIDATIONS = '/api/x/invalidations';
const BUILD = { version: '9.1.0', revision: '4711' };

hubForEachTest();
let agents: FakeAgent[] = [];
afterEach(async () => {
  for (const agent of agents) await agent.leave();
  agents = [];
});

interface ShownPoint {
  readonly number: number;
  readonly taskId: string;
  readonly outcome?: string;
  readonly reused?: boolean;
  readonly notReused?: string;
  readonly message?: string;
  readonly values: Readonly<Record<string, number | string>>;
}

const stress = (name = 'stress') => ({
  name,
  source: { kind: 'FILE', path: 'result.json' },
  reader: { kind: 'JSON_PATH', path: `$.${name}` },
});

const jobOf = (script = 'run()', material = 'steel') => ({
  inputScripts: [{ content: base64(script) }],
  variablesToInject: [{ key: 'material', value: material }],
});

const gridOf = (...speeds: readonly number[]) => ({
  kind: 'GRID',
  levels: [{ variable: 'speed', values: speeds }],
});

/** A study that reuses results, with these fields. */
async function study(fields: object = {}): Promise<string> {
  const json = {
    name: 'bearing',
    ...jobOf(),
    variables: [{ name: 'speed' }],
    plan: gridOf(500, 1000, 1500),
    values: [stress()],
    reuse: true,
    ...fields,
  };
  const answer = await api.call('POST', STUDIES, { json });
  expect(answer.status, answer.text).toBe(201);
  return String(answer.body['id']);
}

/** The points of a study that has finished. */
async function finished(id: string): Promise<readonly ShownPoint[]> {
  await eventually(async () => (await api.get(`${STUDIES}/${id}`)).body['state'] === 'FINISHED');
  return ((await api.get(`${STUDIES}/${id}/points`)).body as unknown as { points: ShownPoint[] }).points;
}

const outcomes = (points: readonly ShownPoint[]) => points.map(({ outcome }) => outcome);

/** An agent that solves each job at once; resolves with the speeds that it has run. */
async function solver(build = BUILD, id = 'agent-1'): Promise<string[]> {
  const ran: string[] = [];
  const agent: FakeAgent = await FakeAgent.join(hub, {
    id,
    instances: [{ id: `sim-${build.revision}`, ...build }],
    onHeard(message) {
      if (message.type !== 'assign' || message.job.type !== 'EXECUTE_BATCH_JOB') return;
      const speed = message.job.variables.find(({ key }) => key === 'speed')?.value ?? '';
      ran.push(speed);
      void this.upload(Buffer.from(`{"stress": ${Number(speed) / 4}, "mass": 2}`)).then((file) =>
        this.report(message.ref, Number(speed) < 0 ? 'ERROR' : 'OK', {
          outputFiles: [{ path: 'result.json', ...file }],
        }),
      );
    },
  });
  agents.push(agent);
  return ran;
}

it('runs no point again of an equal study, and names the task whose result each has', async () => {
  const ran = await solver();
  const first = await finished(await study());
  expect(outcomes(first)).toEqual(['FINISHED', 'FINISHED', 'FINISHED']);
  expect(first[0]?.notReused).toBe('there is no earlier result with any of its files');
  const again = await finished(await study());
  expect(ran).toHaveLength(3);
  expect(again).toEqual(
    first.map(({ number, taskId, values }) =>
      expect.objectContaining({ number, taskId, values, outcome: 'REUSED', reused: true }),
    ),
  );
  // The third finds those of the second, whose results are those of the first.
  const third = await finished(await study());
  expect(third.map(({ taskId }) => taskId)).toEqual(first.map(({ taskId }) => taskId));
});

it('runs what is new only, and says which input differs', async () => {
  const ran = await solver();
  const [first] = await finished(await study());
  const changed = await finished(await study({ plan: gridOf(500, 750) }));
  expect(outcomes(changed)).toEqual(['REUSED', 'FINISHED']);
  expect(changed[1]?.notReused).toMatch(
    /^speed is 750 instead of (?:500|1000) in the nearest earlier result, task [\w-]{36}$/,
  );
  expect(ran.slice(3)).toEqual(['750']);
  // Within one study, too.
  const twice = await finished(await study({ plan: gridOf(500, 2000) }));
  expect([twice[0]?.taskId, outcomes(twice)]).toEqual([first?.taskId, ['REUSED', 'FINISHED']]);
  const [otherMaterial] = await finished(await study({ ...jobOf('run()', 'brass') }));
  expect(otherMaterial?.notReused).toBe(
    'variable material is brass instead of steel in the nearest earlier job, study "bearing"',
  );
  const [narrower] = await finished(await study({ classifiers: [{ type: 'VERSION', value: '9.*' }] }));
  expect(narrower?.notReused).toMatch(/^the required version is 9\.\* instead of .+, study "bearing"$/);
});

it('compares files by their content', async () => {
  await solver();
  const additionalFiles = [{ filename: 'mesh.inp', content: base64('mesh') }];
  await finished(await study({ additionalFiles }));
  const [otherScript] = await finished(await study({ ...jobOf('run(2)'), additionalFiles }));
  expect(otherScript?.notReused).toMatch(/^scripts\[0\] is [0-9a-f]{12} instead of [0-9a-f]{12} in /);
  const [equal] = await finished(await study({ additionalFiles }));
  expect(equal?.outcome).toBe('REUSED');
});

it('reads values that the earlier study has not read, and applies its own conditions', async () => {
  const ran = await solver();
  await finished(await study());
  const points = await finished(
    await study({ values: [stress('mass'), stress()], success: [{ value: 'stress', upper: 300 }] }),
  );
  expect(points.map(({ values }) => values)).toEqual([
    { mass: 2, stress: 125 },
    { mass: 2, stress: 250 },
    { mass: 2, stress: 375 },
  ]);
  expect(outcomes(points)).toEqual(['REUSED', 'REUSED', 'RULE_FAILED']);
  expect(points[2]).toMatchObject({ reused: true, message: 'stress is 375, more than 300' });
  expect(ran).toHaveLength(3);
});

it('pauses when the first reused results all lack a value, and goes on when it is resumed', async () => {
  await solver();
  await finished(await study());
  const id = await study({ values: [{ ...stress(), source: { kind: 'FILE', path: 'absent.json' } }] });
  await eventually(async () => (await api.get(`${STUDIES}/${id}`)).body['state'] === 'PAUSED');
  const { body } = await api.post(`${STUDIES}/${id}/resume`, {});
  expect(body).toMatchObject({ state: 'RUNNING' });
  expect((await finished(id)).map(({ reused }) => reused)).toEqual([true, true, true]);
});

it('reuses results of tasks, and never a failure', async () => {
  const ran = await solver();
  const task = async (speed: number) => {
    const { inputScripts, variablesToInject } = jobOf();
    const variables = [...variablesToInject, { key: 'speed', value: String(speed) }];
    const json = { inputScripts, variablesToInject: variables };
    const { body } = await api.call('POST', '/api/2.0/workbench/task/execute-batch-job/create', { json });
    const id = String(body['id']);
    await eventually(async () => (await api.get(`/api/x/tasks/${id}`)).body['endedAt'] !== undefined);
    return id;
  };
  const ok = await task(500);
  await task(-1);
  const points = await finished(await study({ plan: gridOf(500, -1) }));
  expect(points[0]).toMatchObject({ outcome: 'REUSED', taskId: ok, values: { stress: 125 } });
  expect(points[1]).toMatchObject({ outcome: 'SOLVER_FAILED' });
  expect(ran).toEqual(['500', '-1', '-1']);
});

it('reuses a result that did not meet the conditions of another study', async () => {
  const ran = await solver();
  const { inputScripts, variablesToInject } = jobOf();
  const variables = [...variablesToInject, { key: 'speed', value: '500' }];
  const json = { inputScripts, variablesToInject: variables };
  const { body } = await api.call('POST', '/api/2.0/workbench/task/execute-batch-job/create', { json });
  const taskId = String(body['id']);
  await eventually(async () => (await api.get(`/api/x/tasks/${taskId}`)).body['endedAt'] !== undefined);
  const strict = { plan: gridOf(500), success: [{ value: 'stress', upper: 1 }] };
  expect(await finished(await study(strict))).toMatchObject([{ outcome: 'RULE_FAILED', taskId }]);
  expect(await finished(await study({ plan: gridOf(500) }))).toMatchObject([{ outcome: 'REUSED', taskId }]);
  expect(ran).toHaveLength(1);
});

it('reuses results of the present revision only, and none of a deleted task', async () => {
  await solver();
  const [first, second] = await finished(await study({ plan: gridOf(500, 1000) }));
  await agents[0]?.leave();
  agents = [];
  const { status } = await api.call('DELETE', `/api/2.0/workbench/task/${second?.taskId}/delete`);
  expect(status).toBe(204);
  const ran = await solver({ version: '9.1.0', revision: '4712' });
  const points = await finished(await study({ plan: gridOf(500, 1000) }));
  expect(points.map(({ notReused }) => notReused)).toEqual([
    `the result of task ${first?.taskId} cannot be reused: it is of version 9.1.0, revision 4711, and the instances that fit are of ` +
      'version 9.1.0, revision 4712',
    `the result of task ${second?.taskId} cannot be reused: it has been deleted`,
  ]);
  expect(ran).toEqual(['500', '1000']);
});

it('reuses no result that an earlier default version required', async () => {
  const { path: dataDir, remove } = await temporaryFolder();
  onTestFinished(remove);
  await replaceHub({ dataDir });
  await solver();
  const [first] = await finished(await study({ plan: gridOf(500) }));
  await agents.pop()?.leave();
  await replaceHub({ dataDir, config: { tasks: { defaultVersion: '9.*' } } });
  await solver();
  const [again] = await finished(await study({ plan: gridOf(500) }));
  expect(again?.outcome).toBe('FINISHED');
  expect(again?.notReused).toBe(
    `the result of task ${first?.taskId} cannot be reused: it required any version, by a default that has changed since`,
  );
});

it('computes a point again that is retried', async () => {
  const ran = await solver();
  await finished(await study());
  const id = await study();
  const [reused] = await finished(id);
  const retried = await api.call('POST', `${STUDIES}/${id}/retry`, { json: { outcomes: ['REUSED'] } });
  expect(retried.body).toEqual({ retried: 3 });
  const points = await finished(id);
  expect(outcomes(points)).toEqual(['FINISHED', 'FINISHED', 'FINISHED']);
  expect(points[0]?.taskId).not.toBe(reused?.taskId);
  expect(points[0]).not.toHaveProperty('reused');
  expect(ran).toHaveLength(6);
});

it('reuses no result that was made invalid, by task, instance or revision, until that is taken back', async () => {
  await solver();
  const points = await finished(await study());
  const missOf = async (json: object) => {
    const { status, body } = await api.call('POST', INVALIDATIONS, { json });
    expect(status).toBe(201);
    // The newest result with equal inputs is valid.
    const [again] = await finished(await study({ plan: gridOf(500) }));
    return { id: String(body['id']), again };
  };
  const byTask = await missOf({ kind: 'TASK', taskId: points[0]?.taskId, note: 'a wrong mesh' });
  expect(byTask.again?.notReused).toMatch(
    /cannot be reused: results up to \S+ are invalid, that of this task$/,
  );
  const byInstance = await missOf({ kind: 'INSTANCE', instanceId: 'sim-4711' });
  expect(byInstance.again?.notReused).toMatch(/are invalid, those of instance sim-4711$/);
  const byBuild = await missOf({ kind: 'REVISION', ...BUILD });
  expect(byBuild.again?.notReused).toMatch(/are invalid, those of version 9\.1\.0, revision 4711$/);
  const [valid] = await finished(await study({ plan: gridOf(500) }));
  expect(valid).toMatchObject({ outcome: 'REUSED', taskId: byBuild.again?.taskId });
  expect((await api.get(INVALIDATIONS)).body['invalidations']).toMatchObject([
    { id: byBuild.id, ...BUILD },
    { id: byInstance.id, instanceId: 'sim-4711' },
    { id: byTask.id, taskId: points[0]?.taskId, note: 'a wrong mesh' },
  ]);
  for (const { id } of [byBuild, byInstance]) {
    expect((await api.call('DELETE', `${INVALIDATIONS}/${id}`)).status).toBe(204);
  }
  const [, other] = await finished(await study({ plan: gridOf(500, 1000) }));
  expect(other).toMatchObject({ outcome: 'REUSED', taskId: points[1]?.taskId });
});

it.each([
  [{}, 'must have a kind: TASK, INSTANCE or REVISION'],
  [{ kind: 'REVISION', version: '9' }, 'revision: is required'],
  [{ kind: 'INSTANCE', instanceId: '' }, 'instanceId: must be at least 1 characters long'],
])('refuses the invalidation %j', async (json, message) => {
  const { status, text } = await api.call('POST', INVALIDATIONS, { json });
  expect([status, text]).toEqual([400, expect.stringContaining(message)]);
});

it('refuses to reuse results of a model that the hub does not know', async () => {
  const parameters = [{ key: 'pathToFile', value: '/models/gear.xml' }];
  const json = {
    ...{ name: 'bearing', ...jobOf(), inputModelReference: { type: 'LOCAL_FILESYSTEM', parameters } },
    reuse: true,
    ...{ variables: [{ name: 'speed' }], plan: gridOf(500) },
  };
  const { status, text } = await api.call('POST', STUDIES, { json });
  expect([status, text]).toEqual([400, expect.stringContaining('reuse: must not be true with a model')]);
});
