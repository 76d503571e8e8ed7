/** Studies (contract 12.45): points become tasks late, and each has one outcome. */
import type { AttemptReport } from '@workbench-hub/shared/domain/attempt';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { eventually } from '../support/eventually.js';
import { api, hub, hubForEachTest, replaceHub } from '../support/hubs/hub-for-tests.js';
import { base64, expectError } from '../support/interface/api.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const STUDIES = '/api/x/studies';
const GRID = { kind: 'GRID', levels: [{ variable: 'speed', values: [500, 1000, 1500] }] };
const STRESS = {
  name: 'stress',
  source: { kind: 'FILE', path: 'result.json' },
  reader: { kind: 'JSON_PATH', path: '$.stress' },
};

hubForEachTest();
let agents: FakeAgent[] = [];
afterEach(async () => {
  for (const agent of agents) await agent.leave();
  agents = [];
});

interface Shown {
  readonly id: string;
  readonly state: string;
  readonly message?: string;
  readonly points: Readonly<Record<string, number>>;
}

interface ShownPoint {
  readonly number: number;
  readonly tries: number;
  readonly taskId: string;
  readonly variables: Readonly<Record<string, number | string>>;
  readonly outcome?: string;
  readonly cause?: string;
  readonly message?: string;
  readonly values: Readonly<Record<string, number | string>>;
  readonly missing?: Readonly<Record<string, string>>;
}

const requestOf = (fields: object = {}) => ({
  name: 'bearing',
  inputScripts: [{ content: base64('run()') }],
  variablesToInject: [{ key: 'material', value: 'steel' }],
  variables: [{ name: 'speed', unit: '1/min', lower: 0, upper: 5000 }],
  plan: GRID,
  values: [STRESS],
  ...fields,
});

async function create(fields: object = {}): Promise<string> {
  const answer = await api.call('POST', STUDIES, { json: requestOf(fields) });
  expect(answer.status, answer.text).toBe(201);
  return (answer.body as unknown as Shown).id;
}

const shown = async (id: string) => (await api.get(`${STUDIES}/${id}`)).body as unknown as Shown;

const pointsOf = async (id: string, query = '') =>
  ((await api.get(`${STUDIES}/${id}/points${query}`)).body as unknown as { points: ShownPoint[] }).points;

const change = (id: string, what: string, json?: object) =>
  api.call('POST', `${STUDIES}/${id}/${what}`, json === undefined ? {} : { json });

/** Number of tasks of the hub. */
const tasks = async () => ((await api.get('/api/x/tasks?limit=1')).body as { total: number }).total;

/** Waits until a study is in this state without open points. */
const settled = (id: string, state: string) =>
  eventually(async () => {
    const study = await shown(id);
    return study.state === state && study.points['open'] === 0 ? study : undefined;
  });

interface Run {
  readonly speed: string;
  readonly variables: readonly { readonly key: string; readonly value: string }[];
  readonly report: (outcome: AttemptReport['outcome'], more?: Partial<AttemptReport>) => Promise<void>;
  readonly succeed: (result: string) => Promise<void>;
}

/** An agent that hands each attempt to `work`. */
async function agentThat(work: (run: Run) => Promise<void>, instances = 1): Promise<FakeAgent> {
  const agent: FakeAgent = await FakeAgent.join(hub, {
    instances: Array.from({ length: instances }, (_, index) => ({ id: `sim-${index + 1}` })),
    onHeard(message) {
      if (message.type !== 'assign') return;
      const { ref, job } = message;
      const variables = job.type === 'EXECUTE_BATCH_JOB' ? job.variables : [];
      const report: Run['report'] = async (outcome, more = {}) => {
        this.report(ref, outcome, more);
      };
      void work({
        speed: variables.find(({ key }) => key === 'speed')?.value ?? '',
        variables,
        report,
        succeed: async (result) => {
          const file = await this.upload(Buffer.from(result));
          await report('OK', { outputFiles: [{ path: 'result.json', ...file }] });
        },
      });
    },
  });
  agents.push(agent);
  return agent;
}

it('runs every point with its variables, and keeps the values that it read', async () => {
  const seen: Run['variables'][] = [];
  await agentThat(async (run) => {
    seen.push(run.variables);
    await run.succeed(JSON.stringify({ stress: Number(run.speed) / 4 }));
  });
  const id = await create();
  expect(await settled(id, 'FINISHED')).toMatchObject({
    points: { total: 3, waiting: 0, open: 0, FINISHED: 3, SOLVER_FAILED: 0 },
  });
  expect(await pointsOf(id)).toMatchObject([
    { number: 1, tries: 1, variables: { speed: 500 }, outcome: 'FINISHED', values: { stress: 125 } },
    { number: 2, tries: 1, variables: { speed: 1000 }, outcome: 'FINISHED', values: { stress: 250 } },
    { number: 3, tries: 1, variables: { speed: 1500 }, outcome: 'FINISHED', values: { stress: 375 } },
  ]);
  expect(seen).toContainEqual([
    { key: 'material', value: 'steel' },
    { key: 'speed', value: '500' },
  ]);
});

it('gives each failed point the outcome that tells the solver from the infrastructure', async () => {
  await replaceHub({ config: { tasks: { maxAttempts: 2 } } });
  await agentThat(async (run) => {
    if (run.speed === '500') await run.report('ERROR', { message: 'the solution diverged' });
    else if (run.speed === '1000') await run.report('INSTANCE_LOST', { message: 'signal 11' });
    else await run.succeed('{"stress": "NaN"}');
  });
  const id = await create({ success: [{ value: 'stress', upper: 400 }] });
  expect((await settled(id, 'FINISHED')).points).toMatchObject({
    SOLVER_FAILED: 1,
    INFRASTRUCTURE: 1,
    RULE_FAILED: 1,
  });
  const points = await pointsOf(id);
  expect(points).toMatchObject([
    { outcome: 'SOLVER_FAILED', message: 'the solution diverged', values: {} },
    { outcome: 'INFRASTRUCTURE', cause: 'CRASH', values: {} },
    { outcome: 'RULE_FAILED', message: 'stress is not a number', values: { stress: 'NaN' } },
  ]);
  expect(points[1]?.message).toContain('the workbench instance died 2 times');
});

it('says why a value is missing, and pauses when the first results all lack it', async () => {
  await agentThat((run) => (run.speed === '500' ? run.report('OK') : run.succeed('{"strain": 1}')));
  const id = await create();
  expect((await settled(id, 'PAUSED')).message).toBe(
    'paused by itself at its first results, stress is missing: the job left no file result.json; resume it to go on nevertheless',
  );
  expect((await change(id, 'resume')).body).not.toHaveProperty('message');
  await settled(id, 'FINISHED');
  const [first, second] = await pointsOf(id);
  expect(first?.missing).toEqual({ stress: 'the job left no file result.json' });
  expect(second?.missing?.['stress']).toContain('$.stress');
});

it('tries points again that one chooses, under their numbers and with another task', async () => {
  let failures = 1;
  await agentThat((run) =>
    run.speed === '1000' && failures-- > 0 ? run.report('ERROR') : run.succeed('{"stress": 1}'),
  );
  const id = await create();
  await settled(id, 'FINISHED');
  const [failed] = await pointsOf(id, '?outcome=SOLVER_FAILED');
  expect(failed).toMatchObject({ number: 2, tries: 1 });
  expect((await change(id, 'retry', { outcomes: ['SOLVER_FAILED'] })).body).toEqual({ retried: 1 });
  expect((await settled(id, 'FINISHED')).points['FINISHED']).toBe(3);
  const again = (await pointsOf(id))[1];
  expect(again).toMatchObject({ number: 2, tries: 2, outcome: 'FINISHED' });
  expect(again?.taskId).not.toBe(failed?.taskId);
  expect((await api.get(`/api/x/tasks/${again?.taskId}`)).body).toMatchObject({ name: 'bearing #2' });
});

it('makes tasks of a few points only, and of no more while it is paused', async () => {
  await replaceHub({ config: { studies: { openPoints: 4 } } });
  const levels = [{ variable: 'speed', from: 1, to: 1000, step: 1 }];
  const id = await create({ plan: { kind: 'GRID', levels } });
  await eventually(async () => (await shown(id)).points['open'] === 4);
  expect((await shown(id)).points).toMatchObject({ total: 1000, waiting: 996 });
  await eventually(async () => (await tasks()) === 4);
  expect((await change(id, 'pause')).body).toMatchObject({ state: 'PAUSED' });
  const done: string[] = [];
  await agentThat(async (run) => {
    done.push(run.speed);
    await run.succeed('{"stress": 1}');
  });
  expect((await settled(id, 'PAUSED')).points).toMatchObject({ FINISHED: 4, waiting: 996 });
  expect((await change(id, 'resume')).body).toMatchObject({ state: 'RUNNING' });
  await eventually(async () => ((await shown(id)).points['FINISHED'] ?? 0) > 20);
  expect(new Set(done).size).toBe(done.length);
});

it('lets at most as many points wait as run, or four, so that a task of somebody else is soon next', async () => {
  const runs: Run[] = [];
  const work = async (run: Run) => void runs.push(run);
  await agentThat(work, 6);
  const levels = [{ variable: 'speed', from: 1, to: 1000, step: 1 }];
  const id = await create({ plan: { kind: 'GRID', levels }, values: [] });
  const waiting = async () => Number((await api.get('/api/x/tasks?limit=1&status=WAITING')).body['total']);
  // Several begin at a time, when at most half of them wait.
  await eventually(async () => runs.length === 6 && (await waiting()) > 3);
  expect(await waiting()).toBeLessThanOrEqual(6);
  expect((await shown(id)).points['open']).toBeLessThanOrEqual(12);
});

it('ends its tasks when it is stopped, and goes on where it was', async () => {
  const id = await create({ classifiers: [{ type: 'VERSION', value: 'none' }] });
  await eventually(async () => (await shown(id)).points['open'] === 3);
  expect((await change(id, 'stop')).body).toMatchObject({ state: 'STOPPED' });
  expect((await settled(id, 'STOPPED')).points).toMatchObject({ CANCELED: 3 });
  // They wait until the study is resumed.
  expect((await change(id, 'retry', { outcomes: ['CANCELED'] })).body).toEqual({ retried: 3 });
  expect((await shown(id)).points).toMatchObject({ waiting: 3, open: 0, CANCELED: 0 });
  expect((await change(id, 'resume')).status).toBe(200);
  await eventually(async () => (await shown(id)).points['open'] === 3);
  expect((await pointsOf(id)).map(({ tries }) => tries)).toEqual([2, 2, 2]);
});

it('stops by itself after as many failures as it names', async () => {
  await replaceHub({ config: { studies: { openPoints: 1 } } });
  await agentThat((run) => run.report('ERROR'));
  const levels = [{ variable: 'speed', from: 1, to: 100, step: 1 }];
  const id = await create({ plan: { kind: 'GRID', levels }, stopAfterFailures: 2 });
  const { message, points } = await settled(id, 'STOPPED');
  expect(message).toBe('stopped by itself: 2 points failed (stopAfterFailures: 2)');
  expect(points).toMatchObject({ SOLVER_FAILED: 2 });
});

it('counts failures afresh when it is resumed', async () => {
  await replaceHub({ config: { studies: { openPoints: 1 } } });
  await agentThat((run) => run.report('ERROR'));
  const levels = [{ variable: 'speed', from: 1, to: 100, step: 1 }];
  const id = await create({ plan: { kind: 'GRID', levels }, stopAfterFailures: 2 });
  await settled(id, 'STOPPED');
  expect((await change(id, 'resume')).body).toMatchObject({ state: 'RUNNING' });
  const { message, points } = await settled(id, 'STOPPED');
  expect(message).toBe('stopped by itself: 2 points failed (stopAfterFailures: 2)');
  expect(points).toMatchObject({ SOLVER_FAILED: 4 });
});

it('stops by itself at the point that reaches the wanted values', async () => {
  await replaceHub({ config: { studies: { openPoints: 1 } } });
  await agentThat((run) => run.succeed(`{"stress": ${10 * Number(run.speed)}}`));
  const levels = [{ variable: 'speed', from: 1, to: 100, step: 1 }];
  const stopWhen = [{ value: 'stress', lower: 45, upper: 1000 }, { value: 'stress' }];
  const id = await create({ plan: { kind: 'GRID', levels }, stopWhen });
  const { message, points } = await settled(id, 'STOPPED');
  expect(message).toBe('stopped by itself: point 5 has reached the values of stopWhen');
  expect(points).toMatchObject({ FINISHED: 5 });
  expect(await shown(id)).toMatchObject({ stopWhen });
  // Resumed, it goes on to the next point that reaches them.
  await change(id, 'resume');
  expect((await settled(id, 'STOPPED')).points).toMatchObject({ FINISHED: 6 });
});

it('stops by itself at a reused point that reaches the wanted values', async () => {
  await agentThat((run) => run.succeed(`{"stress": ${run.speed}}`));
  const first = await create({});
  await settled(first, 'FINISHED');
  const id = await create({ reuse: true, stopWhen: [{ value: 'stress', lower: 1000 }] });
  const { message, points } = await settled(id, 'STOPPED');
  expect(message).toBe('stopped by itself: point 2 has reached the values of stopWhen');
  expect(points).toMatchObject({ REUSED: 3 });
});

it('stops by itself after its time, and has as much again when it is resumed', async () => {
  const id = await create({ classifiers: [{ type: 'VERSION', value: 'none' }], stopAfter: 1 });
  // Points that have not begun in time keep waiting.
  const canceledOrWaiting = ({ points }: Shown) => (points['CANCELED'] ?? 0) + (points['waiting'] ?? 0);
  const stopped = await settled(id, 'STOPPED');
  expect(stopped.message).toBe('stopped by itself after 1 s (stopAfter)');
  expect(canceledOrWaiting(stopped)).toBe(3);
  await change(id, 'retry', { outcomes: ['CANCELED'] });
  const resumed = await change(id, 'resume');
  expect(resumed.body).toMatchObject({ state: 'RUNNING', stopAfter: 1 });
  const again = await settled(id, 'STOPPED');
  expect(again.message).toBe('stopped by itself after 1 s (stopAfter)');
  expect(canceledOrWaiting(again)).toBe(3);
});

describe('a request with an idempotency key', () => {
  const once = (path: string, json: object, key = 'key-1') =>
    api.call('POST', path, { json, headers: { 'Idempotency-Key': key } });

  it('creates one study however often it is sent, and refuses another one', async () => {
    const all = await Promise.all([once(STUDIES, requestOf()), once(STUDIES, requestOf())]);
    expect(all.map(({ status }) => status)).toEqual([201, 201]);
    const [one, two] = all.map(({ body }) => (body as unknown as Shown).id);
    expect(one).toBe(two);
    const replayed = all.map(({ headers }) => headers.get('idempotency-replayed'));
    expect(replayed.sort()).toEqual(['true', null].sort());
    expect((await api.get(STUDIES)).body).toMatchObject({ studies: [{ id: one }] });
    const other = await once(STUDIES, requestOf({ stopAfter: 7 }));
    expect(other.status).toBe(422);
    expect(other.text).toContain(`study ${one} was created with this key by another request`);
    const another = await once(STUDIES, requestOf(), 'key-2');
    expect((another.body as unknown as Shown).id).not.toBe(one);
  });

  it('adds points once however often it is sent, and refuses others', async () => {
    const id = await create({ plan: { kind: 'OPEN' } });
    const plan = { kind: 'LIST', points: [{ speed: 1 }, { speed: 2 }] };
    const path = `${STUDIES}/${id}/points`;
    const all = await Promise.all([once(path, { plan }), once(path, { plan })]);
    expect(all.map(({ status }) => status)).toEqual([200, 200]);
    expect((await once(path, { plan })).headers.get('idempotency-replayed')).toBe('true');
    expect((await shown(id)).points).toMatchObject({ total: 2 });
    const other = await once(path, { plan: { kind: 'LIST', points: [{ speed: 3 }] } });
    expect(other.status).toBe(422);
    expect((await once(path, { plan }, 'key-2')).status).toBe(200);
    expect((await shown(id)).points).toMatchObject({ total: 4 });
  });
});

it('of an optimizer stays open, and takes points in batches', async () => {
  await agentThat((run) => run.succeed(`{"stress": ${run.speed}}`));
  const id = await create({ plan: { kind: 'OPEN' } });
  for (const [at, speed] of [10, 20, 30].entries()) {
    const plan = { kind: 'LIST', points: [{ speed }] };
    expect((await change(id, 'points', { plan })).status).toBe(200);
    const [point] = await eventually(async () => {
      const points = await pointsOf(id, `?after=${at}&outcome=FINISHED`);
      return points.length > 0 ? points : undefined;
    });
    expect(point).toMatchObject({ number: at + 1, values: { stress: speed } });
  }
  expect((await shown(id)).state).toBe('RUNNING');
  expect((await api.call('DELETE', `${STUDIES}/${id}`)).status).toBe(409);
  await change(id, 'stop');
  expect((await api.call('DELETE', `${STUDIES}/${id}`)).status).toBe(204);
  expect((await api.get(`${STUDIES}/${id}`)).status).toBe(404);
});

it('outlives the hub, and runs no point twice', async () => {
  const { path: dataDir, remove } = await temporaryFolder();
  onTestFinished(remove);
  await replaceHub({ dataDir, config: { studies: { openPoints: 5 } } });
  const runs = new Map<string, number>();
  const work = async (run: Run) => {
    runs.set(run.speed, (runs.get(run.speed) ?? 0) + 1);
    await run.succeed('{"stress": 1}');
  };
  await agentThat(work, 3);
  const levels = [{ variable: 'speed', from: 1, to: 60, step: 1 }];
  const id = await create({ plan: { kind: 'GRID', levels } });
  await eventually(async () => ((await shown(id)).points['FINISHED'] ?? 0) >= 15);
  await agents.pop()?.leave();
  await replaceHub({ dataDir, config: { studies: { openPoints: 5 } } });
  await agentThat(work, 3);
  expect((await settled(id, 'FINISHED')).points).toMatchObject({ FINISHED: 60 });
  expect(runs.size).toBe(60);
  expect(await tasks()).toBe(60);
});

it('keeps the outcome of a point whose task was canceled and deleted', async () => {
  const id = await create({ classifiers: [{ type: 'VERSION', value: 'none' }] });
  await eventually(async () => (await shown(id)).points['open'] === 3);
  const [point] = await pointsOf(id);
  const task = `/api/2.0/workbench/task/${point?.taskId}`;
  await eventually(async () => (await api.call('DELETE', `${task}/cancel`)).status === 204);
  await eventually(async () => (await shown(id)).points['CANCELED'] === 1);
  expect((await api.call('DELETE', `${task}/delete`)).status).toBe(204);
  expect((await pointsOf(id, '?outcome=CANCELED'))[0]).toMatchObject({ number: 1 });
});

describe('is refused, with nothing half made,', () => {
  it.each([
    [{ name: '' }, 'name: must be at least 1 characters long'],
    [{ variables: [] }, 'variables: must be at least 1 items long'],
    [{ variables: [{ name: 'a b' }] }, 'variables[0].name: must be an ECMAScript identifier'],
    [
      { variables: [{ name: 'material' }] },
      'variables[0].name: must not be in variablesToInject, too: material',
    ],
    [
      { variables: [{ name: 'speed', lower: 2, upper: 1 }] },
      'variables[0].upper: must be at least 2, the lower bound',
    ],
    [{ plan: { kind: 'GUESS' } }, 'plan.kind: must have a kind: LIST, TABLE, GRID'],
    [
      { plan: { kind: 'GRID', levels: [{ variable: 'speed' }] } },
      'plan.levels[0]: must have, beside variable, either values',
    ],
    [{ plan: { kind: 'GRID', levels: [{ variable: 'load', values: [1] }] } }, 'plan.levels[0].variable'],
    [
      { plan: { kind: 'LIST', points: [{ speed: 'fast' }] } },
      'plan.points[0].speed: must be a finite number',
    ],
    [
      { plan: { kind: 'TABLE', csv: 'speed\n1\n"2,5"\n' } },
      'plan.csv: row 3, column speed: "2,5" is no number; the decimal sign of this table is "."',
    ],
    [{ plan: { kind: 'TABLE', csv: 'speed\n"1\n' } }, 'plan.csv: must be CSV (RFC 4180)'],
    [
      { plan: { kind: 'GRID', levels: [{ variable: 'speed', from: 0, to: 1000, step: 0.001 }] } },
      'at most 100000 are allowed (studies.maxPoints)',
    ],
    [{ values: [STRESS, STRESS] }, 'values[1].name: is given more than once'],
    [{ values: [{ ...STRESS, name: 'speed' }] }, 'values[0].name: is the name of a variable'],
    [{ values: [{ ...STRESS, reader: { kind: 'JSON_PATH', path: 'stress' } }] }, 'values[0].reader.path'],
    [{ success: [{ value: 'strain' }] }, 'success[0].value: must be the name of a value; there is no strain'],
    [{ classifiers: [{ type: 'PRIORITY', value: 'SOON' }] }, 'classifiers[0].value'],
    [{ inputScripts: [{ content: '*' }] }, 'inputScripts[0].content'],
  ])('%j', async (fields, message) => {
    const answer = await api.call('POST', STUDIES, { json: requestOf(fields) });
    expect(answer.status, answer.text).toBe(400);
    expect(answer.body['message']).toContain(message);
    expect((await api.get(STUDIES)).body['studies']).toEqual([]);
  });
});

it('takes its points from a table, with semicolons and decimal commas', async () => {
  const plan = {
    kind: 'TABLE',
    csv: '\ufeffload;speed\r\nhigh;0,5\r\nlow;1500\r\n',
    delimiter: ';',
    decimal: ',',
  };
  await agentThat((run) => run.succeed('{"stress": 1}'));
  const id = await create({ plan, variables: [{ name: 'speed' }, { name: 'load', kind: 'TEXT' }] });
  await settled(id, 'FINISHED');
  expect((await pointsOf(id)).map(({ variables }) => variables)).toEqual([
    { speed: 0.5, load: 'high' },
    { speed: 1500, load: 'low' },
  ]);
});

it('lists studies newest first, by name, and goes on where a response ended', async () => {
  const ids: string[] = [];
  for (const name of ['a', 'b', 'a']) ids.unshift(await create({ name }));
  const list = async (query: string) => {
    const { studies, next } = (await api.get(`${STUDIES}${query}`)).body as unknown as {
      studies: Shown[];
      next?: string;
    };
    return { ids: studies.map((study) => study.id), next };
  };
  expect(await list('')).toEqual({ ids, next: undefined });
  expect(await list('?name=a')).toEqual({ ids: [ids[0], ids[2]], next: undefined });
  const first = await list('?limit=2');
  expect(first).toEqual({ ids: ids.slice(0, 2), next: expect.any(String) });
  expect(await list(`?limit=2&after=${first.next}`)).toEqual({ ids: ids.slice(2), next: undefined });
  // The place stays when the study before it is deleted.
  expect((await api.call('POST', `${STUDIES}/${ids[1]}/stop`)).status).toBe(200);
  await eventually(async () => (await api.call('DELETE', `${STUDIES}/${ids[1]}`)).status === 204);
  expect(await list(`?limit=2&after=${first.next}`)).toEqual({ ids: ids.slice(2), next: undefined });
  const none = await api.get(`${STUDIES}?after=none`);
  expectError(none, 400, STUDIES, 'after: must be the "next" of an earlier response');
});
