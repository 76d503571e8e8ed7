/** The command line `wb` against a hub with instances of its own, as a user calls it. */
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import { endPrograms, type HubProgram, startHub } from '../support/programs/programs.js';
import { runCommand } from '../support/programs/run-command.js';
import { callWb, endCalls } from '../support/programs/wb.js';
import { keepSecret } from '../support/secrets.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const INSTANCES = [{ id: 'sim', version: '9.1.0', labels: ['gears'], count: 2 }];
const PASSWORD = 'correct horse battery staple';

let folder: TemporaryFolder;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(async () => {
  endCalls();
  await endPrograms();
  await folder.remove();
});

const call = (hub: Pick<HubProgram, 'baseUrl'> | undefined, args: readonly string[], stdin = '') =>
  callWb(folder.path, hub?.baseUrl, args, { stdin });

const wb = (hub: Pick<HubProgram, 'baseUrl'> | undefined, args: readonly string[], stdin?: string) =>
  call(hub, args, stdin).outcome;

function write(name: string, content: string): string {
  const path = join(folder.path, name);
  writeFileSync(path, content);
  return name;
}

async function startedHub(config: Record<string, unknown> = {}, port = 0): Promise<HubProgram> {
  const hub = await startHub(folder.path, { instances: INSTANCES, ...config }, port);
  await hub.logged(({ msg }) => String(msg).startsWith('up: '));
  return hub;
}

/** Note of two lines, of which the second tries to change the terminal. */
const NOTE = 'softer bearing\n\u001b[1msecond try';

const ANSWER = `
const { writeFileSync, readFileSync, mkdirSync } = require('node:fs');
console.log('it began');
mkdirSync('plots');
const { factor } = JSON.parse(readFileSync(process.env.WORKBENCH_VARIABLES));
writeFileSync('plots/answer.txt', String(6 * Number(factor)));
`;

describe('wb run', () => {
  it('shows what a job prints, brings its outputs, and prints nothing but data to standard output', async () => {
    const hub = await startedHub();
    const script = write('run.js', ANSWER);
    const args = ['run', '--script', script, '--var', 'factor=7', '--version', '9.*', '--label', 'gears'];
    const { code, stdout, stderr } = await wb(hub, [...args, '--out', 'results', '--json']);
    expect(stderr).toMatch(/it began\n\S+: FINISHED\n$/);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      status: 'FINISHED',
      batchExecutionStatus: 'OK',
      saved: [join('results', 'plots', 'answer.txt')],
    });
    expect(readFileSync(join(folder.path, 'results/plots/answer.txt'), 'utf8')).toBe('42');
    expect(readdirSync(join(folder.path, 'results/plots'))).toEqual(['answer.txt']);

    const again = await wb(hub, [...args, '--out', 'results']);
    expect(again.code).toBe(1);
    expect(again.stderr).toMatch(/^wb: results is not empty/);
    expect(again.stderr).toMatch(
      /exists already.*\n.*Save its outputs with: wb result [\w-]+ --out FOLDER\n$/,
    );
    expect((await wb(hub, [...args, '--out', 'results', '--overwrite', '--quiet'])).code).toBe(0);
  });

  it('has the exit code of the job, and says what is wrong with a call', async () => {
    const hub = await startedHub();
    const failing = await wb(hub, ['run', '--script', write('fails.js', "throw new Error('no gear');")]);
    expect(failing).toMatchObject({ code: 1 });
    expect(failing.stderr).toContain('no gear');

    const missing = await wb(hub, ['run', '--script', 'absent.js']);
    expect(missing).toMatchObject({ code: 2, stdout: '' });
    expect(missing.stderr).toContain('absent.js cannot be read');
    expect(await wb(hub, ['run', '--script', 'fails.js', '--var', 'novalue'])).toMatchObject({ code: 2 });
    expect(await wb(hub, ['tasks', '--limit', 'many'])).toMatchObject({ code: 2 });
    expect(await wb(hub, ['nonsense'])).toMatchObject({ code: 2 });
    const nowhere = await wb({ baseUrl: 'http://127.0.0.1:9' }, ['health']);
    expect(nowhere.code).toBe(4);
    expect(nowhere.stderr).toContain('cannot be reached');
    const none = await wb(undefined, ['health']);
    expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining('wb login') });
  });

  it('leaves the task on Ctrl-C and says how to attach again, or cancels it', async () => {
    const hub = await startedHub();
    const script = write('waits.js', "console.log('it began'); setInterval(() => {}, 1000);");
    const first = call(hub, ['run', '--script', script]);
    await eventually(() => first.told().includes('it began'));
    first.child.kill('SIGINT');
    const left = await first.outcome;
    const id = /Attach again with: wb wait (\S+)/.exec(left.stderr)?.[1] ?? '';
    expect(left.code).toBe(130);

    const second = call(hub, ['wait', id]);
    await eventually(() => second.told().includes('it began'));
    expect(await wb(hub, ['cancel', '--force'], `${id}\n`)).toMatchObject({ code: 0, stdout: `${id}\n` });
    expect(await second.outcome).toMatchObject({ code: 3 });

    const third = call(hub, ['run', '--script', script, '--cancel-on-interrupt']);
    await eventually(() => third.told().includes('it began'));
    third.child.kill('SIGINT');
    expect(await third.outcome).toMatchObject({ code: 3 });
    const listed = await wb(hub, ['tasks', '--status', 'canceled', '--json']);
    expect(JSON.parse(listed.stdout)).toHaveLength(2);
  });

  it('of several tasks, waits for the others when one is gone, and for none after Ctrl-C', async () => {
    const hub = await startedHub();
    const ended = (await wb(hub, ['submit', '--script', write('ends.js', '1')])).stdout.trim();
    const unknown = '019aa4f2-6d3c-7c41-9f0e-000000000000';
    const waited = await wb(hub, ['wait', unknown, ended]);
    expect(waited).toMatchObject({ code: 1, stdout: expect.stringContaining(`${ended}: FINISHED`) });
    expect(waited.stderr).toContain(`wb: ${unknown}: task ${unknown} was deleted`);

    const script = write('waits.js', "console.log('it began'); setInterval(() => {}, 1000);");
    const submit = async () => (await wb(hub, ['submit', '--script', script])).stdout.trim();
    const [first, second] = [await submit(), await submit()];
    const waits = call(hub, ['wait', first, second, '--cancel-on-interrupt']);
    await eventually(() => waits.told().includes('it began'));
    waits.child.kill('SIGINT');
    expect(await waits.outcome).toMatchObject({ code: 3, stderr: expect.not.stringContaining(second) });
    const listed = await wb(hub, ['tasks', '--status', 'canceled', '--json']);
    expect(JSON.parse(listed.stdout)).toMatchObject([{ id: first }]);
  });

  it('waits through a restart of the hub', async () => {
    const hub = await startedHub();
    const script = write(
      'waits.js',
      'while (!require("node:fs").existsSync(go)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);'.replace(
        'go',
        JSON.stringify(join(folder.path, 'go')),
      ),
    );
    const call1 = call(hub, ['run', '--script', script, '--json']);
    await eventually(() => call1.told().includes('RUNNING'));
    const port = Number(new URL(hub.baseUrl).port);
    await hub.stop();
    mkdirSync(join(folder.path, 'go'));
    await startedHub({}, port);
    const { code, stdout } = await call1.outcome;
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { status: 'FINISHED' }]);
  });
});

describe('wb', () => {
  it('submits, follows, explains, shows, repeats and deletes tasks', async () => {
    const hub = await startedHub();
    const script = write('run.js', ANSWER);
    const id = (
      await wb(hub, ['submit', '--script', script, '--var', 'factor=7', '--name', 'gears', '--note', NOTE])
    ).stdout.trim();
    const log = await wb(hub, ['log', '--follow', id]);
    expect(log).toMatchObject({ code: 0, stdout: 'it began\n' });
    const shown = await wb(hub, ['task', id]);
    expect(shown.stdout).toContain('variable   factor=7');
    expect(shown.stdout).toContain('note       softer bearing\n           \\u001b[1msecond try\n');
    expect(shown.stdout).toContain('plots/answer.txt, 2 B');

    const other = (await wb(hub, ['rerun', id, '--var', 'factor=8'])).stdout.trim();
    expect(await wb(hub, ['wait', other, '--out', 'again'])).toMatchObject({ code: 0 });
    expect(readFileSync(join(folder.path, 'again/plots/answer.txt'), 'utf8')).toBe('48');
    expect((await wb(hub, ['task', other])).stdout).toContain('scripts/1 (run.js), ');
    expect((await wb(hub, ['tasks', '--name', 'gears'])).stdout.match(/FINISHED/g)).toHaveLength(2);
    expect((await wb(hub, ['tasks', '--note', '*BEARING*'])).stdout.match(/FINISHED/g)).toHaveLength(2);
    expect((await wb(hub, ['tasks', '--note', 'bearing'])).stdout).not.toContain('FINISHED');

    const never = (await wb(hub, ['submit', '--script', script, '--version', '1.*'])).stdout.trim();
    expect((await wb(hub, ['explain', never])).stdout).toContain('1.*');
    expect(await wb(hub, ['delete', id, never])).toMatchObject({ code: 1, stdout: `${id}\n` });
    expect(await wb(hub, ['task', id])).toMatchObject({ code: 1 });
  });

  it('leaves tasks of studies out, unless it is asked for them', async () => {
    const hub = await startedHub();
    const nowhere = ['--script', write('run.js', ANSWER), '--version', '1.*'];
    const alone = (await wb(hub, ['submit', ...nowhere])).stdout.trim();
    const run = ['study', 'run', '--name', 'bearing', ...nowhere, '--vary', 'factor=7,8,9', '--detach'];
    expect(await wb(hub, run)).toMatchObject({ code: 0 });
    const listed = async (...options: string[]) => {
      const { stdout } = await wb(hub, ['tasks', '--json', ...options]);
      return (JSON.parse(stdout) as { id: string; study?: { id: string; point: number } }[]).map(
        ({ id, study }) => study?.point ?? id,
      );
    };
    await eventually(async () => (await listed('--points')).length === 4);
    expect(await listed()).toEqual([alone]);
    expect(await listed('--study', 'bearing')).toEqual([3, 2, 1]);
    expect(await listed('--study', 'bearing', '--limit', '1')).toEqual([3]);
    expect(await wb(hub, ['tasks', '--study', 'gear'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('there is no study with the name gear'),
    });
    const canceled = async (...options: string[]) =>
      (await wb(hub, ['cancel', ...options, '--dry-run'])).stderr.match(/\d+ tasks?/)?.[0];
    expect(await canceled('--status', 'waiting')).toBe('1 task');
    expect(await canceled('--status', 'waiting', '--points')).toBe('4 tasks');
    expect(await canceled('--all')).toBe('4 tasks');
    expect(await canceled('--study', 'bearing')).toBe('3 tasks');
  });

  it('completes commands in the shell', async () => {
    const scripts = {
      bash: '# bash completion for wb',
      zsh: '#compdef wb',
      fish: '# fish completion for wb',
    };
    for (const [shell, beginning] of Object.entries(scripts))
      expect((await wb(undefined, ['complete', shell])).stdout).toContain(beginning);
    expect((await wb(undefined, ['complete', '--', 'inst'])).stdout).toMatch(/^instances\t/m);
    expect((await wb(undefined, ['complete', '--', 'instance', 're'])).stdout).toMatch(/^restart\t/m);
  });

  it('shows instances, starts and stops them, and has their logs', async () => {
    const hub = await startedHub();
    const instances = async () =>
      JSON.parse((await wb(hub, ['instances', '--json'])).stdout) as { id: string; status: string }[];
    expect((await instances()).map(({ id }) => id)).toEqual(['sim-1', 'sim-2']);
    expect(await wb(hub, ['instance', 'stop', 'sim-2'])).toMatchObject({ code: 0 });
    await eventually(async () => (await instances())[1]?.status === 'DOWN');
    expect(await wb(hub, ['instance', 'start', 'none'])).toMatchObject({ code: 1 });
    for (const args of [['sim-1'], ['sim-1', 'stderr']])
      expect(await wb(hub, ['instance', 'log', ...args])).toMatchObject({ code: 0 });
    expect(await wb(hub, ['instance', 'log', 'sim-1', 'other'])).toMatchObject({ code: 2 });
    expect(await wb(hub, ['agents'])).toMatchObject({ code: 0 });
    const enrolled = await wb(hub, ['agent', 'enroll', 'host-1', '--json']);
    expect(JSON.parse(enrolled.stdout)).toMatchObject({ id: 'host-1', code: expect.any(String) });
    expect(await wb(hub, ['agent', 'revoke', 'host-1'])).toMatchObject({ code: 0 });
    expect(await wb(hub, ['agent', 'revoke', 'host-1'])).toMatchObject({ code: 1 });
    expect(await wb(hub, ['health'])).toMatchObject({ code: 0 });
  });

  it('keeps a token in a profile that twenty programs share, and revokes it at the logout', async () => {
    keepSecret(PASSWORD);
    const hub = await startedHub({ security: { enabled: true } });
    const added = await runCommand(
      'hub/bin/workbench-hub.js',
      ['user', 'add', 'anna', '--role', 'ADMIN', '--config', 'hub.yaml'],
      { cwd: folder.path, input: `${PASSWORD}\n` },
    );
    expect(added.code, added.stderr).toBe(0);
    expect(await wb(hub, ['tasks'])).toMatchObject({ code: 5, stderr: expect.stringContaining('wb login') });
    const login = ['login', hub.baseUrl, '--username', 'anna', '--password-stdin'];
    expect(await wb(undefined, login, 'wrong\n')).toMatchObject({ code: 5 });
    expect(await wb(undefined, login, `${PASSWORD}\n`)).toMatchObject({ code: 0 });
    expect(statSync(join(folder.path, 'profiles.json')).mode & 0o777).toBe(0o600);
    const all = await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        at % 5 === 0
          ? wb(undefined, [...login, '--profile', `p${at}`], `${PASSWORD}\n`)
          : wb(undefined, ['tasks', '--json']),
      ),
    );
    expect(all.map(({ code }) => code)).toEqual(new Array(20).fill(0));
    const profiles = JSON.parse((await wb(undefined, ['profiles', '--json'])).stdout) as { name: string }[];
    expect(profiles.map(({ name }) => name)).toEqual(expect.arrayContaining(['p0', 'p5', 'p10', 'p15']));

    const { profiles: stored } = JSON.parse(readFileSync(join(folder.path, 'profiles.json'), 'utf8')) as {
      profiles: Record<string, { token: string }>;
    };
    expect(await wb(undefined, ['logout', '--profile', 'p0'])).toMatchObject({ code: 0 });
    const response = await fetch(`${hub.baseUrl}/api/2.0/user`, {
      headers: { authorization: `Bearer ${stored['p0']?.token}` },
    });
    expect(response.status).toBe(401);
  });

  it('gets a file of the output storage once, and leaves nothing of a failed transfer', async () => {
    const hub = await startedHub({ storage: { output: { enabled: true } } });
    const script = write(
      'store.js',
      "require('node:fs').writeFileSync(process.env.WORKBENCH_OUTPUT_STORAGE + '/data.bin', 'kept');",
    );
    const ran = await wb(hub, ['run', '--script', script, '--json', '--quiet']);
    const { storedFiles } = JSON.parse(ran.stdout) as { storedFiles: { name: string }[] };
    const name = storedFiles[0]?.name ?? '';
    expect(await wb(hub, ['storage', 'get', name, 'data.bin'])).toMatchObject({ code: 0 });
    expect(readFileSync(join(folder.path, 'data.bin'), 'utf8')).toBe('kept');
    expect(await wb(hub, ['storage', 'get', name, 'data.bin'])).toMatchObject({ code: 2 });
    expect(await wb(hub, ['storage', 'get', `${name}x`, 'none.bin'])).toMatchObject({ code: 1 });
    expect(readdirSync(folder.path).filter((file) => /partial|none/.test(file))).toEqual([]);
  });

  it('puts files into the storage, and sends a large model once', async () => {
    const hub = await startedHub({ storage: { input: { enabled: true } } });
    write('table.csv', 'a;b\n');
    expect(await wb(hub, ['storage', 'put', 'table.csv'])).toMatchObject({ code: 0, stdout: 'table.csv\n' });
    expect(await wb(hub, ['storage', 'put', 'table.csv'])).toMatchObject({ code: 1 });
    expect(await wb(hub, ['storage', 'info', 'table.csv'])).toMatchObject({ code: 0 });
    expect((await wb(hub, ['storage', 'ls', 'tab'])).stdout).toMatch(/^NAME .*\ntable.csv +4 B /);
    expect(await wb(hub, ['storage', 'rm', 'table.csv'])).toMatchObject({ code: 0 });
    expect(await wb(hub, ['storage', 'info', 'table.csv'])).toMatchObject({ code: 1 });

    write('model.dat', 'x'.repeat(1024 * 1024));
    const script = write(
      'size.js',
      'console.log(require("node:fs").statSync(process.env.WORKBENCH_MODEL).size)',
    );
    for (let count = 0; count < 2; count++) {
      const { code, stderr } = await wb(hub, ['run', '--model', 'model.dat', '--script', script]);
      expect([code, stderr]).toEqual([0, expect.stringContaining('1048576')]);
    }
    const stored = JSON.parse((await wb(hub, ['storage', 'ls', '--json'])).stdout) as { name: string }[];
    expect(stored.map(({ name }) => name)).toEqual([expect.stringMatching(/^content-[0-9a-f]{32}\.dat$/)]);
  });
});
