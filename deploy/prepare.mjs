// Prepares a clone: checks Node.js, installs missing packages, compiles. Uses no package, since none may be installed
// yet, and only syntax of Node 14, so that an old Node prints a message instead of a syntax error.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { takeCloneLock } from './prepare/clone-lock.mjs';
import { runNode, runNpm } from './prepare/npm.mjs';

export const root = fileURLToPath(new URL('..', import.meta.url));

const HIDDEN_LOCK_FILE = 'node_modules/.package-lock.json';

/** File that exists while an installation is changed, until the scripts of its packages have run. */
const INCOMPLETE = '.incomplete-installation';

/** Projects that hub, agent, the instance programs and wb consist of. */
const PROGRAMS = [
  'hub',
  'agent',
  'packages/runner',
  'packages/workbench-mujoco',
  'packages/cli',
  'packages/one-file',
];

/**
 * Installs and builds; throws an Error whose message says what to do. One process at a time prepares a clone.
 *
 * @param {{ log?: (line: string) => void, forDevelopment?: boolean, whenBuilt?: () => unknown }} [options] `log` receives progress
 *   lines, standard output by default; `forDevelopment` false: only what hub, agent and instance programs need, without types and
 *   tests; `whenBuilt` is called, and awaited, once the sources are compiled, when SQLite may still be compiled
 */
export async function prepare({ log = console.log, forDevelopment = true, whenBuilt } = {}) {
  requireNode();
  const release = await takeCloneLock(root, log);
  try {
    // Packages of development that are there are not removed.
    const wanted = forDevelopment || hasDevelopmentPackages();
    const scripts = await install(log, wanted);
    // Compiling SQLite takes one core for minutes.
    await allOf([scripts?.(), build(log, wanted).then(whenBuilt)]);
  } finally {
    release();
  }
}

/** Waits for all, then throws the first fault: nothing may still be changed in a clone that is released. */
async function allOf(promises) {
  for (const { status, reason } of await Promise.allSettled(promises))
    if (status === 'rejected') throw reason;
}

async function build(log, hasTypes) {
  const started = Date.now();
  log('Build: compiling the TypeScript sources ...');
  // Without the packages of development, types cannot be checked.
  if (hasTypes) await npm(['run', '--silent', 'build'], 'compiling', log);
  else {
    await node('node_modules/@typescript/native/bin/tsc', ['-b', '--noCheck', ...PROGRAMS], log);
    await node('deploy/build-info.mjs', [], log);
    await node('deploy/build-programs.mjs', [], log);
    await node('deploy/build-console.mjs', [], log);
  }
  log(`Build: done in ${seconds(started)} s.`);
}

/** Puts missing packages in place; returns a function that runs the scripts of all packages, unless these have run. */
async function install(log, forDevelopment) {
  if (isInstalled(forDevelopment)) {
    log('Packages: up to date.');
    return undefined;
  }
  const started = Date.now();
  const locked = Object.entries(lockedPackages(forDevelopment));
  const isNew = !isComplete();
  const missing = locked.filter(
    ([path, { optional }]) => !optional && (isNew || !existsSync(join(root, path))),
  );
  log(`Packages: installing ${missing.length} ...`);
  writeFileSync(join(root, INCOMPLETE), '');
  // Adds what is missing; "npm ci" would remove what is there, and compile SQLite again.
  const command = isNew ? ['ci', '--ignore-scripts'] : ['install', '--no-save'];
  const omitted = forDevelopment ? [] : ['--omit=dev'];
  await npm([...command, ...omitted, '--no-audit', '--no-fund'], 'fetching packages', log);
  const complete = () => {
    rmSync(join(root, INCOMPLETE), { force: true });
    log(`Packages: installed in ${seconds(started)} s.`);
  };
  if (!isNew) return complete();
  return () => npm(['rebuild'], 'running the scripts of packages', log).then(complete);
}

function npm(args, activity, log) {
  return runNpm(args, { root, activity, log });
}

function node(script, args, log) {
  return runNode(script, args, { root, activity: 'compiling', log });
}

/** Throws when this Node.js is older than "engines" in package.json allows. */
function requireNode() {
  const floor = readJson('package.json').engines.node.replace('>=', '');
  const [major, minor] = process.versions.node.split('.').map(Number);
  const [floorMajor, floorMinor] = floor.split('.').map(Number);
  if (major < floorMajor || (major === floorMajor && minor < floorMinor)) {
    throw new Error(
      `Workbench Hub needs Node.js ${floor} or newer. This is ${process.versions.node} (${process.execPath}). ` +
        'Install a newer version from https://nodejs.org/ or with your package manager, then try again.',
    );
  }
}

/** True unless nothing was installed, or an installation was interrupted. */
function isComplete() {
  return existsSync(join(root, HIDDEN_LOCK_FILE)) && !existsSync(join(root, INCOMPLETE));
}

/** True when npm's own lock file in node_modules agrees with package-lock.json. */
function isInstalled(forDevelopment) {
  if (!isComplete()) return false;
  const present = readJson(HIDDEN_LOCK_FILE).packages;
  const all = readJson('package-lock.json').packages;
  const same = Object.entries(lockedPackages(forDevelopment)).every(([path, entry]) => {
    const installed = present[path];
    if (!installed) return Boolean(entry.optional); // a build for another system
    return installed.version === entry.version && installed.integrity === entry.integrity;
  });
  return same && Object.keys(present).every((path) => path in all);
}

function hasDevelopmentPackages() {
  const entries = Object.entries(readJson('package-lock.json').packages);
  return entries.some(([path, { dev, optional }]) => dev && !optional && existsSync(join(root, path)));
}

/** Entries of package-lock.json, without the root itself. */
function lockedPackages(forDevelopment) {
  const entries = Object.entries(readJson('package-lock.json').packages);
  return Object.fromEntries(entries.filter(([path, { dev }]) => path !== '' && (forDevelopment || !dev)));
}

function readJson(path) {
  return JSON.parse(readFileSync(join(root, path), 'utf8'));
}

function seconds(started) {
  return ((Date.now() - started) / 1000).toFixed(0);
}
