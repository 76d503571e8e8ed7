// The parts of the single file as CommonJS modules, each with all that it needs: the main script, with the runner, the agent, and its
// launcher.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { build } from 'esbuild';
import { nativeModule } from './native-module.mjs';

/** Packages that improve others where somebody installs them; nobody can install them into a file. */
const NEVER_INSIDE = ['bufferutil', 'utf-8-validate'];

/**
 * Bundles the compiled modules as main.cjs, agent.cjs and launch.cjs.
 *
 * @param {{ root: string, outdir: string }} options
 * @returns {Promise<string[]>} paths of the modules inside, from the root of the clone
 */
export async function bundleParts({ root, outdir }) {
  const { metafile, warnings } = await build({
    absWorkingDir: root,
    entryPoints: ['main', 'agent', 'launch'].map((part) => join(root, `packages/one-file/dist/${part}.js`)),
    outdir,
    outExtension: { '.js': '.cjs' },
    bundle: true,
    metafile: true,
    format: 'cjs',
    platform: 'node',
    target: 'node24',
    legalComments: 'none',
    external: NEVER_INSIDE,
    plugins: [nativeModule(root)],
    // The modules lie in the file.
    banner: {
      js: "const addressOfFile = require('node:url').pathToFileURL(process.execPath).href;",
    },
    define: { 'import.meta.url': 'addressOfFile' },
    logLevel: 'error',
  });
  if (warnings.length > 0) throw new Error(`esbuild warns: ${warnings.map(({ text }) => text).join('; ')}`);
  return Object.keys(metafile.inputs).filter((input) => !input.startsWith('native:'));
}

/**
 * The packages that modules belong to.
 *
 * @param {string} root
 * @param {readonly string[]} inputs paths of modules, from the root of the clone
 * @returns {{ from: string, entry: object }[]} the packages of npm, with their folders in the clone and their entries in the lock file
 */
export function packagesOf(root, inputs) {
  const folders = new Set(inputs.map((input) => packageFolder(root, input)));
  const locked = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
  return [...folders].sort().map((from) => {
    const entry = locked[from];
    if (entry === undefined) throw new Error(`${from} is not in package-lock.json: run npm ci`);
    return { from, entry };
  });
}

/** The folder of the package that a file belongs to. Some packages have a package.json in folders of theirs. */
function packageFolder(root, input) {
  const installed = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input);
  if (installed) return installed[0];
  let at = dirname(join(root, input));
  while (!existsSync(join(at, 'package.json'))) at = dirname(at);
  return relative(root, at);
}

/**
 * The texts of the licenses of everything inside, each after the name of what it is for.
 *
 * @param {{ root: string, packages: { from: string, entry: object }[], node: { version: string, license: string } }} options
 */
export function licenseTexts({ root, packages, node }) {
  const parts = [
    { title: 'Workbench Hub', text: readFileSync(join(root, 'LICENSE'), 'utf8') },
    { title: `Node.js ${node.version}`, text: readFileSync(node.license, 'utf8') },
    ...packages
      .filter(({ from }) => from.includes('node_modules/'))
      .map(({ from, entry }) => ({
        title: `${from.split('node_modules/').at(-1)} ${entry.version}: ${entry.license ?? 'see below'}`,
        text: licenseOf(join(root, from), entry, root),
      })),
  ];
  return parts.map(({ title, text }) => `${'='.repeat(78)}\n${title}\n\n${text.trim()}\n\n`).join('');
}

function licenseOf(folder, { license }, root) {
  const files = readdirSync(folder).filter((name) => /^(?:license|copying|notice)(?:[.-].*)?$/i.test(name));
  // The product has the same license.
  if (files.length === 0 && license === 'Apache-2.0') return readFileSync(join(root, 'LICENSE'), 'utf8');
  if (files.length === 0)
    throw new Error(`${folder} has no text of its license, which the file must contain`);
  return files.map((name) => readFileSync(join(folder, name), 'utf8')).join('\n\n');
}
