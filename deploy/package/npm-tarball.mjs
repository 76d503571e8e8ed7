// A tarball that `npm install -g FILE` takes: every package is bundled, so that npm fetches nothing.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { INSTANCE_PROGRAMS, PROGRAMS, readJson, stage, writeJson } from './stage.mjs';

/** The registry's tarballs have everything below this folder. */
const TOP = 'package';

/**
 * Packed by tar, since `npm pack` leaves out of bundled packages whatever their own "files" do not name: the add-on's binary.
 *
 * @param {{ root: string, program: keyof typeof PROGRAMS, version: string, work: string, out: string, seconds: number, quick: boolean, isForImage: boolean }}
 *   options `isForImage`: whether only a container image gets it; `work` is an empty folder for intermediate files, `seconds` the time of every file
 * @returns {import('./contents.mjs').Made}
 */
export function npmTarball({ root, program, version, work, out, seconds, quick, isForImage }) {
  const { name, description, bin } = PROGRAMS[program];
  const folder = join(work, TOP);
  const installation = isForImage ? 'CONTAINER' : 'NPM';
  const packages = stage({ root, program, version, folder, addon: 'sources', installation });
  if (program === 'hub') addPrebuild(root, folder, seconds);
  const modules = join(folder, 'node_modules');
  const bundled = topLevelPackages(modules);
  const { engines, license } = readJson(join(root, 'package.json'));
  writeJson(join(folder, 'package.json'), {
    name,
    version,
    description,
    license,
    engines,
    bin: inNodeModules({ ...bin, ...(program === 'agent' ? INSTANCE_PROGRAMS : {}) }),
    dependencies: Object.fromEntries(
      bundled.map((dependency) => [dependency, readJson(join(modules, dependency, 'package.json')).version]),
    ),
    bundleDependencies: bundled,
  });
  mkdirSync(out, { recursive: true });
  const file = join(out, `${name}-${version}.tgz`);
  rmSync(file, { force: true });
  tar(work, TOP, file, seconds, quick ? 1 : 9);
  return { file, name, packages };
}

/** The add-on as compiled for this Node, where prebuild-install looks before it downloads; another Node gets its own. */
function addPrebuild(root, folder, seconds) {
  const addon = join(root, 'node_modules/better-sqlite3');
  const target = join(folder, 'node_modules/better-sqlite3/prebuilds');
  const { version } = readJson(join(addon, 'package.json'));
  const libc =
    process.platform === 'linux' && !process.report.getReport().header.glibcVersionRuntime ? 'musl' : '';
  const system = `v${process.versions.modules}-${process.platform}${libc}-${process.arch}`;
  mkdirSync(target);
  const file = join(target, `better-sqlite3-v${version}-node-${system}.tar.gz`);
  tar(addon, 'build/Release/better_sqlite3.node', file, seconds, 9);
}

/** tar(1) of GNU: the same content gives the same bytes. */
export function tar(folder, content, file, seconds, level) {
  const same = [
    '--sort=name',
    '--format=ustar',
    '--owner=0',
    '--group=0',
    '--numeric-owner',
    '--mode=u=rwX,go=rX',
  ];
  execFileSync(
    'tar',
    ['-C', folder, ...same, `--mtime=@${seconds}`, '-I', `gzip -n -${level}`, '-cf', file, content],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );
}

function inNodeModules(bin) {
  return Object.fromEntries(Object.entries(bin).map(([name, path]) => [name, join('node_modules', path)]));
}

function topLevelPackages(modules) {
  return readdirSync(modules).flatMap((name) =>
    name.startsWith('@') ? readdirSync(join(modules, name)).map((scoped) => `${name}/${scoped}`) : [name],
  );
}
