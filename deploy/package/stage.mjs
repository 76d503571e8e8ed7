// A program with its production packages as a folder that runs anywhere: the common content of all kinds of packages.
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { productionPackages } from './production-packages.mjs';

/** Files that serve development, or a run-time of JavaScript other than Node.js. */
const NOT_FOR_PRODUCTION =
  /\.(?:map|[cm]?ts|tsbuildinfo|bare|flow)$|\.test\.js$|^(?:readme|changelog|history)\.md$/i;
const FOLDERS_NOT_FOR_PRODUCTION = new Set([
  ...['node_modules', '.bin', '.github', 'fixtures', 'test', 'tests', 'benchmarks', 'examples'],
]);

/** Copies of the same code for bundlers and for require(): Node.js loads the other ones here. */
const COPIES =
  /node_modules\/(?:@opentelemetry\/[^/]+\/build\/(?:esm|esnext)|hono\/dist\/cjs|@(?:aws-sdk|smithy)\/[^/]+\/dist-es)$/;

/** Parts of our own packages; everything else there is source. */
const OWN_PARTS = ['package.json', 'bin', 'dist'];

/** Telemetry of Swagger UI, in whose place the lock file has an empty package. */
const NEVER_INSTALLED = ['@scarf/scarf'];

/** Calls of Windows, where the agent is installed as one file. */
const ONLY_IN_SINGLE_FILE = ['koffi'];

/** Parts of the SQLite add-on that compile it and that load it. */
const ADDON_PARTS = {
  sources: ['package.json', 'LICENSE', 'lib', 'binding.gyp', 'deps', 'src'],
  binary: ['package.json', 'LICENSE', 'lib', 'build/Release/better_sqlite3.node'],
};

export const PROGRAMS = {
  hub: {
    name: 'workbench-hub',
    description: 'The central server of Workbench Hub: REST API, durable queue, scheduler',
    workspaces: ['hub', 'agent', 'packages/runner', 'packages/workbench-mujoco'],
    bin: { 'workbench-hub': '@workbench-hub/hub/bin/workbench-hub.js' },
  },
  agent: {
    name: 'workbench-agent',
    description: 'The agent of Workbench Hub: holds workbench instances on a simulation host',
    workspaces: ['agent', 'packages/runner', 'packages/workbench-mujoco'],
    bin: { 'workbench-agent': '@workbench-hub/agent/bin/workbench-agent.js' },
  },
  wb: {
    name: 'workbench-wb',
    description: 'The command line of Workbench Hub: wb',
    workspaces: ['packages/cli'],
    bin: { wb: '@workbench-hub/cli/bin/wb.js' },
    isService: false,
  },
};

/** Programs of the instances, which come with hub and agent. */
export const INSTANCE_PROGRAMS = {
  'workbench-runner': '@workbench-hub/runner/bin/workbench-runner.js',
  'workbench-mujoco': '@workbench-hub/workbench-mujoco/bin/workbench-mujoco.js',
};

/**
 * Copies a program and its packages into `folder`, below `node_modules`.
 *
 * @param {{ root: string, program: keyof typeof PROGRAMS, version: string, folder: string, addon: 'sources' | 'binary', installation: string }}
 *   options `installation`: kind of installation that the program tells (shared/domain/installation.ts); `addon`: the SQLite add-on as what it is compiled from, or as compiled for this Node
 * @returns the packages, as {@link productionPackages} gives them
 */
export function stage({ root, program, version, folder, addon, installation }) {
  const locked = readJson(join(root, 'package-lock.json')).packages;
  const { workspaces } = PROGRAMS[program];
  const without = [
    ...NEVER_INSTALLED,
    ...ONLY_IN_SINGLE_FILE,
    ...(addon === 'binary' ? ['prebuild-install'] : []),
  ];
  const packages = productionPackages(locked, workspaces, { root, without });
  for (const each of packages) {
    const isOurs = !each.from.includes('node_modules/');
    if (isOurs) copyOwnParts(each, { root, folder });
    else copyInstalledParts(each, { root, folder, addon });
    const manifest = join(folder, each.to, 'package.json');
    adaptManifest(manifest, { without, ownVersion: isOurs ? version : undefined });
    if (isOurs) makeExecutable(each, folder);
  }
  const buildInfo = join(folder, 'node_modules/@workbench-hub/shared/dist/build-info.json');
  if (existsSync(buildInfo)) writeJson(buildInfo, { ...readJson(buildInfo), version, installation });
  copy(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  return packages;
}

function copyOwnParts({ from, to, entry }, { root, folder }) {
  for (const part of OWN_PARTS) {
    if (part === 'bin' && !entry.bin) continue;
    const isWanted = part === 'dist' ? hasSource(join(root, from)) : undefined;
    copy(join(root, from, part), join(folder, to, part), isWanted);
  }
}

function copyInstalledParts({ from, to }, { root, folder, addon }) {
  const parts = basename(from) === 'better-sqlite3' ? ADDON_PARTS[addon] : ['.'];
  for (const part of parts) copy(join(root, from, part), join(folder, to, part));
}

function makeExecutable({ to, entry }, folder) {
  for (const file of binFiles(entry.bin)) chmodSync(join(folder, to, file), 0o755);
}

/**
 * Whether a compiled file still has its source: the compiler leaves the output of removed and renamed files.
 *
 * @returns {(file: string) => boolean}
 */
function hasSource(workspace) {
  const compiled = join(workspace, 'dist');
  return (file) =>
    // Programs and the pages of the console are bundles; their builds remove what is old.
    /^(?:program|site)[\\/]/.test(relative(compiled, file)) ||
    !/\.[cm]?js$/.test(file) ||
    existsSync(join(workspace, relative(compiled, file).replace(/js$/, 'ts')));
}

function copy(from, to, isWanted = () => true) {
  if (statSync(from).isDirectory()) return copyFolder(from, to, isWanted);
  mkdirSync(dirname(to), { recursive: true });
  copyFileSync(from, to);
}

function copyFolder(from, to, isWanted) {
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) {
      if (!FOLDERS_NOT_FOR_PRODUCTION.has(entry.name) && !COPIES.test(source))
        copyFolder(source, target, isWanted);
    } else if (entry.isFile() && !NOT_FOR_PRODUCTION.test(entry.name) && isWanted(source)) {
      mkdirSync(to, { recursive: true });
      copyFileSync(source, target);
    }
  }
}

/** Leaves out what is not installed, so that npm does not fetch it; our packages carry one version and ask for one another by it. */
function adaptManifest(file, { without, ownVersion }) {
  const { scripts, devDependencies, dependencies = {}, ...manifest } = readJson(file);
  const kept = Object.entries(dependencies).filter(([name]) => !without.includes(name));
  if (ownVersion === undefined) {
    if (kept.length === Object.keys(dependencies).length) return;
    writeJson(file, { ...manifest, scripts, devDependencies, dependencies: Object.fromEntries(kept) });
    return;
  }
  const ours = kept.map(([name, range]) => [name, name.startsWith('@workbench-hub/') ? ownVersion : range]);
  writeJson(file, { ...manifest, version: ownVersion, dependencies: Object.fromEntries(ours) });
}

function binFiles(bin = {}) {
  return typeof bin === 'string' ? [bin] : Object.values(bin);
}

export function readJson(file) {
  return JSON.parse(readFileSync(file, 'utf8'));
}

export function writeJson(file, value) {
  writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`);
}
