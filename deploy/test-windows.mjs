// npm run test:windows: tests of the agent on Windows, which is Wine 10 here: unit tests by a Node.js for Windows, and the agent as one file with a
// hub on Linux. Sets up what it needs: Wine if the machine has none (as root, with debootstrap), Node.js and native packages for Windows. Options:
// --kills N of the agent (3); other arguments are passed to vitest, and paths among them replace the suites.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { nodeBinary } from './package/one-file/node-binary.mjs';
import { prepare, root } from './prepare.mjs';
import { placeNativePackages } from './windows/native-packages.mjs';
import { openWine, wineSession } from './windows/wine.mjs';

const SYSTEM = 'win-x64';
const SCENARIOS = 'test/windows';
const KILLS = 3;

function takeKills(given) {
  const at = given.indexOf('--kills');
  return at < 0 ? KILLS : Number(given.splice(at, 2)[1]);
}

function vitest(suites, env) {
  const words = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/vitest.config.ts', ...suites];
  return spawnSync(process.execPath, words, {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...env },
  }).status;
}

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
  const script = `cd ${clone} && wine ${program} ${words.join(' ')} > ${output} 2>&1; status=$?; wineserver -k; exit $status`;
  const [command, ...parameters] = wineSession(wine, script, [clone, work], {
    below: join(clone, 'node_modules'),
    layer,
  });
  const { status } = spawnSync(command, parameters, { stdio: 'ignore' });
  process.stdout.write(readFileSync(output, 'utf8'));
  return status;
}

/** The agent for Windows, as `npm run package` makes it. */
function makeAgent(work) {
  const options = ['--only', 'file', '--systems', SYSTEM, '--as-built', '--out', work];
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
  const given = process.argv.slice(2);
  const kills = takeKills(given);
  await prepare();
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'workbench-hub');
  const wine = openWine(join(cache, 'wine'), { log: console.log });
  const paths = given.filter((argument) => !argument.startsWith('-'));
  const areScenarios = (path) => path.startsWith(SCENARIOS);
  const statuses = [];
  if (paths.length === 0 || !paths.every(areScenarios)) {
    const units = given.filter((argument) => !areScenarios(argument));
    statuses.push(unitTests(wine, work, units));
  }
  if (paths.length === 0 || paths.some(areScenarios)) {
    const suites =
      paths.length === 0
        ? [SCENARIOS, ...given]
        : given.filter((each) => each.startsWith('-') || areScenarios(each));
    const host = { wine, agent: makeAgent(work), kills };
    statuses.push(vitest(suites, { WINDOWS_HOST: JSON.stringify(host) }));
  }
  if (statuses.some((status) => status !== 0)) process.exitCode = 1;
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  rmSync(work, { recursive: true, force: true });
}
