// From a bare clone to a built one: checks Node, installs what is missing, compiles. Plain Node on purpose, since
// it runs before any package is there; it also parses on Node 14, so that an old Node gets a sentence, not a
// syntax error.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));

const HEARTBEAT_MS = 10_000;

/**
 * Leaves a built clone, or throws an Error whose message a person can act on.
 *
 * @param {{ log?: (line: string) => void }} [options] where progress lines go; standard output unless told
 */
export async function prepare({ log = console.log } = {}) {
  requireNode();
  const started = Date.now();
  if (isInstalled()) {
    log('Packages: installed and up to date.');
  } else {
    log('Packages: installing (a minute or two the first time, SQLite may be compiled for this machine) ...');
    await runNpm(['ci'], log);
    log(`Packages: installed after ${seconds(started)} s.`);
  }
  const buildStarted = Date.now();
  log('Build: compiling ...');
  await runNpm(['run', '--silent', 'build'], log);
  log(`Build: done after ${seconds(buildStarted)} s.`);
}

/** Throws when this Node is older than the floor in package.json ("engines"). */
function requireNode() {
  const floor = readJson('package.json').engines.node.replace('>=', '');
  const [major, minor] = process.versions.node.split('.').map(Number);
  const [floorMajor, floorMinor] = floor.split('.').map(Number);
  if (major < floorMajor || (major === floorMajor && minor < floorMinor)) {
    throw new Error(
      `Workbench Hub needs Node.js ${floor} or newer, and this is ${process.versions.node} (${process.execPath}). ` +
        'Install a newer one from https://nodejs.org/ or with your package manager, then try again.',
    );
  }
}

/** Whether node_modules holds what package-lock.json asks for, by content: npm keeps its own lock file in there. */
function isInstalled() {
  if (!existsSync(join(root, 'node_modules/.package-lock.json'))) return false;
  const wanted = readJson('package-lock.json').packages;
  const present = readJson('node_modules/.package-lock.json').packages;
  const same = Object.entries(wanted).every(([path, entry]) => {
    if (path === '') return true; // the root itself
    const installed = present[path];
    if (!installed) return Boolean(entry.optional); // built for another system
    return installed.version === entry.version && installed.integrity === entry.integrity;
  });
  return same && Object.keys(present).every((path) => path in wanted);
}

function readJson(path) {
  return JSON.parse(readFileSync(join(root, path), 'utf8'));
}

/** Runs npm in the root and waits, with a sign of life every ten seconds. */
function runNpm(args, log) {
  const started = Date.now();
  const npmScript = process.env.npm_execpath; // set when npm started us: use that very npm
  const [command, commandArgs] = npmScript ? [process.execPath, [npmScript, ...args]] : ['npm', args];
  return new Promise((resolve, reject) => {
    const child = spawn(command, commandArgs, {
      cwd: root,
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...process.env, ...compilerSettings() },
      shell: !npmScript && process.platform === 'win32', // npm is a .cmd file there
    });
    const heartbeat = setInterval(() => log(`  ... ${seconds(started)} s`), HEARTBEAT_MS);
    child.once('error', (error) => {
      clearInterval(heartbeat);
      reject(new Error(`npm could not be started (${error.message}). It comes with Node.js: is it in PATH?`));
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

/** Add-ons compile against the headers installed beside this Node, if any: no download, so it works offline too. */
function compilerSettings() {
  const prefix = join(dirname(realpathSync(process.execPath)), '..');
  return existsSync(join(prefix, 'include/node/node_version.h'))
    ? { npm_package_config_node_gyp_nodedir: prefix }
    : {};
}

function seconds(started) {
  return ((Date.now() - started) / 1000).toFixed(0);
}
