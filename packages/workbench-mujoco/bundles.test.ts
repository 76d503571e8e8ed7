/** Bundles of points, run by the real program as one job each (packages/docs/instance-protocol.md). */
import { fileURLToPath } from 'node:url';
import { RPC_ERROR } from '@workbench-hub/shared/instance-protocol/messages';
import {
  POINTS_FILE,
  type PointResult,
  pointResults,
} from '@workbench-hub/shared/instance-protocol/point-results';
import {
  type JobFolder,
  type JobOfTest,
  layOutJob,
  type ProgramUnderTest,
  startProgram,
} from '@workbench-hub/shared/instance-protocol/program-under-test';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { MAX_BUNDLE_MS } from './bundle.js';

const MUJOCO = fileURLToPath(new URL('bin/workbench-mujoco.js', import.meta.url));
const MODEL = {
  name: 'model.mjcf',
  content: `<mujoco><worldbody><body name="bob"><joint type="hinge" axis="0 1 0"/>
    <geom size="0.05" pos="0 0 -1"/></body></worldbody></mujoco>`,
};
const NUMBERS = [3, 4, 5];

interface BundleOfTest extends JobOfTest {
  pointLimitMs?: number;
}

/** A bundle with a point for each number, whose variable `x` is the number. */
async function layOutBundle({ pointLimitMs, ...job }: BundleOfTest): Promise<JobFolder> {
  const folder = await layOutJob(job);
  onTestFinished(() => folder.remove());
  folder.params.points = NUMBERS.map((number) => ({
    number,
    variables: { x: String(number) },
    environment: { x: String(number) },
  }));
  // Points have no folders of their own.
  const { WORKBENCH_VARIABLES: _, WORKBENCH_OUTPUT_STORAGE: __, ...environment } = folder.params.environment;
  folder.params.environment = environment;
  if (pointLimitMs !== undefined) folder.params.pointLimitMs = pointLimitMs;
  return folder;
}

const resultsIn = async (folder: JobFolder) => [
  ...pointResults(await folder.read(POINTS_FILE), NUMBERS).values(),
];

/** Runs a bundle until it has this many results, or has fewer for another reason than the time that a busy machine took. */
async function untilNotSlow(run: () => Promise<JobFolder>, count: number) {
  for (;;) {
    const folder = await run();
    const results = await resultsIn(folder);
    const wasSlow = (results.at(-1)?.endedMs ?? 0) > MAX_BUNDLE_MS;
    if (results.length >= count || !wasSlow) return { folder, results };
  }
}

const inShort = (results: readonly PointResult[]) =>
  results.map(({ number, status, message }) => [number, status, ...(message === null ? [] : [message])]);

describe.each(['realm', 'none'] as const)('workbench-mujoco with isolation %s', (isolation) => {
  let mujoco: ProgramUnderTest;
  beforeAll(async () => {
    mujoco = await startProgram([process.execPath, MUJOCO, '--isolation', isolation]);
  });
  afterAll(async () => {
    expect(await mujoco.shutdown()).toBe(0);
  });
  const run = async (job: BundleOfTest) => {
    const folder = await layOutBundle(job);
    const result = await mujoco.host.executeBatchJob(folder.params);
    expect(result.status).toBe('OK');
    return folder;
  };
  const resultsOf = (job: BundleOfTest, count = NUMBERS.length) => untilNotSlow(() => run(job), count);

  it('runs each point of a bundle with its variables, in the directory as it was staged', async () => {
    const { folder, results } = await resultsOf({
      model: MODEL,
      files: { 'in/table.txt': 'staged' },
      variables: { y: 'shared' },
      scripts: [
        `data.qpos[0] = Number(x); mujoco.mj_forward(model, data);
         writeFile('x.txt', [x, y, process.env.x, readFile('in/table.txt'), data.qpos[0]].join(' '));`,
        `writeFile('bytes', new Uint8Array([255, Number(x)])); println(readFile('x.txt'));`,
      ],
    });
    expect(inShort(results)).toEqual(NUMBERS.map((number) => [number, 'OK']));
    expect(results.map(({ outputs }) => outputs)).toEqual(
      NUMBERS.map((number) => [
        { path: 'bytes', base64: Buffer.from([255, number]).toString('base64') },
        { path: 'x.txt', text: `${number} shared ${number} staged ${number}` },
      ]),
    );
    expect(await folder.names()).toEqual(['in', 'model.mjcf', POINTS_FILE]);
    const times = results.flatMap(({ startedMs, endedMs }) => [startedMs, endedMs]);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(times.slice(1, -1).filter((_, index) => index % 2 === 0)).toEqual(
      times.slice(1, -1).filter((_, index) => index % 2 === 1),
    );
    expect(mujoco.printed()).toContain('5 shared 5 staged 5');
  });

  it.each([
    ['imports a module', "import path from 'node:path'; writeFile('x.txt', path.basename(String(x)));"],
    ['requires a staged module', "writeFile('x.txt', String(require('./helper.cjs')));"],
  ])('leaves all points to tasks of their own when a script %s, which is loaded once', async (_, script) => {
    const files = { 'helper.cjs': 'module.exports = Number(process.env.x);' };
    expect(await resultsIn(await run({ files, scripts: [script] }))).toEqual([]);
  });

  it('gives a bundle no paths of the job before it', async () => {
    const before = await layOutJob({ scripts: ["println('before ' + process.env.WORKBENCH_VARIABLES)"] });
    onTestFinished(() => before.remove());
    expect(await mujoco.host.executeBatchJob(before.params)).toMatchObject({ status: 'OK' });
    expect(mujoco.printed()).toMatch(/before \/.*\.json/);
    const scripts = ["writeFile('x.txt', String(process.env.WORKBENCH_VARIABLES))"];
    const texts = (await resultsOf({ scripts })).results.map(({ outputs }) => outputs[0]);
    expect(texts).toEqual(NUMBERS.map(() => ({ path: 'x.txt', text: 'undefined' })));
  });

  it('goes on after a point of which a script fails', async () => {
    const { results } = await resultsOf({ scripts: ["if (x === '4') throw new Error('no convergence')"] });
    expect(inShort(results)).toEqual([
      [3, 'OK'],
      [4, 'ERROR', expect.stringContaining('no convergence')],
      [5, 'OK'],
    ]);
  });

  it('says of each point that its model cannot be read', async () => {
    const { results } = await resultsOf({
      model: { name: 'model.mjcf', content: '<mujoco><odd/></mujoco>' },
      scripts: ['1'],
    });
    expect(inShort(results)).toEqual(
      NUMBERS.map((number) => [number, 'FAILED', expect.stringContaining('unrecognized element')]),
    );
  });

  it('ends a point at its time limit, and leaves those after it to tasks of their own', async () => {
    const job = {
      // Longer than a bundle begins points: a first point that takes as long is a slow one.
      pointLimitMs: MAX_BUNDLE_MS + 500,
      files: { 'staged.txt': 'as it was' },
      scripts: ["writeFile('left', x); while (x === '4') writeFile('staged.txt', 'changed');"],
    };
    expect(inShort((await resultsOf(job, 2)).results)).toEqual([
      [3, 'OK'],
      [4, 'FAILED', 'time limit of 1.5 s exceeded'],
    ]);
  });

  it('runs points whose time limit is longer than a timer of Node holds', async () => {
    const { results } = await resultsOf({ pointLimitMs: 2 ** 32, scripts: ['1'] });
    expect(inShort(results)).toEqual(NUMBERS.map((number) => [number, 'OK']));
  });

  it('leaves points that have not begun after a second to tasks of their own', async () => {
    const scripts = ["if (x === '4') for (const until = Date.now() + 1100; Date.now() < until; );"];
    expect(inShort((await resultsOf({ scripts }, 2)).results)).toEqual([
      [3, 'OK'],
      [4, 'OK'],
    ]);
  });

  it.each([
    ['changes a staged file', "writeFile('staged.txt', 'changed')"],
    ['makes a folder', "mujoco.FS.mkdir('folder')"],
    ['leaves much', "writeFile('large', 'x'.repeat(10000))"],
    ['leaves many files', "for (let number = 0; number < 21; number++) writeFile('file' + number, '')"],
    ['leaves a file of the name of the results', "writeFile('points.ndjson', '')"],
  ])('leaves a point to a task of its own that %s, and those after it', async (_, script) => {
    const folder = await run({
      files: { 'staged.txt': 'as it was' },
      scripts: [`if (x === '4') ${script}`],
    });
    expect(inShort(await resultsIn(folder))).toEqual([[3, 'OK']]);
  });

  it('ends a bundle that is canceled', async () => {
    const folder = await layOutBundle({ scripts: ["println('runs'); for (;;);"] });
    const running = mujoco.host.executeBatchJob(folder.params);
    await mujoco.prints('runs');
    await mujoco.host.cancel(folder.params.taskId);
    await expect(running).rejects.toMatchObject({ code: RPC_ERROR.CANCELED });
  });
});

describe('workbench-mujoco with a realm for each job', () => {
  let mujoco: ProgramUnderTest;
  beforeAll(async () => {
    mujoco = await startProgram([process.execPath, MUJOCO]);
  });
  afterAll(async () => {
    expect(await mujoco.shutdown()).toBe(0);
  });

  it('keeps the points of a bundle apart', async () => {
    const scripts = [
      `writeFile('found', typeof trace + Math.sin(0)); globalThis.trace = 1; Math.sin = () => 7;`,
    ];
    const run = async () => {
      const folder = await layOutBundle({ model: MODEL, scripts });
      expect(await mujoco.host.executeBatchJob(folder.params)).toEqual({
        status: 'OK',
        startedProcesses: false,
      });
      return folder;
    };
    const { results } = await untilNotSlow(run, NUMBERS.length);
    const outputs = results.flatMap((result) => result.outputs);
    expect(outputs).toEqual(NUMBERS.map(() => ({ path: 'found', text: 'undefined0' })));
  });

  it('leaves points whose scripts need Node.js to tasks of their own', async () => {
    const folder = await layOutBundle({ scripts: ["require('node:fs')"] });
    expect(await mujoco.host.executeBatchJob(folder.params)).toMatchObject({ status: 'OK' });
    expect(await folder.read(POINTS_FILE)).toBe('');
  });
});

it('workbench-mujoco with a thread for each job runs no bundles', async () => {
  const mujoco = await startProgram([process.execPath, MUJOCO, '--isolation', 'thread']);
  expect(mujoco.introduction?.runs).not.toHaveProperty('points');
  expect(await mujoco.shutdown()).toBe(0);
});

it('workbench-mujoco leaves the points of a thread that ends to tasks of their own', async () => {
  const mujoco = await startProgram([process.execPath, '--max-old-space-size=64', MUJOCO]);
  const scripts = ["const all = []; while (x === '4') all.push(new Array(1e6).fill(all.length));"];
  const folder = await layOutBundle({ scripts });
  expect(await mujoco.host.executeBatchJob(folder.params)).toMatchObject({ status: 'OK' });
  expect(await folder.read(POINTS_FILE)).toBe('');
  expect(await mujoco.shutdown()).toBe(0);
});
