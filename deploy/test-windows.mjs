// npm run test:windows: tests of the agent on Windows, which is Wine 10 here: unit tests by a Node.js for Windows, and the agent as one file with a
// hub on Linux. Sets up what it needs: Wine if the machine has none (as root, with debootstrap), Node.js and native packages for Windows. Options:
// --kills N of the agent (3), -t PATTERN for the titles of tests; paths replace the suites.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { nodeBinary } from './package/one-file/node-binary.mjs';
import { canMakeInstaller } from './package/one-file/windows-installer.mjs';
import { prepare, root } from './prepare.mjs';
import { placeNativePackages } from './windows/native-packages.mjs';
import { openWine, wineSession } from './windows/wine.mjs';

const SYSTEM = 'win-x64';
const SCENARIOS = 'test/windows';

function vitest(suites, env) {
  const words = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/vitest.config.ts', ...suites];
  return spawnSync(process.execPath, words, {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...env },
  }).status;
}

/** A word of a command of the shell. */
const quoted = (word) => `'${word.replaceAll("'", "'\\''")}'`;

/** Runs unit tests in Windows; its output goes through a file, since a server of Wine would hold a pipe. */
function unitTests(wine, work, suites) {
  const { program } = nodeBinary(SYSTEM);
  const output = join(work, 'units.txt');
  const words = [
    'node_modules/vitest/vitest.mjs',
    'run',
    '--config',
    'test/windows/units.config.ts',
    ...suites,
  ];
  const clone = root.replace(/\/$/, '');
  const layer = join(work, 'layer');
  placeNativePackages(clone, join(layer, 'upper'));
  mkdirSync(join(layer, 'work'));
  const script = `cd ${clone} && wine ${program} ${words.map(quoted).join(' ')} > ${output} 2>&1; status=$?; wineserver -k; exit $status`;
  const [command, ...parameters] = wineSession(wine, script, [clone, work], {
    below: join(clone, 'node_modules'),
    layer,
  });
  const { status } = spawnSync(command, parameters, { stdio: 'ignore' });
  process.stdout.write(readFileSync(output, 'utf8'));
  return status;
}

/** The agent for Windows, as `npm run package` makes it, with an installer where that can be made. */
function makeAgent(work) {
  const kind = canMakeInstaller() ? ['--only', 'msi'] : ['--only', 'file', '--systems', SYSTEM];
  const options = [...kind, '--as-built', '--out', work];
  const { status } = spawnSync(process.execPath, ['deploy/package.mjs', ...options], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (status !== 0) throw new Error('the single file could not be made');
  return join(
    work,
    readdirSync(work).find((name) => name.endsWith('.exe')),
  );
}

const work = mkdtempSync(join(tmpdir(), 'workbench-windows-'));
try {
  const { values, positionals: paths } = parseArgs({
    options: { kills: { type: 'string', default: '3' }, testNamePattern: { type: 'string', short: 't' } },
    allowPositionals: true,
  });
  const titles = values.testNamePattern === undefined ? [] : ['--testNamePattern', values.testNamePattern];
  await prepare();
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'workbench-hub');
  const wine = openWine(join(cache, 'wine'), { log: console.log });
  const areScenarios = (path) => path.startsWith(SCENARIOS);
  const statuses = [];
  if (paths.length === 0 || !paths.every(areScenarios)) {
    const units = paths.filter((path) => !areScenarios(path));
    statuses.push(unitTests(wine, work, [...units, ...titles]));
  }
  if (paths.length === 0 || paths.some(areScenarios)) {
    const suites = paths.length === 0 ? [SCENARIOS] : paths.filter(areScenarios);
    const host = { wine, agent: makeAgent(work), kills: Number(values.kills) };
    statuses.push(vitest([...suites, ...titles], { WINDOWS_HOST: JSON.stringify(host) }));
  }
  if (statuses.some((status) => status !== 0)) process.exitCode = 1;
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  rmSync(work, { recursive: true, force: true });
}
