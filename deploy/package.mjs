// npm run package: packages of hub, agent, wb and the clients that install without a clone, the agent as single executable files, and beside each what
// is in it, and the digests of all. Options: --out DIR (dist-packages), --only npm|deb|clients|file|msi, --version VERSION (that of package.json),
// --maintainer "NAME <ADDRESS>" of the Debian packages (as DEBFULLNAME and DEBEMAIL say, or the author of the last commit),
// --systems LIST of the single files (linux-x64,linux-arm64,win-x64), --sign COMMAND that signs a single file whose path is
// appended, --for-image (npm tarballs for a container image, which say so), --quick (little compression, for tests), --as-built (packs what is built already).
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { clientTarball, pythonWheel } from './package/client-packages.mjs';
import { writeChecksums, writeContents } from './package/contents.mjs';
import { debianPackage } from './package/debian-package.mjs';
import { npmTarball } from './package/npm-tarball.mjs';
import { SYSTEMS } from './package/one-file/node-binary.mjs';
import { canMakeInstaller } from './package/one-file/windows-installer.mjs';
import { PROGRAMS, readJson } from './package/stage.mjs';
import { prepare, root } from './prepare.mjs';

const MAKERS = { npm: npmTarball, deb: debianPackage };
const CLIENTS = 'clients';
const FILE = 'file';
const INSTALLER = 'msi';
/** System of which the single file has an installer. */
const OF_INSTALLER = 'win-x64';

/** The time of the last commit, so that packages of one commit are the same; without git, now. */
function commitTime() {
  const git = ['-c', 'safe.directory=*', 'log', '-1', '--format=%ct'];
  const { stdout, status } = spawnSync('git', git, { cwd: root, encoding: 'utf8' });
  return status === 0 ? Number(stdout) : Math.floor(Date.now() / 1000);
}

/** The maintainer that Debian's tools would take, or else the author of the sources. */
function maintainerOfBuild() {
  const { DEBFULLNAME, DEBEMAIL } = process.env;
  if (DEBFULLNAME && DEBEMAIL) return `${DEBFULLNAME} <${DEBEMAIL}>`;
  const git = ['-c', 'safe.directory=*', 'log', '-1', '--format=%an <%ae>'];
  const { stdout, status } = spawnSync('git', git, { cwd: root, encoding: 'utf8' });
  return status === 0 ? stdout.trim() : `Workbench Hub <root@${hostname()}>`;
}

function has(command) {
  return spawnSync(command, ['--version'], { stdio: 'ignore' }).status === 0;
}

function kindsToMake(only) {
  if ([CLIENTS, FILE, INSTALLER].includes(only)) return [];
  if (only !== undefined && !(only in MAKERS))
    throw new Error(`--only is npm, deb, ${CLIENTS}, ${FILE} or ${INSTALLER}, not ${only}`);
  const kinds = only ? [only] : Object.keys(MAKERS);
  if (!kinds.includes('deb') || ['dpkg-deb', 'dpkg-shlibdeps', 'strip'].every(has)) return kinds;
  const advice = 'Debian packages need the tools of Debian: apt-get install dpkg-dev';
  if (only === 'deb') throw new Error(advice);
  console.warn(`LEFT OUT, Debian packages. ${advice}`);
  return kinds.filter((kind) => kind !== 'deb');
}

/** Makers of the packages of this kind, for each program, and those of the clients and of the single files. */
function makersOf(only) {
  const kinds = kindsToMake(only);
  const makers = Object.keys(PROGRAMS).flatMap((program) =>
    kinds.map((kind) => (options) => MAKERS[kind]({ ...options, program })),
  );
  if (only === undefined || only === CLIENTS) makers.push(...clientMakers());
  if (only === FILE || only === INSTALLER || (only === undefined && canMakeFiles()))
    makers.push((options) => singleFiles(only, options));
  return makers;
}

/** Imported late: a production container has no tools for it. */
async function singleFiles(only, options) {
  const { singleFiles: make } = await import('./package/single-file.mjs');
  if (only === INSTALLER) return make({ ...options, systems: [OF_INSTALLER], hasInstaller: true });
  const isWanted = only === undefined && options.systems.includes(OF_INSTALLER);
  const hasInstaller = isWanted && canMakeInstaller();
  if (isWanted && !hasInstaller)
    console.warn('LEFT OUT, the installer for Windows. It needs wixl: apt-get install wixl');
  return make({ ...options, hasInstaller });
}

function canMakeFiles() {
  if (process.platform === 'linux') return true;
  console.warn('LEFT OUT, the single files: they are made on Linux');
  return false;
}

function clientMakers() {
  if (has('python3')) return [clientTarball, pythonWheel];
  console.warn('LEFT OUT, the wheel: it needs Python (python3)');
  return [clientTarball];
}

function systemsOf(list) {
  const systems = list.split(',');
  const unknown = systems.find((system) => !(system in SYSTEMS));
  if (unknown === undefined) return systems;
  throw new Error(`--systems is a list of ${Object.keys(SYSTEMS).join(', ')}, which ${unknown} is not`);
}

async function main() {
  const { values } = parseArgs({
    options: {
      out: { type: 'string', default: join(root, 'dist-packages') },
      only: { type: 'string' },
      version: { type: 'string', default: readJson(join(root, 'package.json')).version },
      maintainer: { type: 'string', default: maintainerOfBuild() },
      systems: { type: 'string', default: Object.keys(SYSTEMS).join(',') },
      sign: { type: 'string' },
      'for-image': { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
      'as-built': { type: 'boolean', default: false },
    },
  });
  const { version, maintainer, quick, sign, 'as-built': asBuilt, 'for-image': isForImage } = values;
  if (!/^[^<>\n]+ <[^<>\s]+@[^<>\s]+>$/.test(maintainer))
    throw new Error(`--maintainer is "NAME <ADDRESS>", not ${JSON.stringify(maintainer)}`);
  const systems = systemsOf(values.systems);
  const makers = makersOf(values.only);
  if (!asBuilt) await prepare({ forDevelopment: false });
  const out = resolve(values.out);
  const seconds = commitTime();
  mkdirSync(out, { recursive: true });
  const files = [];
  for (const make of makers) {
    const work = mkdtempSync(join(tmpdir(), 'workbench-package-'));
    try {
      const options = {
        root,
        version,
        work,
        out,
        seconds,
        maintainer,
        quick,
        isForImage,
        systems,
        sign,
        log: console.log,
      };
      for (const made of [await make(options)].flat()) {
        files.push(made.file, writeContents(made, { version, seconds }));
        const size = (statSync(made.file).size / 2 ** 20).toFixed(1);
        console.log(`${relative(process.cwd(), made.file)}  ${size} MiB`);
      }
    } finally {
      rmSync(work, { recursive: true });
    }
  }
  console.log(relative(process.cwd(), writeChecksums(out, files)));
}

try {
  await main();
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
