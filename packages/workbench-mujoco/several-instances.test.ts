/** One `workbench-mujoco` that serves several instances, whose jobs run at the same time. */
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { RPC_ERROR } from '@workbench-hub/shared/instance-protocol/messages';
import {
  type JobFolder,
  type JobOfTest,
  layOutJob,
  type ProgramUnderTest,
  startSharedProgram,
} from '@workbench-hub/shared/instance-protocol/program-under-test';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

const MUJOCO = fileURLToPath(new URL('bin/workbench-mujoco.js', import.meta.url));
const MODEL = {
  name: 'model.mjcf',
  content: `<mujoco><worldbody><body><joint type="hinge" axis="0 1 0"/><geom size="0.05" pos="0 0 -1"/></body></worldbody></mujoco>`,
};
const IDS = ['sim-1', 'sim-2'];
const folders: JobFolder[] = [];
let mujoco: ProgramUnderTest;

beforeAll(async () => {
  mujoco = await startSharedProgram([process.execPath, MUJOCO], IDS);
});
afterAll(async () => {
  expect(await mujoco.shutdown()).toBe(0);
});
afterEach(async () => {
  for (const folder of folders.splice(0)) await folder.remove();
});

async function layOut(job: JobOfTest): Promise<JobFolder> {
  const folder = await layOutJob(job);
  folders.push(folder);
  return folder;
}

const run = (instanceId: string, { params }: JobFolder) =>
  mujoco.host.executeBatchJob({ ...params, instanceId });
const printedBy = ({ params }: JobFolder) =>
  mujoco.outputs
    .filter(({ taskId, stream }) => taskId === params.taskId && stream === 'stdout')
    .map(({ text }) => text)
    .join('');

describe('workbench-mujoco with several instances', () => {
  it('runs their jobs at the same time, each in its own working directory', async () => {
    const jobs = await Promise.all(
      IDS.map((id) => layOut({ model: MODEL, scripts: [MEETING], files: { 'name.txt': id } })),
    );
    const [first, second] = jobs as [JobFolder, JobFolder];
    for (const [job, other] of [
      [first, second],
      [second, first],
    ] as const) {
      job.params.variables = { others: other.params.workingDirectory };
    }
    expect(await Promise.all([run('sim-1', first), run('sim-2', second)])).toEqual([
      { status: 'OK' },
      { status: 'OK' },
    ]);
    for (const [index, job] of jobs.entries()) {
      expect(printedBy(job)).toBe(`${IDS[index]}\ntrue\n${job.params.workingDirectory}\n`);
      expect(await job.names()).toEqual(MADE);
      expect(await job.read('by-child')).toBe('shell\n');
      expect(await job.read('linked')).toBe(IDS[index]);
    }
  });

  it('cancels one of them, and the other goes on', async () => {
    const endless = await layOut({
      model: MODEL,
      scripts: ['println("begun"); for (;;) mujoco.mj_step(model, data);'],
    });
    const lasting = await layOut({
      scripts: [
        `const fs = require('node:fs'); println('begun');
         while (!fs.existsSync('go')) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);`,
      ],
    });
    const canceled = run('sim-1', endless);
    const going = run('sim-2', lasting);
    canceled.catch(() => undefined);
    await expect.poll(() => [printedBy(endless), printedBy(lasting)]).toEqual(['begun\n', 'begun\n']);
    await mujoco.host.cancel(endless.params.taskId, 'sim-1');
    await expect(canceled).rejects.toMatchObject({ code: RPC_ERROR.CANCELED });
    await writeFile(lasting.path('go'), '');
    expect(await going).toMatchObject({ status: 'OK' });
  });

  it('stops and starts one of them', async () => {
    await mujoco.host.stopInstance('sim-1');
    const job = await layOut({ scripts: ['println(1)'] });
    await expect(run('sim-1', job)).rejects.toThrow('no instance "sim-1" is started');
    expect(await run('sim-2', job)).toMatchObject({ status: 'OK' });
    await mujoco.host.startInstance({ id: 'sim-1', version: '9.1.0', revision: '4711', labels: [] });
    expect(await run('sim-1', await layOut({ scripts: ['println(1)'] }))).toMatchObject({ status: 'OK' });
  });
});

/** Waits for the other job, and uses relative paths in every way meanwhile. */
const MEETING = `
import { copyFileSync, createWriteStream, existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { open, readFile, rename, writeFile } from 'node:fs/promises';
import { execFile, execFileSync, execSync, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import { once } from 'node:events';
import path from 'node:path';
writeFileSync('here', '');
while (!existsSync(path.join(others, 'here')));
println(readFileSync('name.txt', 'utf8'));
await writeFile('a', 'a');
await rename('a', 'b');
copyFileSync('b', 'c');
symlinkSync('name.txt', 'linked');
const temporary = mkdtempSync('made-');
rmSync(temporary, { recursive: true });
const file = await open('d', 'w');
await file.close();
const stream = createWriteStream(Buffer.from('e'));
stream.end('e');
await once(stream, 'close');
execSync('echo shell > by-child');
execFileSync('touch', ['f']);
spawnSync('touch', ['g'], { stdio: 'ignore' });
if ((await promisify(execFile)('pwd')).stdout !== workingDirectory + '\\n') throw new Error('another directory');
if (realpathSync.native('b') !== path.join(workingDirectory, 'b')) throw new Error('another path');
println(path.resolve('b') === path.join(workingDirectory, 'b') && (await readFile('linked', 'utf8')) === readFileSync('name.txt', 'utf8'));
println(process.cwd());
`;
const MADE = ['b', 'by-child', 'c', 'd', 'e', 'f', 'g', 'here', 'linked', 'model.mjcf', 'name.txt'];
