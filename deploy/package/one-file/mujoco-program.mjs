// The instance program workbench-mujoco in the single file: its modules as two bundles, with the files that these read beside them.
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { build } from 'esbuild';
import { readJson, writeJson } from '../stage.mjs';

const NAME = 'workbench-mujoco';
const WORKSPACE = 'packages/workbench-mujoco';
/** The simulator: its script is evaluated in realms. */
const SIMULATOR = 'node_modules/@mujoco/mujoco';
const SIMULATOR_FILES = ['package.json', 'mujoco.js', 'mujoco.wasm'];
/** Compiled modules whose texts are evaluated in realms (packages/workbench-mujoco/realm-sources.ts). */
const TEXTS = /^(?:host-file-system|realm-.*|simulator-main)\.js$/;

/**
 * Writes the program into `work`.
 *
 * @param {{ root: string, work: string, version: string }} options
 * @returns {Promise<{ assets: Record<string, string>, inputs: string[] }>} paths of the assets of the single file, and those of the
 *   modules inside, from the root of the clone
 */
export async function mujocoProgram({ root, work, version }) {
  const folder = join(work, NAME);
  const dist = join(folder, 'dist');
  const inputs = await bundleModules({ root, outdir: dist });
  for (const file of readdirSync(join(root, WORKSPACE, 'dist')).filter((name) => TEXTS.test(name)))
    copy(join(root, WORKSPACE, 'dist', file), join(dist, file));
  for (const file of SIMULATOR_FILES) copy(join(root, SIMULATOR, file), join(folder, SIMULATOR, file));
  const { name, type } = readJson(join(root, WORKSPACE, 'package.json'));
  writeJson(join(folder, 'package.json'), { name, version, type });

  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort();
  const list = join(work, `${NAME}.json`);
  writeJson(list, { folder: `${NAME}-${digestOf(folder, files).slice(0, 16)}`, files });
  return {
    assets: {
      [`${NAME}.json`]: list,
      ...Object.fromEntries(files.map((file) => [`${NAME}/${file}`, join(folder, file)])),
    },
    inputs: [...inputs, join(SIMULATOR, 'mujoco.js')],
  };
}

/** Bundles the program and its threads, each of which is a file of its own; gives the modules inside. */
async function bundleModules({ root, outdir }) {
  const { metafile, warnings } = await build({
    absWorkingDir: root,
    entryPoints: ['main', 'thread-main'].map((part) => join(root, WORKSPACE, `dist/${part}.js`)),
    outdir,
    bundle: true,
    metafile: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    legalComments: 'none',
    external: ['@mujoco/mujoco'],
    logLevel: 'error',
  });
  if (warnings.length > 0) throw new Error(`esbuild warns: ${warnings.map(({ text }) => text).join('; ')}`);
  return Object.keys(metafile.inputs);
}

function copy(from, to) {
  mkdirSync(dirname(to), { recursive: true });
  cpSync(from, to);
}

function digestOf(folder, files) {
  const hash = createHash('sha256');
  for (const file of files) hash.update(`${file}\0`).update(readFileSync(join(folder, file)));
  return hash.digest('hex');
}
