// Prepares a clone: checks Node.js, installs missing packages, compiles. Uses no package, since none may be installed
// yet, and only syntax of Node 14, so that an old Node prints a message instead of a syntax error.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));

const HEARTBEAT_MS = 10_000;

/**
 * Installs and builds; throws an Error whose message says what to do.
 *
 * @param {{ log?: (line: string) => void }} [options] receiver of progress lines; standard output by default
 */
export async function prepare({ log = console.log } = {}) {
  requireNode();
  const started = Date.now();
  if (isInstalled()) {
    log('Packages: up to date.');
  } else {
    log(
      'Packages: installing (a minute, or several when SQLite has no build for this machine and is compiled) ...',
    );
    await runNpm(['ci', '--no-audit', '--no-fund', '--loglevel=error'], 'installing packages', log);
    log(`Packages: installed in ${seconds(started)} s.`);
  }
  const buildStarted = Date.now();
  log('Build: compiling ...');
  await runNpm(['run', '--silent', 'build'], 'compiling', log);
  log(`Build: done in ${seconds(buildStarted)} s.`);
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

/** True when npm's own lock file in node_modules equals package-lock.json. */
function isInstalled() {
  if (!existsSync(join(root, 'node_modules/.package-lock.json'))) return false;
  const wanted = readJson('package-lock.json').packages;
  const present = readJson('node_modules/.package-lock.json').packages;
  const same = Object.entries(wanted).every(([path, entry]) => {
    if (path === '') return true; // the root itself
    const installed = present[path];
    if (!installed) return Boolean(entry.optional); // a build for another system
    return installed.version === entry.version && installed.integrity === entry.integrity;
  });
  return same && Object.keys(present).every((path) => path in wanted);
}

function readJson(path) {
  return JSON.parse(readFileSync(join(root, path), 'utf8'));
}

/** Runs npm in the root; logs the current activity every ten seconds. */
function runNpm(args, activity, log) {
  const started = Date.now();
  const npmScript = process.env.npm_execpath; // set when npm started this process: use the same npm
  const [command, commandArgs] = npmScript ? [process.execPath, [npmScript, ...args]] : ['npm', args];
  return new Promise((resolve, reject) => {
    const child = spawn(command, commandArgs, {
      cwd: root,
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...process.env, ...compilerSettings() },
      shell: !npmScript && process.platform === 'win32', // npm is a .cmd file there
    });
    const heartbeat = setInterval(() => log(`  ... ${activity}, ${seconds(started)} s`), HEARTBEAT_MS);
    child.once('error', (error) => {
      clearInterval(heartbeat);
      reject(
        new Error(`Cannot start npm (${error.message}). It comes with Node.js; check that it is in PATH.`),
      );
    });
    child.once('close', (code, signal) => {
      clearInterval(heartbeat);
      if (code === 0) resolve();
      else
        reject(
          new Error(`npm ${args.join(' ')} failed (${signal ?? `exit code ${code}`}); its output is above.`),
        );
    });
  });
}

/** Settings that compile add-ons against the headers beside this Node.js, if any, without a download. */
function compilerSettings() {
  const prefix = join(dirname(realpathSync(process.execPath)), '..');
  return existsSync(join(prefix, 'include/node/node_version.h'))
    ? { npm_package_config_node_gyp_nodedir: prefix }
    : {};
}

function seconds(started) {
  return ((Date.now() - started) / 1000).toFixed(0);
}
