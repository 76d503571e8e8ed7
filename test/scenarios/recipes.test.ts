/** The recipes of recipes.md, as they are on the page, against a hub with MuJoCo. */
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { eventually } from '../support/eventually.js';
import { restClient } from '../support/interface/rest-client.js';
import { codeBlock, replaced } from '../support/pages/code-blocks.js';
import { endPrograms, type HubProgram, startHub } from '../support/programs/programs.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

/** Also for 1,000 points. */
vi.setConfig({ testTimeout: process.env['RECIPES_POINTS'] ? 1_800_000 : 180_000, hookTimeout: 120_000 });

const PAGE = 'packages/docs/recipes.md';
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PYTHON = '/usr/bin/python3';
/** Points of the sweep here; the page has 1,000. */
const POINTS = process.env['RECIPES_POINTS'] ?? '40';
const hasPython = process.env['CI'] !== undefined || spawnSync(PYTHON, ['--version']).status === 0;
if (!hasPython) console.warn(`LEFT OUT, recipes in Python: there is no ${PYTHON}`);
const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;

let folder: TemporaryFolder;
let hub: HubProgram;
const running = new Set<ChildProcess>();

beforeAll(async () => {
  folder = await temporaryFolder();
  const mujoco = join(ROOT, 'packages/workbench-mujoco/bin/workbench-mujoco.js');
  hub = await startHub(folder.path, {
    instances: [
      { id: 'sim', version: '3.14.0', labels: ['mujoco'], count: 2, command: [process.execPath, mujoco] },
    ],
  });
  mkdirSync(join(folder.path, 'bin'));
  symlinkSync(join(ROOT, 'packages/cli/bin/wb.js'), join(folder.path, 'bin/wb'));
  for (const name of ['ball.xml', 'throw.js'])
    copyFileSync(join(ROOT, 'packages/client-python/tests/job', name), join(folder.path, name));
  const client = restClient(hub.baseUrl);
  await eventually(async () => (await client.instances('&status=UP')).length === 2, 60_000);
});
afterEach(() => {
  for (const child of running) child.kill('SIGKILL');
  running.clear();
});
afterAll(async () => {
  await endPrograms();
  await folder.remove();
});

const env = () => ({
  PATH: `${join(folder.path, 'bin')}${delimiter}${process.env['PATH']}`,
  HOME: folder.path,
  WB_URL: hub.baseUrl,
  PYTHONPATH: join(ROOT, 'packages/client-python'),
  PYTHONDONTWRITEBYTECODE: '1',
});

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function run(command: string, args: readonly string[]): Promise<Ran> {
  return new Promise((resolve) => {
    execFile(command, args, { cwd: folder.path, env: env() }, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code ?? -1) : 0, stdout, stderr }),
    );
  });
}

function write(name: string, text: string): string {
  writeFileSync(join(folder.path, name), text);
  return name;
}

describe('the step of a pipeline', () => {
  it('succeeds with its job, and fails when the job does not, or the result is not good enough', async () => {
    const step = codeBlock(PAGE, '# simulate.sh');
    const good = await run('bash', [write('simulate.sh', step)]);
    expect([good.code, good.stderr]).toEqual([0, expect.stringContaining('range 40.')]);
    expect(good.stdout).toContain('range 40.');
    const worse = await run('bash', [write('worse.sh', replaced(step, { 'angle=40': 'angle=10' }))]);
    expect(worse.code).toBe(1);
    const failing = await run('bash', [write('failing.sh', replaced(step, { 'angle=40': 'other=1' }))]);
    expect([failing.code, failing.stderr]).toEqual([1, expect.stringContaining('angle')]);
    const { tasks } = (await restClient(hub.baseUrl).call('/api/x/tasks')).json() as {
      tasks: { name: string }[];
    };
    expect(tasks[0]?.name).toBe('build local');
  });
});

describe('a result that can be checked', () => {
  it('is archived with its manifest, and checked without the hub', async () => {
    const job = [
      'submit',
      '--script',
      write('note.js', "require('node:fs').writeFileSync('note.txt', 'it ran')"),
    ];
    const id = (await run('wb', job)).stdout.trim();
    await run('wb', ['wait', id]);
    const archived = await run('bash', [write('archive.sh', codeBlock(PAGE, '# archive.sh')), id]);
    expect([archived.code, archived.stderr]).toEqual([0, '']);
    const check = () => run('bash', [write('check.sh', codeBlock(PAGE, '# check.sh'))]);
    expect(await check()).toMatchObject({ code: 0, stdout: expect.stringContaining('1 of 1 are as signed') });
    writeFileSync(join(folder.path, 'archive', id, 'note.txt'), 'it RAN');
    expect(await check()).toMatchObject({ code: 1, stdout: expect.stringMatching(/^changed +note\.txt$/m) });
  });
});

describe('the jobs of a shell', () => {
  it('are handed in and waited for', async () => {
    const { code, stderr } = await run('bash', ['-e', '-c', codeBlock(PAGE, 'done > ids.txt')]);
    expect([code, stderr]).toEqual([0, '']);
    const ids = readFileSync(join(folder.path, 'ids.txt'), 'utf8').trim().split(/\r?\n/);
    expect(ids).toHaveLength(7);
    expect(readdirSync(join(folder.path, 'sweep')).toSorted()).toEqual(ids.toSorted());
  });
});

describe('the job of the night', () => {
  it('leaves its outputs, deletes the old ones, and is refused a second time', async () => {
    const script = codeBlock(PAGE, '# nightly.sh');
    const first = await run('bash', [write('nightly.sh', script)]);
    expect([first.code, first.stderr]).toEqual([0, '']);
    const [day = ''] = readdirSync(join(folder.path, 'nightly'));
    expect(existsSync(join(folder.path, 'nightly', day, 'throw.json'))).toBe(true);
    expect(first.stdout).toContain('0 deleted');
    expect((await run('bash', ['nightly.sh'])).code).toBe(1);
    const tomorrow = replaced(script, { '14 days ago': 'tomorrow', '$(date +%F)': 'tomorrow' });
    const later = await run('bash', [write('later.sh', tomorrow)]);
    expect(later.stdout).toContain('3 deleted');
  });

  it.skipIf(!hasSystemd)('has units that systemd understands', () => {
    const units = join(folder.path, 'units');
    mkdirSync(units);
    for (const name of ['nightly.service', 'nightly.timer'])
      writeFileSync(join(units, name), codeBlock(PAGE, `# ${name}`));
    const { status, stderr } = spawnSync(
      'systemd-analyze',
      ['verify', '--user', '--man=no', join(units, 'nightly.service'), join(units, 'nightly.timer')],
      { encoding: 'utf8', env: { ...process.env, XDG_RUNTIME_DIR: folder.path, HOME: folder.path } },
    );
    expect([stderr.split('\n').filter((line) => line.includes('nightly')), status]).toEqual([[], 0]);
  });
});

describe.skipIf(!hasPython)('in Python', () => {
  it('the cells of a notebook run one after the other', async () => {
    const words = ['name="notebook"', 'result.json("throw.json")', 'angles = [30, 40, 50]'];
    const cells = words.map((each) => codeBlock(PAGE, each));
    // A notebook shows the value of the last line.
    const shown = cells.map((cell) => cell.trimEnd().replace(/\n(?=[^\n]*$)/, '\nshown = '));
    const { code, stdout, stderr } = await run(PYTHON, [
      write('notebook.py', [cells[0], ...shown.slice(1).map((cell) => `${cell}\nprint(shown)`)].join('\n')),
    ]);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(
      /range 40\.\d+ m\n\{'range': 40\.\d+, .*\}\n\{30: 35\.3, 40: 40\.2, 50: 40\.2\}\n$/,
    );
  });

  it('a sweep has a row for each point, and runs only what is missing when it starts again', async () => {
    const sweep = replaced(codeBlock(PAGE, '# sweep.py'), { 'range(1000)': `range(${POINTS})` });
    write('sweep.py', sweep);
    const rows = () => readFileSync(join(folder.path, 'sweep.csv'), 'utf8').trim().split(/\r?\n/);
    const first = await run(PYTHON, ['sweep.py']);
    expect([first.code, first.stderr]).toEqual([0, '']);
    const all = rows();
    expect(all).toHaveLength(1 + Number(POINTS));
    writeFileSync(join(folder.path, 'sweep.csv'), `${all.slice(0, -5).join('\n')}\n`);
    const second = await run(PYTHON, ['sweep.py']);
    expect([second.code, second.stderr]).toEqual([0, '']);
    expect(rows().toSorted()).toEqual(all.toSorted());
    const { total } = (await restClient(hub.baseUrl).call('/api/x/tasks?name=sweep*')).json() as {
      total: number;
    };
    expect(total).toBe(Number(POINTS) + 5);
  });

  it('a program that hears of ends is told of those that it has missed', async () => {
    write('ends.py', codeBlock(PAGE, '# ends.py'));
    const client = restClient(hub.baseUrl);
    const canceled = async () => {
      const { stdout } = await run('wb', ['submit', '--script', 'throw.js', '--version', '1.*']);
      await client.call(`/api/2.0/workbench/task/${stdout.trim()}/cancel`, { method: 'DELETE' });
      return stdout.trim();
    };
    const listen = () => {
      const child = spawn(PYTHON, ['ends.py'], { cwd: folder.path, env: env() });
      running.add(child);
      let printed = '';
      child.stdout.on('data', (chunk: Buffer) => {
        printed += chunk.toString();
      });
      return { child, printed: () => printed };
    };
    const first = listen();
    await eventually(() => existsSync(join(folder.path, 'ends.cursor')));
    const heard = await canceled();
    await eventually(() => first.printed().includes(`${heard} CANCELED`));
    first.child.kill('SIGKILL');
    const missed = [await canceled(), await canceled()];
    const second = listen();
    await eventually(() => missed.every((id) => second.printed().includes(`${id} CANCELED`)));
  });
});
