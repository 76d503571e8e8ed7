/** The packages that `npm run package` makes (installing.md): installed on a clean root, used, upgraded and removed. */
import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { base64, outputsOf, restClient } from '../support/interface/rest-client.js';
import { canMakeDebianRoots, debianRoot } from '../support/programs/debian-root.js';
import { endPrograms, startCommand } from '../support/programs/programs.js';
import { keepSecret } from '../support/secrets.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const VERSIONS = ['0.1.0', '0.1.1'] as const;
const AGENT_ID = 'packaged-host';
const MAX_INSTALLED_BYTES = 160 * 2 ** 20;

/** Hub and agent as some package installed them; each command is one that runs the program, with its configuration. */
interface Installation {
  readonly hub: readonly string[];
  readonly agent: readonly string[];
}

let packages: TemporaryFolder;

beforeAll(async () => {
  packages = await temporaryFolder();
  const kinds = ['npm', 'clients', ...(canMakeDebianRoots() ? ['deb'] : [])];
  for (const version of VERSIONS) {
    for (const kind of kinds) {
      // Another build would remove bundles from which other tests start programs.
      const options = ['--quick', '--as-built', '--out', packages.path, '--version', version, '--only', kind];
      await promisify(execFile)(process.execPath, ['deploy/package.mjs', ...options], { cwd: ROOT });
    }
  }
}, 600_000);
afterAll(() => packages.remove());
afterEach(endPrograms);

describe('the tarballs', () => {
  it('are installed by npm without network or compiler, run jobs, and keep data through upgrade and removal', {
    timeout: 300_000,
  }, async () => {
    const site = await temporaryFolder();
    onTestFinished(site.remove);
    const prefix = join(site.path, 'prefix');
    const npm = (...args: readonly string[]) => runNpm(site.path, ['--global', '--prefix', prefix, ...args]);
    const tarballs = (version: string) =>
      ['hub', 'agent', 'wb'].map((name) => join(packages.path, `workbench-${name}-${version}.tgz`));

    npm('install', ...tarballs(VERSIONS[0]));
    for (const name of ['workbench-hub', 'workbench-agent']) {
      expect(sizeOf(join(prefix, 'lib/node_modules', name))).toBeLessThan(MAX_INSTALLED_BYTES);
    }
    const wb = await promisify(execFile)(join(prefix, 'bin/wb'), ['--wb-version']);
    expect(wb.stdout).toBe(`${VERSIONS[0]}\n`);
    const { hubFile, agentFile } = await configure(site.path, site.path);
    const installation: Installation = {
      hub: [join(prefix, 'bin/workbench-hub'), '--config', hubFile],
      agent: [join(prefix, 'bin/workbench-agent'), '--config', agentFile],
    };
    const first = await runJobs(installation, VERSIONS[0], { enroll: true });
    npm('install', ...tarballs(VERSIONS[1]));
    await runJobs(installation, VERSIONS[1], { earlier: first });
    npm('uninstall', 'workbench-hub', 'workbench-agent', 'workbench-wb');
    expect(readdirSync(join(prefix, 'bin'))).toEqual([]);
    expect(existsSync(join(site.path, 'workbench-hub/accounts.sqlite'))).toBe(true);
  });
});

describe.skipIf(!canMakeDebianRoots())('the Debian packages', () => {
  it('are installed without Node.js, run jobs as users of their own, keep data and settings until they are purged', {
    timeout: 300_000,
  }, async () => {
    const root = debianRoot();
    onTestFinished(root.remove);
    const at = (path: string) => join(root.path, path);
    const names = ['workbench-hub', 'workbench-agent'];
    const debs = (version: string) =>
      names.map((name) => join(packages.path, `${name}_${version}_${architecture()}.deb`));

    root.dpkg('--install', ...debs(VERSIONS[0]));
    for (const name of names) expect(sizeOf(at(`usr/lib/${name}`))).toBeLessThan(MAX_INSTALLED_BYTES);
    for (const file of debs(VERSIONS[0])) {
      const control = execFileSync('dpkg-deb', ['--field', file, 'Maintainer', 'Description'], {
        encoding: 'utf8',
      });
      expect(control).toMatch(/^Maintainer: [^<>]+ <[^<>@ ]+@[^<>@ ]+>$/m);
      expect(control).toContain(` Node.js ${process.versions.node}`);
      expect(control).not.toContain('.invalid');
    }
    for (const [name, file] of [
      ['workbench-hub', 'hub.yaml'],
      ['workbench-agent', 'agent.yaml'],
    ] as const) {
      expect(modesOf(at(`etc/${name}`), at(`etc/${name}/${file}`))).toEqual([0o750, 0o640]);
      expect(modesOf(at(`var/lib/${name}`), at(`var/log/${name}`))).toEqual([0o700, 0o750]);
    }
    const enabled = at('etc/systemd/system/multi-user.target.wants');
    expect(readdirSync(enabled)).toEqual(['workbench-hub.service']);
    await configure(at('etc'), '/var/lib');
    const inRoot = (name: string, file: string) => [
      ...root.inside(name),
      ...[name, '--config', `/etc/${name}/${file}`],
    ];
    const installation: Installation = {
      hub: inRoot('workbench-hub', 'hub.yaml'),
      agent: inRoot('workbench-agent', 'agent.yaml'),
    };
    const settings = () => readFileSync(at('etc/workbench-hub/hub.yaml'), 'utf8');
    const changed = settings();

    const first = await runJobs(installation, VERSIONS[0], { enroll: true });
    root.dpkg('--install', ...debs(VERSIONS[1]));
    expect(settings()).toBe(changed);
    await runJobs(installation, VERSIONS[1], { earlier: first });

    const wb = join(packages.path, `workbench-wb_${VERSIONS[1]}_${architecture()}.deb`);
    root.dpkg('--install', wb);
    expect(run([...root.inside('workbench-hub'), 'wb', '--version']).trim()).toBe(VERSIONS[1]);
    root.dpkg('--purge', 'workbench-wb');

    root.dpkg('--remove', ...names);
    expect(existsSync(at('usr/bin/workbench-hub'))).toBe(false);
    expect(settings()).toBe(changed);
    expect(existsSync(at('var/lib/workbench-hub/accounts.sqlite'))).toBe(true);
    root.dpkg('--purge', ...names);
    const left = ['usr/lib', 'var/lib', 'var/log', 'etc', 'etc/logrotate.d', 'etc/systemd/system']
      .filter((folder) => existsSync(at(folder)))
      .flatMap((folder) => readdirSync(at(folder)).filter((name) => name.startsWith('workbench')));
    expect(left).toEqual([]);
  });
});

describe('the packages of the clients', () => {
  it('are installed by npm and pip without network', { timeout: 120_000 }, async () => {
    const site = await temporaryFolder();
    onTestFinished(site.remove);
    const [version] = VERSIONS;
    writeFileSync(join(site.path, 'package.json'), '{ "type": "module" }');
    runNpm(site.path, ['install', join(packages.path, `workbench-hub-client-${version}.tgz`)]);
    const use = [
      "import { Hub } from '@workbench-hub/client';",
      "import { file } from '@workbench-hub/client/node';",
      "console.log(new Hub({ url: 'http://hub.example' }).url, (await file('package.json')).name);",
    ].join(' ');
    const module = ['--input-type=module', '--eval', use];
    const said = execFileSync(process.execPath, module, { cwd: site.path, encoding: 'utf8' });
    expect(said).toBe('http://hub.example package.json\n');
    const types = 'node_modules/@workbench-hub/client/dist/index.d.ts';
    expect(existsSync(join(site.path, types))).toBe(true);

    const wheels = VERSIONS.map((each) => `workbench_hub-${each}-py3-none-any.whl`);
    expect(readdirSync(packages.path).filter((name) => name.endsWith('.whl'))).toEqual(wheels);
    const target = join(site.path, 'python');
    const pip = ['-m', 'pip', 'install', '--no-index', '--disable-pip-version-check', '--target', target];
    execFileSync('python3', [...pip, join(packages.path, String(wheels[1]))], { stdio: 'ignore' });
    const show = 'import workbench_hub; print(workbench_hub.__version__)';
    const env = { ...process.env, PYTHONPATH: target };
    expect(execFileSync('python3', ['-c', show], { env, encoding: 'utf8' })).toBe(`${VERSIONS[1]}\n`);
  });
});

it('has a list of the contents beside each package, and the digests of all', () => {
  const folder = packages.path;
  const files = readdirSync(folder).filter((name) => name !== 'SHA256SUMS');
  const sums = execFileSync('sha256sum', ['--check', 'SHA256SUMS'], { cwd: folder, encoding: 'utf8' });
  expect(sums.trim().split('\n').sort()).toEqual(files.map((name) => `${name}: OK`).sort());
  const contentsOf = (name: string) => {
    const list = JSON.parse(readFileSync(join(folder, `${name}.cdx.json`), 'utf8')) as {
      readonly components: readonly { readonly name: string; readonly version: string }[];
    };
    return new Map(list.components.map((component) => [component.name, component.version]));
  };
  const packed = files.filter((name) => !name.endsWith('.cdx.json'));
  for (const name of packed) expect(contentsOf(name).size > 0, name).toBe(!name.endsWith('.whl'));
  const hub = contentsOf(`workbench-hub-${VERSIONS[1]}.tgz`);
  expect(hub.get('@workbench-hub/shared')).toBe(VERSIONS[1]);
  expect(hub.get('better-sqlite3')).toMatch(/^\d/);
  expect(hub.has('vitest')).toBe(false);
  for (const name of packed) {
    expect(contentsOf(name).get('node'), name).toBe(
      name.endsWith('.deb') ? process.versions.node : undefined,
    );
  }
});

/** Starts hub and agent, runs a job on each instance program, and stops them; resolves with the id of a task. */
async function runJobs(
  { hub, agent }: Installation,
  version: string,
  { enroll = false, earlier }: { readonly enroll?: boolean; readonly earlier?: string },
): Promise<string> {
  expect(run([...hub, '--version']).trim()).toBe(version);
  const hubProgram = startCommand(hub, '/');
  const { address } = await hubProgram.logged((line) => typeof line['address'] === 'string');
  if (enroll) {
    const code = run([...hub, 'agent', 'enroll', AGENT_ID]).trim();
    keepSecret(code);
    run([...agent, 'enroll'], code);
  }
  const agentProgram = startCommand(agent, '/');
  const client = restClient(String(address));
  const job = (label: string, script: string) =>
    client.createBatchJob({
      classifiers: [{ type: 'LABLES', value: label }],
      inputModel: { type: label === 'mujoco' ? 'MJCF' : 'TXT', content: base64('<mujoco/>') },
      inputScripts: [{ content: base64(script) }],
    });
  const shell = await job('shell', 'echo 42 > result.txt');
  const mujoco = await job('mujoco', 'mujoco.mj_step(model, data); println(data.time);');
  expect(outputsOf(await client.batchJobResult(shell))).toEqual({ 'result.txt': '42\n' });
  expect(await client.batchJobResult(mujoco)).toMatchObject({ status: 'FINISHED' });
  if (earlier !== undefined) {
    expect(outputsOf(await client.batchJobResult(earlier))).toEqual({ 'result.txt': '42\n' });
  }
  expect(await agentProgram.stop()).toBe(0);
  expect(await hubProgram.stop()).toBe(0);
  return shell;
}

/** Writes both configurations below `folder`, as seen by programs that have their data below `data`. */
async function configure(folder: string, data: string) {
  const port = await freePort();
  const write = (name: string, file: string, config: object) => {
    const path = join(folder, name, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, JSON.stringify({ dataDir: join(data, name), ...config }));
    return path;
  };
  const hubFile = write('workbench-hub', 'hub.yaml', { server: { port }, agents: { enrolledOnly: true } });
  const agentFile = write('workbench-agent', 'agent.yaml', {
    id: AGENT_ID,
    hub: `ws://127.0.0.1:${port}`,
    instances: [
      { id: 'sh', version: '1', labels: ['shell'], command: ['workbench-runner', '--interpreter', 'sh'] },
      { id: 'mujoco', version: '3', labels: ['mujoco'], command: ['workbench-mujoco'] },
    ],
  });
  return { hubFile, agentFile };
}

/** Neither settings nor cache of this user, no registry, no proxy that leads anywhere, and no compiler. */
function runNpm(folder: string, args: readonly string[]): void {
  const nowhere = 'http://127.0.0.1:9/';
  execFileSync('npm', [...args, '--no-audit', '--no-fund'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      PATH: [dirname(process.execPath), '/usr/bin', '/bin'].join(':'),
      HOME: folder,
      npm_config_cache: join(folder, 'cache'),
      npm_config_registry: nowhere,
      npm_config_proxy: nowhere,
      npm_config_https_proxy: nowhere,
      ...{ CC: 'false', CXX: 'false', PYTHON: 'false' },
    },
  });
}

function run([command = '', ...args]: readonly string[], input = ''): string {
  return execFileSync(command, args, { input, encoding: 'utf8', cwd: '/', stdio: ['pipe', 'pipe', 'pipe'] });
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}

function sizeOf(folder: string): number {
  return Number(run(['du', '-s', '-B1', folder]).split('\t')[0]);
}

function modesOf(...paths: readonly string[]): number[] {
  return paths.map((path) => statSync(path).mode & 0o777);
}

function architecture(): string {
  return run(['dpkg', '--print-architecture']).trim();
}
