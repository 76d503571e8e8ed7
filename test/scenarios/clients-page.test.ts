/** The same job by `wb`, TypeScript, Python and curl, as on the page about clients: the outputs are equal, byte for byte. */
import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import { codeBlock } from '../support/pages/code-blocks.js';
import { endPrograms, type HubProgram, startHub } from '../support/programs/programs.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const PAGE = 'packages/docs/clients.md';
const STUDIES = 'packages/docs/studies.md';
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PYTHON = '/usr/bin/python3';
const hasPython = process.env['CI'] !== undefined || spawnSync(PYTHON, ['--version']).status === 0;
if (!hasPython) console.warn('LEFT OUT, the job by Python: there is no /usr/bin/python3');

let folder: TemporaryFolder;
let hub: HubProgram;
beforeAll(async () => {
  folder = await temporaryFolder();
  const mujoco = join(ROOT, 'packages/workbench-mujoco/bin/workbench-mujoco.js');
  hub = await startHub(folder.path, {
    instances: [{ id: 'sim', version: '3.14.0', labels: ['mujoco'], command: [process.execPath, mujoco] }],
  });
  await eventually(async () => {
    const response = await fetch(`${hub.baseUrl}/actuator/health`);
    return response.ok;
  });
  mkdirSync(join(folder.path, 'bin'));
  symlinkSync(join(ROOT, 'packages/cli/bin/wb.js'), join(folder.path, 'bin/wb'));
  symlinkSync(join(ROOT, 'node_modules'), join(folder.path, 'node_modules'));
  await run('bash', ['-e', '-c', codeBlock(PAGE, 'cat > pendulum.xml')]);
});
afterAll(async () => {
  await endPrograms();
  await folder.remove();
});

/** Runs a program in the folder of the job; fails unless it succeeds. */
function run(command: string, args: readonly string[]): Promise<void> {
  const env = {
    PATH: `${join(folder.path, 'bin')}${delimiter}${process.env['PATH']}`,
    HOME: folder.path,
    WB_URL: hub.baseUrl,
    PYTHONPATH: join(ROOT, 'packages/client-python'),
    PYTHONDONTWRITEBYTECODE: '1',
  };
  return new Promise((resolve, reject) => {
    execFile(command, args, { cwd: folder.path, env }, (error, stdout, stderr) =>
      error ? reject(new Error(`${error.message}\n${stdout}${stderr}`)) : resolve(),
    );
  });
}

function motion(way: string): string {
  return readFileSync(join(folder.path, way, 'motion.csv'), 'utf8');
}

it('runs the same job by wb, TypeScript and curl, with equal outputs', async () => {
  await run('bash', ['-e', '-c', codeBlock(PAGE, 'wb run --model')]);
  writeFileSync(join(folder.path, 'job.mjs'), codeBlock(PAGE, "from '@workbench-hub/client/node'"));
  await run(process.execPath, ['job.mjs']);
  await run('bash', ['-e', '-c', codeBlock(PAGE, 'ID=$(curl')]);
  const byWb = motion('with-wb');
  expect(byWb.split('\n').length).toBeGreaterThan(400);
  expect(motion('with-typescript')).toBe(byWb);
  expect(motion('with-curl')).toBe(byWb);
});

it('runs a study of it by wb and TypeScript, as on the page about studies', async () => {
  await run('bash', ['-e', '-c', codeBlock(STUDIES, 'wb study run')]);
  const table = readFileSync(join(folder.path, 'pendulum.csv'), 'utf8').trim().split('\n');
  expect(table[0]).toBe('point,angle,outcome,end,steps,task,message');
  expect(table).toHaveLength(1 + 19);
  for (const line of table.slice(1)) expect(line).toMatch(/^\d+,[\d.]+,FINISHED,-?[\d.]+,50\d,/);
  writeFileSync(join(folder.path, 'study.mjs'), codeBlock(STUDIES, 'hub.createStudy'));
  await run(process.execPath, ['study.mjs']);
});

it.skipIf(!hasPython)(
  'runs it by Python, with equal outputs',
  async () => {
    await run('bash', ['-e', '-c', codeBlock(PAGE, 'wb run --model').replace('with-wb', 'once-more')]);
    writeFileSync(join(folder.path, 'job.py'), codeBlock(PAGE, 'from workbench_hub import Hub'));
    await run(PYTHON, ['job.py']);
    expect(motion('with-python')).toBe(motion('once-more'));
  },
  120_000,
);
