/** The agent as one executable file, which `npm run package` makes (installing.md): on a host where no Node.js is found. */
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
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
import { promisify } from 'node:util';
import { hasSandbox } from '@workbench-hub/agent/fixtures/sandbox';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { base64, outputsOf, restClient } from '../support/interface/rest-client.js';
import { endPrograms, startCommand, startHub } from '../support/programs/programs.js';
import { keepSecret } from '../support/secrets.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const AGENT_ID = 'host-of-one-file';
const VERSION = '1.2.3';
const SYSTEM = `linux-${process.arch}`;
const NAME = `workbench-agent-${VERSION}-${SYSTEM}`;
const WINDOWS_NAME = `workbench-agent-${VERSION}-win-x64.exe`;
const INSTALLER_NAME = `workbench-agent-${VERSION}-win-x64.msi`;

const has = (command: string) => spawnSync(command, ['--version'], { stdio: 'ignore' }).status === 0;
const canMakeInstaller = has('wixl') && has('msiextract');

const FALLING =
  '<mujoco><worldbody><body pos="0 0 1"><freejoint/><geom size=".1"/></body></worldbody></mujoco>';

/** Programs of the host, in the only folder of its search path. */
const TOOLS = ['sh', 'bwrap', 'true'];

let packages: TemporaryFolder;
let site: TemporaryFolder;

beforeAll(async () => {
  packages = await temporaryFolder();
  const forWindows = canMakeInstaller ? ['--only', 'msi'] : ['--only', 'file', '--systems', 'win-x64'];
  for (const kind of [['--only', 'file', '--systems', SYSTEM], forWindows]) {
    const options = [...kind, '--as-built', '--version', VERSION, '--out', packages.path];
    await promisify(execFile)(process.execPath, ['deploy/package.mjs', ...options], { cwd: ROOT });
  }
});
afterAll(() => packages.remove());
beforeEach(async () => {
  site = await temporaryFolder();
});
afterEach(async () => {
  await endPrograms();
  await site.remove();
});

it('enrolls, runs scripts and MuJoCo on the Node.js inside and in a sandbox, and stops', async () => {
  const isSandboxed = await hasSandbox();
  const host = hostWithoutNode();
  const hub = await startHub(site.path, { agents: { enrolledOnly: true } });
  const config = host.write('agent.yaml', {
    id: AGENT_ID,
    hub: hub.baseUrl.replace('http', 'ws'),
    dataDir: join(host.folder, 'data'),
    instances: [
      { id: 'node', version: '1', labels: ['node'] },
      {
        id: 'options',
        version: '1',
        labels: ['options'],
        command: ['workbench-runner', '--interpreter', 'node --stack-trace-limit=3'],
      },
      {
        id: 'other',
        version: '1',
        labels: ['other'],
        command: ['workbench-runner', '--interpreter', process.execPath],
      },
      { id: 'mujoco', version: '1', labels: ['mujoco'], command: ['workbench-mujoco'], count: 2 },
      ...(isSandboxed ? sandboxed({ readOnly: [host.tools] }) : []),
    ],
  });
  expect(host.run(['--version'])).toBe(`${VERSION}\n`);
  const code = enrollmentCode();
  expect(host.run(['enroll', '--config', config], code)).toContain(AGENT_ID);
  expect(host.run(['--check-config', '--config', config])).toMatch(/^The configuration is valid\./);
  expect(host.run(['doctor', '--config', config])).toMatch(
    /start of node: workbench-runner 1\.2\.3 has started/,
  );

  const start = () => startCommand([host.agent, '--config', config], host.folder, { PATH: host.tools });
  const agent = start();
  const client = restClient(hub.baseUrl);
  const outputs = async (label: string, script: string, model?: string) => {
    const id = await client.createBatchJob({
      classifiers: [{ type: 'LABLES', value: label }],
      ...(model === undefined ? {} : { inputModel: { type: 'MJCF', content: base64(model) } }),
      inputScripts: [{ content: base64(script) }],
      variablesToInject: [{ key: 'load', value: '42' }],
    });
    const result = await client.batchJobResult(id);
    expect(result, await client.log(id)).toMatchObject({ batchExecutionStatus: 'OK' });
    return outputsOf(result);
  };
  const module = `import { writeFileSync } from 'node:fs';
writeFileSync('result.txt', \`\${await Promise.resolve(load)} \${process.execPath}\`);`;
  expect(await outputs('node', module)).toEqual({ 'result.txt': `42 ${host.agent}` });
  const script = `const { fork } = require('node:child_process');
const { writeFileSync } = require('node:fs');
const answers = [Error.stackTraceLimit, require.main === module, process.argv.length];
writeFileSync('child.cjs', 'println(load); process.send(Error.stackTraceLimit);');
fork('./child.cjs').on('message', (message) => writeFileSync('result.txt', [...answers, message].join(' ')));`;
  expect(await outputs('options', script)).toMatchObject({ 'result.txt': '3 true 2 3' });
  // A script that needs Node.js runs in a thread of its own, others in a realm.
  const fall = `mujoco.mj_step(model, data);
require('node:fs').writeFileSync('result.txt', [load, data.qpos[2] < 1].join(' '));`;
  const forked = `${fall}
require('node:fs').writeFileSync('child.cjs', "require('node:fs').writeFileSync('child.txt', process.execPath)");
require('node:child_process').execFileSync(process.execPath, ['child.cjs']);`;
  expect(await outputs('mujoco', fall, FALLING)).toEqual({ 'result.txt': '42 true' });
  expect(await outputs('mujoco', forked, FALLING)).toMatchObject({
    ...{ 'result.txt': '42 true', 'child.txt': host.agent },
  });
  if (isSandboxed) {
    expect(await outputs('mujoco-shut', fall, FALLING)).toEqual({ 'result.txt': '42 true' });
    expect(await outputs('shut', '#!/bin/sh\necho $HOME > home.txt')).toEqual({ 'home.txt': '/tmp/home\n' });
    expect(await outputs('shut', module)).toEqual({ 'result.txt': `42 ${host.agent}` });
  }
  expect(await agent.stop()).toBe(0);

  // An agent of another version has left its own.
  const programs = join(host.folder, 'data', 'programs');
  const unpacked = readdirSync(programs);
  expect(unpacked).toEqual([expect.stringMatching(/^workbench-mujoco-[0-9a-f]{16}$/)]);
  mkdirSync(join(programs, 'workbench-mujoco-earlier', 'dist'), { recursive: true });
  const next = start();
  expect(await outputs('mujoco', fall, FALLING)).toEqual({ 'result.txt': '42 true' });
  expect(readdirSync(programs)).toEqual(unpacked);
  expect(await next.stop()).toBe(0);
});

it('says what is inside, and has digests beside it', () => {
  const folder = packages.path;
  const sums = execFileSync('sha256sum', ['--check', 'SHA256SUMS'], { cwd: folder, encoding: 'utf8' });
  expect(sums.trim().split('\n').sort()).toEqual(
    [NAME, WINDOWS_NAME, ...(canMakeInstaller ? [INSTALLER_NAME] : [])]
      .flatMap((name) => [`${name}.cdx.json: OK`, `${name}: OK`])
      .sort(),
  );
  const { metadata, components } = JSON.parse(
    readFileSync(join(folder, `${NAME}.cdx.json`), 'utf8'),
  ) as Contents;
  expect(metadata.component.hashes[0]?.content).toBe(
    createHash('sha256')
      .update(readFileSync(join(folder, NAME)))
      .digest('hex'),
  );
  const licenses = execFileSync(join(folder, NAME), ['licenses'], { encoding: 'utf8' });
  const versions = new Map(components.map(({ name, version }) => [name, version]));
  expect(versions.get('@workbench-hub/runner')).toBe(VERSION);
  expect(licenses).toContain(`Node.js ${versions.get('node')}\n`);
  for (const { purl, name, version } of components) {
    expect(purl).toMatch(/^pkg:npm\/.+@\d/);
    if (name === 'node' || name.startsWith('@workbench-hub/')) continue;
    expect(licenses).toContain(`\n${name} ${version}: `);
  }
  expect(versions.has('commander')).toBe(true);
});

it.runIf(canMakeInstaller)(
  'has an installer for Windows with the same file, which updates the version before',
  () => {
    const installer = join(packages.path, INSTALLER_NAME);
    execFileSync('msiextract', ['--directory', site.path, installer], { stdio: 'ignore' });
    const installed = readFileSync(join(site.path, 'Workbench agent/workbench-agent.exe'));
    expect(installed.equals(readFileSync(join(packages.path, WINDOWS_NAME)))).toBe(true);
    const table = (name: string) =>
      execFileSync('msiinfo', ['export', installer, name], { encoding: 'utf8' });
    expect(table('Property')).toMatch(new RegExp(`^ProductVersion\\s+${VERSION}\\r?$`, 'm'));
    // Versions below this one are removed, and the service is stopped first.
    expect(table('Upgrade')).toMatch(new RegExp(`\\t\\t${VERSION}\\t\\t1\\t\\tWIX_UPGRADE_DETECTED`));
    expect(table('ServiceControl')).toContain('workbench-agent');
  },
);

it('is a program for Windows with the agent as a resource and without the signature of another', () => {
  const program = readFileSync(join(packages.path, WINDOWS_NAME));
  const header = program.readUInt32LE(0x3c);
  expect(program.toString('latin1', header, header + 4)).toBe('PE\0\0');
  const directory = (index: number) => {
    const at = header + 24 + 112 + index * 8;
    return { address: program.readUInt32LE(at), size: program.readUInt32LE(at + 4) };
  };
  const [resources, signature] = [2, 4];
  expect(directory(signature)).toEqual({ address: 0, size: 0 });
  // The content of the file: the bundle alone is larger.
  expect(directory(resources).size).toBeGreaterThan(2 ** 22);
  const section = sectionAt(program, header, directory(resources).address);
  expect(section.includes(Buffer.from('NODE_SEA_BLOB', 'utf16le'))).toBe(true);
  expect(section.includes('workbench-runner')).toBe(true);
  expect(program.includes('NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2:1')).toBe(true);
});

/** The bytes of the section of a program for Windows that is loaded at an address. */
function sectionAt(program: Buffer, header: number, address: number): Buffer {
  const first = header + 24 + program.readUInt16LE(header + 20);
  const count = program.readUInt16LE(header + 6);
  const places = Array.from({ length: count }, (_, index) => first + index * 40);
  const found = places.find((at) => program.readUInt32LE(at + 12) === address);
  if (found === undefined) throw new Error(`no section is loaded at ${address}`);
  const start = program.readUInt32LE(found + 20);
  return program.subarray(start, start + program.readUInt32LE(found + 16));
}

interface Contents {
  readonly metadata: { readonly component: { readonly hashes: readonly { readonly content: string }[] } };
  readonly components: readonly { readonly name: string; readonly version: string; readonly purl: string }[];
}

/** Instances in a sandbox each. */
function sandboxed(settings: { readonly readOnly: readonly string[] }) {
  const sandbox = { kind: 'bubblewrap', ...settings };
  return [
    { id: 'shut', version: '1', labels: ['shut'], sandbox },
    { id: 'mujoco-shut', version: '1', labels: ['mujoco-shut'], command: ['workbench-mujoco'], sandbox },
  ];
}

/** A folder with the file, and a search path on which there is no Node.js. */
function hostWithoutNode() {
  const folder = join(site.path, 'host');
  const tools = join(site.path, 'tools');
  mkdirSync(folder);
  mkdirSync(tools);
  for (const tool of TOOLS) {
    const found = (process.env['PATH'] ?? '').split(delimiter).map((each) => join(each, tool));
    const program = found.find((path) => existsSync(path));
    if (program !== undefined) symlinkSync(program, join(tools, tool));
  }
  const agent = join(folder, 'workbench-agent');
  copyFileSync(join(packages.path, NAME), agent);
  return {
    folder,
    tools,
    agent,
    write: (name: string, content: object) => {
      const path = join(folder, name);
      writeFileSync(path, JSON.stringify(content));
      return path;
    },
    run: (args: readonly string[], input = '') =>
      execFileSync(agent, args, { input, encoding: 'utf8', cwd: folder, env: { PATH: tools } }),
  };
}

function enrollmentCode(): string {
  const hub = [join(ROOT, 'hub/bin/workbench-hub.js'), '--config', join(site.path, 'hub.yaml')];
  const code = execFileSync(process.execPath, [...hub, 'agent', 'enroll', AGENT_ID], {
    encoding: 'utf8',
  }).trim();
  keepSecret(code);
  return code;
}

it('runs commands itself when it was installed after the version that a hub has sent', () => {
  const host = hostWithoutNode();
  const dataDir = join(host.folder, 'data');
  const config = host.write('agent.yaml', {
    hub: 'ws://127.0.0.1:9',
    token: 'token',
    dataDir,
    instances: [{ id: 'sim', version: '1' }],
  });
  const versions = join(dataDir, 'versions');
  mkdirSync(join(versions, 'sent'), { recursive: true });
  writeFileSync(join(versions, 'sent', 'workbench-agent'), '#!/bin/sh\necho the version of the hub\n', {
    mode: 0o755,
  });
  const state = {
    installed: '1.0.0 earlier',
    current: 'sent',
    crashes: 0,
    trial: null,
    untried: null,
    failed: [],
  };
  writeFileSync(join(versions, 'state.json'), JSON.stringify(state));
  expect(host.run(['--check-config', '--config', config])).toMatch(/^The configuration is valid/);
});
