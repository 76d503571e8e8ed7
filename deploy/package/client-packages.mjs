// Packages of the clients for programs of users: a wheel for pip, and a tarball that npm installs into a project.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tar } from './npm-tarball.mjs';
import { productionPackages } from './production-packages.mjs';
import { readJson, writeJson } from './stage.mjs';

const PYTHON_PARTS = ['workbench_hub', 'pyproject.toml', 'README.md', 'build_wheel.py'];
/** Files that carry the version of the Python client, and the line that does. */
const PYTHON_VERSIONS = {
  'pyproject.toml': /^version = ".*"$/m,
  'workbench_hub/__init__.py': /^__version__ = ".*"$/m,
};

/**
 * Needs Python, its standard library alone.
 *
 * @param {{ root: string, version: string, work: string, out: string }} options `work` is an empty folder for intermediate files
 * @returns {import('./contents.mjs').Made}
 */
export function pythonWheel({ root, version, work, out }) {
  const folder = join(work, 'packages/client-python');
  for (const part of PYTHON_PARTS)
    cpSync(join(root, 'packages/client-python', part), join(folder, part), {
      recursive: true,
      filter: (path) => !path.endsWith('__pycache__'),
    });
  cpSync(join(root, 'LICENSE'), join(work, 'LICENSE'));
  for (const [name, line] of Object.entries(PYTHON_VERSIONS)) {
    const text = readFileSync(join(folder, name), 'utf8');
    const [found] = line.exec(text) ?? [];
    if (found === undefined) throw new Error(`${name} of the Python client has no version`);
    writeFileSync(join(folder, name), text.replace(line, found.replace(/".*"/, `"${version}"`)));
  }
  const built = execFileSync('python3', [join(folder, 'build_wheel.py'), out], { encoding: 'utf8' });
  return { file: built.trim(), name: 'workbench-hub', packages: [] };
}

/**
 * The TypeScript client with what it needs, for `npm install FILE` without network.
 *
 * @param {{ root: string, version: string, work: string, out: string, seconds: number, quick: boolean }} options as of
 *   {@link pythonWheel}; `seconds` is the time of every file
 * @returns {import('./contents.mjs').Made}
 */
export function clientTarball({ root, version, work, out, seconds, quick }) {
  const source = join(root, 'packages/client');
  const folder = join(work, 'package');
  const locked = readJson(join(root, 'package-lock.json')).packages;
  const needed = productionPackages(locked, ['packages/client'], { root }).filter(({ from }) =>
    from.includes('node_modules/'),
  );
  cpSync(join(source, 'dist'), join(folder, 'dist'), {
    recursive: true,
    filter: (path) => !/\.test\.|\.map$|\.tsbuildinfo$/.test(path),
  });
  for (const { from, to } of needed) cpSync(join(root, from), join(folder, to), { recursive: true });
  cpSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  const manifest = readJson(join(source, 'package.json'));
  writeJson(join(folder, 'package.json'), {
    ...manifest,
    version,
    bundleDependencies: Object.keys(manifest.dependencies),
  });
  mkdirSync(out, { recursive: true });
  const file = join(out, `workbench-hub-client-${version}.tgz`);
  rmSync(file, { force: true });
  tar(work, 'package', file, seconds, quick ? 1 : 9);
  return { file, name: manifest.name, packages: needed };
}
