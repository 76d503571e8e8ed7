/** The real `workbench-mujoco`, called over its standard input and output. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { RPC_ERROR } from '@workbench-hub/shared/instance-protocol/messages';
import {
  type JobFolder,
  type JobOfTest,
  layOutJob,
  type ProgramUnderTest,
  startProgram,
} from '@workbench-hub/shared/instance-protocol/program-under-test';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

const MUJOCO = fileURLToPath(new URL('bin/workbench-mujoco.js', import.meta.url));
const MODEL = {
  name: 'model.mjcf',
  content: `<mujoco><worldbody><body name="bob"><joint type="hinge" axis="0 1 0"/>
    <geom size="0.05" pos="0 0 -1"/></body></worldbody></mujoco>`,
};
const JAVASCRIPT_ONLY =
  'workbench-mujoco runs JavaScript only; Python scripts run on an instance of workbench-runner with ' +
  '"--interpreter python3" on a host with the Python package mujoco';
const folders: JobFolder[] = [];

async function layOut(job: JobOfTest): Promise<JobFolder> {
  const folder = await layOutJob(job);
  folders.push(folder);
  return folder;
}

afterEach(async () => {
  for (const folder of folders.splice(0)) await folder.remove();
});

describe('workbench-mujoco', () => {
  // One program for all of them: what a job leaves behind would show in the next.
  let mujoco: ProgramUnderTest;
  beforeAll(async () => {
    mujoco = await startProgram([process.execPath, MUJOCO]);
  });
  afterAll(async () => {
    expect(await mujoco.shutdown()).toBe(0);
  });
  const printedBy = ({ params }: JobFolder, stream = 'stdout') =>
    mujoco.outputs
      .filter((output) => output.taskId === params.taskId && output.stream === stream)
      .map(({ text }) => text)
      .join('');
  const run = async (job: JobOfTest) => {
    const folder = await layOut(job);
    return { folder, result: await mujoco.host.executeBatchJob(folder.params) };
  };

  it('says that it runs MJCF models by JavaScript', () => {
    expect(mujoco.introduction?.runs).toEqual({
      models: ['MJCF', 'XML'],
      scripts: ['JavaScript'],
      points: true,
    });
  });

  it('simulates a model, which the scripts of a job share', async () => {
    const { folder, result } = await run({
      model: MODEL,
      scripts: [
        'data.qpos[0] = 0.01; while (data.time < 1) mujoco.mj_step(model, data); println(model.nq);',
        // A pendulum of small amplitude, with the inertia of a ball of radius 0.05 m at 1 m.
        `export {};
         const omega = Math.sqrt(9.81 / (1 + 0.4 * 0.05 ** 2));
         println(Math.abs(data.qpos[0] - 0.01 * Math.cos(omega * data.time)) < 1e-4);`,
      ],
    });
    expect(result).toMatchObject({ status: 'OK' });
    expect(printedBy(folder)).toBe('1\ntrue\n');
    expect(await folder.names()).toEqual(['model.mjcf']);
  });

  it('finds the files that a model refers to, and writes where it is told', async () => {
    const { folder, result } = await run({
      model: { name: 'model.mjcf', content: '<mujoco><include file="parts/bob.xml"/></mujoco>' },
      files: {
        'parts/bob.xml': `<mujoco><asset><mesh name="wedge" file="parts/wedge.obj"/></asset>
          <worldbody><body><freejoint/><geom type="mesh" mesh="wedge"/></body></worldbody></mujoco>`,
        'parts/wedge.obj': 'v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n',
      },
      scripts: ["println(model.nmeshvert); mujoco.mj_saveLastXML('saved.xml', model);"],
    });
    expect(result).toMatchObject({ status: 'OK' });
    expect(printedBy(folder)).toBe('4\n');
    expect(await folder.read('saved.xml')).toContain('<mesh name="wedge"');
  });

  it.runIf(existsSync('/dev/shm'))('works in shared memory', async () => {
    const { folder, result } = await run({
      folder: '/dev/shm',
      model: MODEL,
      scripts: ["mujoco.mj_saveLastXML('saved.xml', model)"],
    });
    expect(result).toMatchObject({ status: 'OK' });
    expect(await folder.read('saved.xml')).toContain('<body name="bob"');
  });

  it('reads a model in the layout of a repository: a scene with a robot beside it, and its meshes in folders', async () => {
    const mesh = 'v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n';
    const { folder, result } = await run({
      model: { name: 'model.mjcf', content: '<mujoco><include file="robot.xml"/></mujoco>' },
      files: {
        'robot.xml': `<mujoco><compiler meshdir="assets"/><asset><mesh file="link.obj"/><mesh file="hand/finger.obj"/></asset>
          <worldbody><body><freejoint/><geom type="mesh" mesh="link"/><geom type="mesh" mesh="finger"/></body></worldbody></mujoco>`,
        'assets/link.obj': mesh,
        'assets/hand/finger.obj': mesh,
      },
      scripts: ['println(model.nmesh)'],
    });
    expect(result).toMatchObject({ status: 'OK' });
    expect(printedBy(folder)).toBe('2\n');
  });

  it('says in the log when a simulation became unstable, once for each script', async () => {
    const unstable = 'data.qvel[0] = NaN; mujoco.mj_step(model, data); println(data.time);';
    const stable = 'for (let i = 0; i < 10; i++) mujoco.mj_step(model, data);';
    const { folder, result } = await run({ model: MODEL, scripts: [unstable, stable] });
    expect(result).toMatchObject({ status: 'OK' });
    const text = printedBy(folder, 'stderr');
    expect(
      text.match(/the simulation was unstable: NaN or huge velocities \(qvel\) in 1 step,/g),
    ).toHaveLength(1);
    const left = await run({ model: MODEL, scripts: ['data.qpos[0] = NaN;', 'data.delete()'] });
    expect(printedBy(left.folder, 'stderr')).toContain('the final state contains NaN or infinite values');
    const fine = await run({ model: MODEL, scripts: [stable] });
    expect(printedBy(fine.folder, 'stderr')).toBe('');
  });

  it('reads a model in place, outside the working directory, with what lies beside it', async () => {
    const library = await layOut({
      scripts: [''],
      files: {
        'arm.xml': '<mujoco><include file="bob.xml"/></mujoco>',
        'bob.xml': MODEL.content,
      },
    });
    const folder = await layOut({ scripts: ['println(model.nbody)'] });
    const result = await mujoco.host.executeBatchJob({ ...folder.params, model: library.path('arm.xml') });
    expect(result).toMatchObject({ status: 'OK' });
    expect(printedBy(folder)).toBe('2\n');
  });

  it('gives scripts the variables, the environment, files and modules of the working directory', async () => {
    const { folder, result } = await run({
      files: { 'helper.cjs': 'module.exports = 42;', 'in.txt': 'input' },
      variables: { length: '2.5' },
      environment: { length: '2.5' },
      scripts: [
        `println(typeof length, length * 2, process.env.length, require('./helper.cjs'), readFile('in.txt'));
         require('fs').writeFileSync('plain.txt', 'a'); writeFile('own.txt', 'b');
         println(process.cwd() === workingDirectory, model, data);`,
        "import helper from './helper.cjs'; import { readFileSync } from 'node:fs'; println(helper, length, readFileSync('in.txt', 'utf8'))",
        "println((await import('./helper.cjs')).default); console.log('%d rpm', 5); console.error('careful')",
      ],
    });
    expect(result).toMatchObject({ status: 'OK' });
    expect(printedBy(folder)).toBe(
      'string 5 2.5 42 input\ntrue undefined undefined\n42 2.5 input\n42\n5 rpm\n',
    );
    expect(printedBy(folder, 'stderr')).toBe('careful\n');
    expect(await folder.names()).toEqual(['helper.cjs', 'in.txt', 'own.txt', 'plain.txt']);
  });

  it('gives a variable the name that its owner chose, also when a global has it', async () => {
    const { folder, result } = await run({
      model: MODEL,
      variables: { model: 'wing', readFile: 'a.txt', workingDirectory: 'here' },
      scripts: ['println(model, readFile, workingDirectory, data.time)'],
    });
    expect(result).toMatchObject({ status: 'OK' });
    expect(printedBy(folder)).toBe('wing a.txt here 0\n');
  });

  it('keeps jobs apart: globals, changed prototypes and timers do not outlive their job', async () => {
    await run({
      variables: { secret: 'mine' },
      environment: { SECRET: 'mine' },
      scripts: ['leak = 1; Array.prototype.leak = 1; setInterval(() => {}, 1); process.exit(0)'],
    });
    const { folder } = await run({
      scripts: ['println(typeof leak, typeof secret, [].leak, process.env.SECRET)'],
    });
    expect(printedBy(folder)).toBe('undefined undefined undefined undefined\n');
  });

  it('waits for what a script began before the next one runs', async () => {
    const { folder } = await run({
      scripts: ["setTimeout(() => println('timer'), 20); println('first')", "println('second')"],
    });
    expect(printedBy(folder)).toBe('first\ntimer\nsecond\n');
  });

  it.each([
    ['println(1);\n\nnothing.there', 'threw ReferenceError: nothing is not defined (line 3)'],
    ["export {};\nthrow new Error('bad mesh')", 'threw Error: bad mesh (line 2)'],
    ["throw 'text'", "threw 'text'"],
    ["setTimeout(() => { throw new Error('late') }, 1)", 'threw Error: late (line 1)'],
    ["Promise.reject(new Error('unheard'))", 'threw Error: unheard (line 1)'],
    ['let a;\nlet a;', "threw SyntaxError: Identifier 'a' has already been declared (line 2)"],
    ['process.exit(3)', 'exited with code 3'],
    ['await new Promise(() => {})', 'awaits a promise that nothing settles'],
    ['#!/bin/sh\necho', `begins with #!/bin/sh, but ${JAVASCRIPT_ONLY}`],
    ['import mujoco\nprint(mujoco.__version__)\n', `looks like Python, but ${JAVASCRIPT_ONLY}`],
    ['x = 1\nfor i in range(3):\n    print(i)\n', `looks like Python, but ${JAVASCRIPT_ONLY}`],
    ['mujoco.mj_step(null, null)', 'threw BindingError: null is not a valid MjModel (line 1)'],
  ])('fails the job of the script %j', async (script, reason) => {
    const { result } = await run({ scripts: ['', script, 'println("never")'] });
    expect(result).toMatchObject({ status: 'ERROR', message: `script 2 of 3 ${reason}` });
  });

  it.each([
    ['model.mjcf', '<mujoco><bogus/></mujoco>', "unrecognized element, Element 'bogus', line 1"],
    ['model.mjcf', 'no XML', 'model.mjcf: XML parse error'],
    [
      'model.mjcf',
      '<mujoco><asset><mesh file="none.stl"/></asset></mujoco>',
      "Error opening file 'none.stl'",
    ],
    ['model.wbpz', 'PK', 'reads models of type MJCF, not model.wbpz'],
  ])('refuses the model %s %j', async (name, content, message) => {
    const folder = await layOut({ model: { name, content }, scripts: ['println("never")'] });
    await expect(mujoco.host.executeBatchJob(folder.params)).rejects.toMatchObject({
      code: RPC_ERROR.JOB_FAILED,
      message: expect.stringContaining(message),
    });
    expect(printedBy(folder)).toBe('');
  });

  it.each([
    ['an endless loop', "println('begun'); for (;;);"],
    ['an endless simulation', "println('begun'); for (;;) mujoco.mj_step(model, data);"],
    ['a script that prints without end', "println('begun'); for (;;) println('x'.repeat(1000));"],
    ['a script that waits', "println('begun'); setInterval(() => {}, 1000);"],
  ])('cancels %s, and runs the next job', async (_, script) => {
    const folder = await layOut({ model: MODEL, scripts: [script] });
    const running = mujoco.host.executeBatchJob(folder.params);
    // Handled below, but it may settle while the output is waited for.
    running.catch(() => undefined);
    await expect.poll(() => printedBy(folder)).toContain('begun');
    await mujoco.host.cancel(folder.params.taskId);
    await expect(running).rejects.toMatchObject({ code: RPC_ERROR.CANCELED });
    expect((await run({ model: MODEL, scripts: ['mujoco.mj_step(model, data)'] })).result).toMatchObject({
      status: 'OK',
    });
  });

  it('does not grow from job to job', async () => {
    const memoryMiB = async () =>
      Number(/VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${mujoco.pid}/status`, 'utf8'))?.[1]) / 1024;
    const folder = await layOut({
      model: MODEL,
      scripts: [
        // Its thread would not end by itself.
        `globalThis.kept = new Float64Array(1e6).fill(1); setInterval(() => kept.fill(2), 60_000);
         mujoco.mj_step(model, data); process.exit(0);`,
      ],
    });
    const runJobs = async (count: number) => {
      for (let job = 0; job < count; job++) await mujoco.host.executeBatchJob(folder.params);
    };
    // The first jobs fill what the process then keeps and uses again.
    await runJobs(6);
    const before = await memoryMiB();
    await runJobs(8);
    // Each keeps 8 MB and a simulator of 20 MB: if that stayed, 8 jobs would come to more than 200 MiB.
    expect((await memoryMiB()) - before).toBeLessThan(100);
  });
});

describe('workbench-mujoco with little memory', () => {
  it('survives a script that takes all of it', async () => {
    const mujoco = await startProgram([process.execPath, MUJOCO], {
      NODE_OPTIONS: '--max-old-space-size=128',
    });
    const greedy = await layOut({
      scripts: ['const all = []; for (;;) all.push(new Array(1e5).fill(1.5));'],
    });
    expect(await mujoco.host.executeBatchJob(greedy.params)).toMatchObject({
      status: 'ERROR',
      message: expect.stringContaining('memory limit'),
    });
    const modest = await layOut({ scripts: [''] });
    expect(await mujoco.host.executeBatchJob(modest.params)).toMatchObject({ status: 'OK' });
    await mujoco.shutdown();
  });
});

describe('the command line of workbench-mujoco', () => {
  it.each([
    ['--help', 0, /MJCF/],
    ['--version', 0, /^\d+\.\d+\.\d+\n$/],
    ['--unknown', 2, /--unknown/],
  ])('%s exits with %d', async (argument, expected, text) => {
    const child = spawn(process.execPath, [MUJOCO, argument], { stdio: ['ignore', 'pipe', 'pipe'] });
    const chunks: Buffer[] = [];
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    const [code] = await once(child, 'close');
    expect({ code, text: Buffer.concat(chunks).toString() }).toEqual({
      code: expected,
      text: expect.stringMatching(text),
    });
  });
});
