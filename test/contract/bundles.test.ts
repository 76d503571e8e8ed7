/** Points of a study that run as one task (contract 12.48). */
import type { BatchJob } from '@workbench-hub/shared/domain/job';
import { lineOfPoint, POINTS_FILE, type PointResult } from '@workbench-hub/shared/domain/point-results';
import { afterEach, describe, expect, it } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { eventually } from '../support/eventually.js';
import { api, hub, hubForEachTest } from '../support/hubs/hub-for-tests.js';
import { base64 } from '../support/interface/api.js';

const STUDIES = '/api/x/studies';
const POINTS = 200;
const DOUBLE = {
  name: 'double',
  source: { kind: 'FILE', path: 'double.txt' },
  reader: { kind: 'REGULAR_EXPRESSION', pattern: '\\S+' },
};

hubForEachTest();
let agents: FakeAgent[] = [];
afterEach(async () => {
  for (const agent of agents) await agent.leave();
  agents = [];
});

interface ShownPoint {
  readonly number: number;
  readonly tries: number;
  readonly taskId: string;
  readonly bundled?: boolean;
  readonly outcome?: string;
  readonly message?: string;
  readonly values: Readonly<Record<string, number | string>>;
  readonly startedAt?: string;
  readonly endedAt?: string;
}

interface Shown {
  readonly id: string;
  readonly state: string;
  readonly bundle: boolean;
  readonly points: Readonly<Record<string, number>>;
}

interface Point {
  readonly number: number;
  readonly load: number;
}

/** Job of a bundle, as the agent gets it. */
interface Bundle {
  readonly job: BatchJob;
  readonly points: readonly Point[];
  /** Leaves these lines; by default those of all points. */
  readonly succeed: (lines?: readonly string[]) => Promise<void>;
  readonly fail: (message: string) => void;
}

const resultOf = ({ number, load }: Point, rest: Partial<PointResult> = {}): string =>
  lineOfPoint({
    number,
    status: 'OK',
    message: null,
    startedMs: number,
    endedMs: number + 1,
    outputs: [{ path: 'double.txt', text: `${2 * load}\n` }],
    ...rest,
  });

const loadOf = (variables: BatchJob['variables']) =>
  Number(variables.find(({ key }) => key === 'load')?.value);

/** An agent with one instance, which runs single points at once, and hands bundles to `work`. */
async function agentThat(work: (bundle: Bundle) => Promise<void> | void, runs: object = { points: true }) {
  const agent: FakeAgent = await FakeAgent.join(hub, {
    instances: [{ id: 'sim-1', runs }],
    onHeard(message) {
      if (message.type !== 'assign' || message.job.type !== 'EXECUTE_BATCH_JOB') return;
      const { ref, job } = message;
      const leave = async (path: string, content: string) => {
        const file = await this.upload(Buffer.from(content));
        this.report(ref, 'OK', { outputFiles: [{ path, ...file }] });
      };
      if (!job.points) return void leave('double.txt', `${2 * loadOf(job.variables)}`);
      const points = job.points.map(({ number, variables }) => ({ number, load: loadOf(variables) }));
      const succeed = (lines: readonly string[] = points.map((point) => resultOf(point))) =>
        leave(POINTS_FILE, lines.join(''));
      void work({ job, points, succeed, fail: (text) => void this.report(ref, 'FAILED', { message: text }) });
    },
  });
  agents.push(agent);
}

const requestOf = (fields: object = {}) => ({
  name: 'gear',
  inputScripts: [{ content: base64('run()') }],
  variablesToInject: [{ key: 'material', value: 'steel' }],
  variables: [{ name: 'load' }],
  plan: {
    kind: 'LIST',
    points: Array.from({ length: POINTS }, (_, index) => ({ load: index + 1 })),
  },
  values: [DOUBLE],
  bundle: true,
  ...fields,
});

async function create(fields: object = {}): Promise<string> {
  const answer = await api.call('POST', STUDIES, { json: requestOf(fields) });
  expect(answer.status, answer.text).toBe(201);
  return (answer.body as unknown as Shown).id;
}

const shown = async (id: string) => (await api.get(`${STUDIES}/${id}`)).body as unknown as Shown;

const pointsOf = async (id: string) =>
  ((await api.get(`${STUDIES}/${id}/points?limit=1000`)).body as unknown as { points: ShownPoint[] }).points;

const settled = (id: string, state: string) =>
  eventually(async () => {
    const study = await shown(id);
    return study.state === state && study.points['open'] === 0 ? study : undefined;
  });

/** Fails unless all points have finished with their values, each in its first try. */
async function expectAll(id: string): Promise<readonly ShownPoint[]> {
  const points = await pointsOf(id);
  expect(
    points.map(({ number, tries, outcome, values }) => [number, tries, outcome, values['double']]),
  ).toEqual(Array.from({ length: POINTS }, (_, index) => [index + 1, 1, 'FINISHED', 2 * (index + 1)]));
  return points;
}

it('small points of a study run several as one task, each with an outcome of its own', async () => {
  const jobs: BatchJob[] = [];
  await agentThat(({ job, succeed }) => {
    jobs.push(job);
    return succeed();
  });
  const id = await create({ timeLimit: 7 });
  expect(await settled(id, 'FINISHED')).toMatchObject({ bundle: true, points: { FINISHED: POINTS } });
  const points = await expectAll(id);
  const bundled = points.filter((point) => point.bundled);
  expect(bundled).toHaveLength(jobs.reduce((sum, { points: all = [] }) => sum + all.length, 0));
  expect(new Set(bundled.map(({ taskId }) => taskId)).size).toBe(jobs.length);
  expect(bundled.length).toBeGreaterThan(2 * jobs.length);
  for (const { startedAt = '', endedAt = '' } of bundled) expect(startedAt <= endedAt).toBe(true);
  for (const { variables, pointLimitMs } of jobs) {
    expect(variables).toEqual([{ key: 'material', value: 'steel' }]);
    expect(pointLimitMs).toBe(7000);
  }
  const [first] = bundled;
  const { body } = await api.get(`/api/x/tasks/${first?.taskId}`);
  expect(body).toMatchObject({ name: expect.stringMatching(/^gear #\d+ to #\d+$/), status: 'FINISHED' });
  const [job] = jobs;
  expect(body['points']).toEqual(job?.points);
  const manifest = await api.get(`/api/x/tasks/${first?.taskId}/manifest`);
  expect(manifest.body['manifest']).toMatchObject({ points: job?.points });
});

it('a point that fails in its bundle fails alone', async () => {
  await agentThat(({ points, succeed }) =>
    succeed(
      points.map((point) =>
        point.load % 2 === 0
          ? resultOf(point, { status: 'ERROR', message: 'no convergence', outputs: [] })
          : resultOf(point),
      ),
    ),
  );
  const id = await create();
  await settled(id, 'FINISHED');
  const points = await pointsOf(id);
  const failed = points.filter(({ outcome }) => outcome === 'SOLVER_FAILED');
  expect(failed.length).toBeGreaterThan(0);
  expect(failed.every(({ number, bundled }) => bundled && number % 2 === 0)).toBe(true);
  expect(failed[0]?.message).toBe('no convergence');
  expect(points.filter(({ outcome }) => outcome === 'FINISHED')).toHaveLength(POINTS - failed.length);
});

it('points that their bundle has not run get tasks of their own, in the same try', async () => {
  await agentThat(({ points, succeed }) => succeed(points.slice(1).map((point) => resultOf(point))));
  const id = await create();
  await settled(id, 'FINISHED');
  const points = await expectAll(id);
  expect(points.some(({ bundled }) => bundled)).toBe(true);
  expect(points.some(({ bundled }) => !bundled)).toBe(true);
});

it.each([
  ['fails', (bundle: Bundle) => bundle.fail('the model cannot be staged')],
  ['leaves no results', ({ succeed }: Bundle) => succeed([])],
  ['leaves results of other points', ({ succeed }: Bundle) => succeed([resultOf({ number: 9999, load: 1 })])],
])('all points of a bundle that %s get tasks of their own, and further ones as well', async (_, work) => {
  let bundles = 0;
  await agentThat((bundle) => {
    bundles++;
    return work(bundle);
  });
  const id = await create();
  await settled(id, 'FINISHED');
  expect((await expectAll(id)).some(({ bundled }) => bundled)).toBe(false);
  // Those that waited with the third one.
  expect(bundles).toBeGreaterThan(0);
  expect(bundles).toBeLessThan(12);
});

it('a bundle that is stopped with its study has canceled points', async () => {
  let running = 0;
  await agentThat(({ points }) => {
    running = points.length;
  });
  const id = await create();
  await eventually(() => running || undefined);
  expect((await api.call('POST', `${STUDIES}/${id}/stop`)).status).toBe(200);
  const { points } = await settled(id, 'STOPPED');
  expect(points['CANCELED']).toBeGreaterThanOrEqual(running);
});

it('points are tried again by tasks of their own', async () => {
  await agentThat(({ succeed }) => succeed());
  const id = await create();
  await settled(id, 'FINISHED');
  const before = await pointsOf(id);
  expect(
    (await api.call('POST', `${STUDIES}/${id}/retry`, { json: { outcomes: ['FINISHED'] } })).status,
  ).toBe(200);
  await settled(id, 'FINISHED');
  const after = await pointsOf(id);
  expect(after.some(({ bundled, tries }) => bundled || tries !== 2)).toBe(false);
  const tasks = new Set(before.map(({ taskId }) => taskId));
  expect(after.some(({ taskId }) => tasks.has(taskId))).toBe(false);
});

describe('there are no bundles', () => {
  it.each([
    ['of a study that has not asked for them', { bundle: false }, { points: true }],
    ['while no instance says that it runs them', { bundle: true }, { scripts: ['JavaScript'] }],
  ])('%s', async (_, fields, runs) => {
    await agentThat(() => expect.fail('a bundle'), runs);
    const id = await create(fields);
    await settled(id, 'FINISHED');
    expect((await expectAll(id)).some(({ bundled }) => bundled)).toBe(false);
  });

  it.each([
    [
      'values from the log',
      { values: [{ ...DOUBLE, source: { kind: 'LOG' } }] },
      'must not be true with values from the log: points of a bundle have one log together',
    ],
    [
      'an additional file of the name of their results',
      { additionalFiles: [{ filename: POINTS_FILE, content: '' }] },
      'must not be true with an additional file points.ndjson: bundles write one of that name',
    ],
  ])('with %s', async (_, fields, message) => {
    const { status, text } = await api.call('POST', STUDIES, { json: requestOf(fields) });
    expect([status, text]).toEqual([400, expect.stringContaining(`bundle: ${message}`)]);
  });
});
