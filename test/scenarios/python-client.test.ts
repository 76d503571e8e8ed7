/** The Python client: its own tests, by Debian's Python, against real hubs with an agent and MuJoCo. They run the code blocks
 *  of packages/docs/python.md, too. */
import { execFile, spawnSync } from 'node:child_process';
import { cpSync, existsSync, readdirSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ERROR_CODES, HubError } from '@workbench-hub/hub/core/errors';
import { statusOf } from '@workbench-hub/hub/http/wire/errors';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { eventually } from '../support/eventually.js';
import { authority } from '../support/hubs/certificates.js';
import { restClient } from '../support/interface/rest-client.js';
import { endPrograms, startAgent, startHub } from '../support/programs/programs.js';
import { runCommand } from '../support/programs/run-command.js';
import { keepSecret } from '../support/secrets.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const LIMIT_MS = 300_000;
vi.setConfig({ testTimeout: LIMIT_MS });

const PACKAGE = fileURLToPath(new URL('../../packages/client-python', import.meta.url));
/** Another Python comes first in the path of some machines, without Debian's packages. */
const PYTHON = existsSync('/usr/bin/python3') ? '/usr/bin/python3' : 'python3';
const PASSWORD = 'correct horse battery staple';

/** Whether Python has these modules; each is tried alone, since some cannot be loaded after others. */
const has = (...modules: string[]) =>
  modules.every((module) => spawnSync(PYTHON, ['-c', `import ${module}`]).status === 0);

interface PythonRun {
  readonly code: number;
  readonly output: string;
}

/** Runs Python in the folder of the package, without the caches that it would leave there. A run that hangs is ended in time to
 *  show where: by SIGABRT, at which Python prints the stack of each thread. */
function python(args: readonly string[], env: NodeJS.ProcessEnv = {}, cwd = PACKAGE): Promise<PythonRun> {
  return new Promise((resolve) => {
    const settings = { PYTHONDONTWRITEBYTECODE: '1', PYTHONPATH: PACKAGE, ...env };
    execFile(
      PYTHON,
      ['-X', 'faulthandler', ...args],
      {
        cwd,
        env: { ...process.env, ...settings },
        timeout: LIMIT_MS - 10_000,
        killSignal: 'SIGABRT',
      },
      (error, stdout, stderr) =>
        resolve({ code: error ? Number(error.code ?? -1) : 0, output: stdout + stderr }),
    );
  });
}

describe.skipIf(!has('sys'))('the Python client', () => {
  let folder: TemporaryFolder;
  let site: NodeJS.ProcessEnv;

  beforeAll(async () => {
    folder = await temporaryFolder();
    site = await startSite(folder.path);
  });
  afterAll(async () => {
    await endPrograms();
    await folder.remove();
  });

  it.each([
    'test_parts',
    'test_calls',
    'test_transfers',
    'test_events',
    'test_hub',
    'test_secure',
    'test_interface',
    'test_studies',
  ])('passes %s', async (name) => {
    const { code, output } = await python(['-W', 'error', '-m', 'unittest', '-v', `tests.${name}`], site);
    expect(code, output).toBe(0);
    expect(output).toMatch(/^OK$/m);
  });

  it.skipIf(!has('scipy', 'optuna'))('does what its page says, with optimizers', async () => {
    const { code, output } = await python(['-m', 'unittest', 'tests.test_docs'], site);
    expect(code, output).toBe(0);
    expect(output).toMatch(/^OK$/m);
  });
});

describe.skipIf(!has('sys'))('the Python client on a hub that restarts', () => {
  let folder: TemporaryFolder;
  afterEach(async () => {
    await endPrograms();
    await folder.remove();
  });

  it('continues to wait, and gets its results', async () => {
    folder = await temporaryFolder();
    const hub = await startHub(folder.path);
    startAgent(folder.path, hub, 'host', { instances: [{ id: 'sim', version: '1', count: 2 }] });
    const program = [
      'from workbench_hub import Hub',
      `hub = Hub(${JSON.stringify(hub.baseUrl)})`,
      'tasks = [hub.submit(duration=3) for _ in range(2)]',
      'print([hub.wait(task).status for task in tasks])',
    ].join('\n');
    const ended = python(['-c', program]);
    const client = restClient(hub.baseUrl);
    const running = async () => (await client.instances('&working=true')).length === 2;
    await eventually(running);
    await hub.kill();
    await startHub(folder.path, {}, Number(new URL(hub.baseUrl).port));
    expect(await ended).toEqual({ code: 0, output: "['FINISHED', 'FINISHED']\n" });
  });

  it('follows its tasks, misses none, and is not told to begin anew', async () => {
    folder = await temporaryFolder();
    let hub = await startHub(folder.path);
    const port = Number(new URL(hub.baseUrl).port);
    const client = restClient(hub.baseUrl);
    const { cursor } = (await client.call('/api/x/tasks')).json() as { cursor: string };
    const program = [
      'from workbench_hub import Hub',
      `for event in Hub(${JSON.stringify(hub.baseUrl)}).events(since="${cursor}"):`,
      '    print(event.type, event.id)',
      `    open(${JSON.stringify(join(folder.path, 'listens'))}, "w").close()`,
      '    if event.type == "removed": break',
    ].join('\n');
    const following = python(['-c', program]);
    await eventually(() => existsSync(join(folder.path, 'listens')), 30_000);
    const ids: string[] = [];
    for (let kills = 0; kills < 3; kills++) {
      ids.push(await client.createSimulateWork({ duration: 0 }));
      await hub.kill();
      hub = await startHub(folder.path, {}, port);
    }
    for (const verb of ['cancel', 'delete'])
      await client.call(`/api/2.0/workbench/task/${ids[0]}/${verb}`, { method: 'DELETE' });
    const { code, output } = await following;
    expect(code, output).toBe(0);
    const told = output
      .trim()
      .split('\n')
      .filter((line) => !line.startsWith('hello'));
    expect(told.at(-1)).toBe(`removed ${ids[0]}`);
    // The first task may have been removed before it was told.
    expect(told).toEqual(expect.arrayContaining(ids.slice(1).map((id) => `task ${id}`)));
    expect(told).not.toContain('reset None');
  });
});

describe.skipIf(!has('sys'))('the package of the Python client', () => {
  const newer =
    'import ast, pathlib, sys\n' +
    'for path in pathlib.Path(".").rglob("*.py"): ast.parse(path.read_text(), str(path), feature_version=(3, 9))';

  it('has the syntax of Python 3.9', async () => {
    expect(await python(['-c', newer])).toEqual({ code: 0, output: '' });
  });

  it.skipIf(!has('mypy'))('is typed throughout', async () => {
    const cache = await temporaryFolder();
    const files = ['workbench_hub', 'tests', 'generate_schemas.py', 'build_wheel.py'];
    const { code, output } = await python(['-m', 'mypy', '--cache-dir', cache.path, ...files]);
    await cache.remove();
    expect(code, output).toBe(0);
  });

  it.skipIf(!has('pip'))(
    'is installed by pip from its folder, and from its wheel, without an index',
    async () => {
      const folder = await temporaryFolder();
      try {
        const source = join(folder.path, 'source');
        cpSync(PACKAGE, source, { recursive: true });
        const built = await python(['build_wheel.py', join(folder.path, 'wheels')]);
        expect(built.code, built.output).toBe(0);
        const wheel = readdirSync(join(folder.path, 'wheels'));
        expect(wheel).toEqual(['workbench_hub-0.1.0-py3-none-any.whl']);
        for (const [name, from] of [
          ['folder', source],
          ['wheel', join(folder.path, 'wheels', String(wheel[0]))],
        ] as const) {
          const target = join(folder.path, name);
          const offline = ['--no-index', '--disable-pip-version-check'];
          const installed = await python(
            ['-m', 'pip', 'install', ...offline, '--target', target, from],
            {},
            folder.path,
          );
          expect(installed.code, installed.output).toBe(0);
          const use =
            'import workbench_hub, workbench_hub.schemas; print(workbench_hub.__file__, workbench_hub.__version__)';
          const used = await python(['-c', use], { PYTHONPATH: target }, folder.path);
          expect(used.output).toBe(`${join(target, 'workbench_hub', '__init__.py')} 0.1.0\n`);
          expect(existsSync(join(target, 'workbench_hub', 'py.typed'))).toBe(true);
        }
      } finally {
        await folder.remove();
      }
    },
  );
});

/** Starts an open hub with an agent, and one with login and TLS; returns what the tests in Python read. */
async function startSite(folder: string): Promise<NodeJS.ProcessEnv> {
  const [open, secure] = [join(folder, 'open'), join(folder, 'secure')];
  for (const path of [open, secure]) await mkdir(path);
  const hub = await startHub(open);
  startAgent(open, hub, 'host', {
    instances: [
      { id: 'mujoco', version: '3.14.0', labels: ['mujoco'], count: 2, command: ['workbench-mujoco'] },
      { id: 'node', version: '20', labels: ['node'], count: 3 },
      { id: 'spare', version: '1', labels: ['spare'] },
    ],
  });
  const client = restClient(hub.baseUrl);
  await eventually(async () => (await client.instances('&status=UP')).length === 6);

  keepSecret(PASSWORD);
  const hashed = await runCommand('hub/bin/workbench-hub.js', ['hash-password'], {
    cwd: secure,
    input: `${PASSWORD}\n`,
  });
  const user = (username: string, role: string) => ({
    username,
    passwordHash: hashed.stdout.trim(),
    roles: [role],
  });
  const ca = await authority(folder, 'company');
  const tls = await ca.issue({ name: 'hub', hosts: ['127.0.0.1', 'hub.test'] });
  const users = [user('anna', 'USER'), user('root', 'ADMIN')];
  const secureHub = await startHub(secure, {
    server: { port: 0, tls },
    storage: { input: { maxFileSize: '1MiB' } },
    security: { enabled: true, accessTokenLifetime: '1s', users },
  });
  const codes = ERROR_CODES.map((code) => [code, statusOf(new HubError(code, ''))]);
  return {
    WB_TEST_URL: hub.baseUrl,
    WB_TEST_SECURE_URL: secureHub.baseUrl,
    WB_TEST_CA_FILE: ca.file,
    WB_TEST_CODES: JSON.stringify(Object.fromEntries(codes)),
  };
}
