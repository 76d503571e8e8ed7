// Bundles the programs from their compiled modules: dist/program/main.js of hub, agent and wb, and the parts that they import
// later. To load one file takes Node.js a fraction of the time of many hundreds. A second build changes no file.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const WORKSPACES = ['hub', 'agent', 'packages/cli'];

/** Packages that stay outside: an add-on, one that starts a thread from a file of its own, and what few hubs load. */
const OUTSIDE = new Set([
  ...['better-sqlite3', 'pino', 'pg'],
  ...['@opentelemetry/exporter-trace-otlp-http', '@opentelemetry/resources', '@opentelemetry/sdk-trace'],
]);

const nameOf = (specifier) =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');

/** Leaves packages outside, and fails when the program would find another copy of one than the module that imports it. */
function outside(outdir) {
  const fromOutput = createRequire(join(outdir, 'main.js'));
  return {
    name: 'outside',
    setup({ onResolve }) {
      onResolve({ filter: /^[^./#]/ }, ({ path, importer, kind }) => {
        if (kind === 'entry-point' || path.startsWith('node:')) return undefined;
        const name = nameOf(path);
        const folder = folderOf(createRequire(importer), name);
        // A module of Node.js, or an optional package that is not installed: its importer bears that.
        if (folder === undefined) return { path, external: true };
        if (!OUTSIDE.has(name)) return undefined;
        if (folderOf(fromOutput, name) !== folder) {
          return { errors: [{ text: `${name} is another copy from ${relative(root, outdir)}` }] };
        }
        return { path, external: true };
      });
    },
  };
}

/** Folder in which a package is found, or undefined. */
function folderOf(require, name) {
  return require.resolve.paths(name)?.find((folder) => existsSync(join(folder, name, 'package.json')));
}

/** Lets `import.meta.url` stay the address of the compiled module, beside which its files lie. */
function addresses(outdir) {
  return {
    name: 'addresses',
    setup({ onLoad }) {
      onLoad({ filter: /\.js$/ }, ({ path }) => {
        const contents = readFileSync(path, 'utf8');
        if (!contents.includes('import.meta.url')) return undefined;
        const from = JSON.stringify(relative(outdir, path).split(sep).join('/'));
        return { contents: contents.replaceAll('import.meta.url', `new URL(${from}, import.meta.url).href`) };
      });
    },
  };
}

/** The files of a program by name. */
async function bundle(workspace) {
  const outdir = join(root, workspace, 'dist/program');
  const { outputFiles } = await build({
    entryPoints: [join(root, workspace, 'dist/main.js')],
    outdir,
    bundle: true,
    write: false,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    chunkNames: 'part-[hash]',
    legalComments: 'none',
    // Packages in CommonJS require modules of Node.js.
    banner: {
      js: "import { createRequire as createRequireOf } from 'node:module'; const require = createRequireOf(import.meta.url);",
    },
    logLevel: 'error',
    plugins: [outside(outdir), addresses(outdir)],
  });
  return { outdir, files: new Map(outputFiles.map(({ path, contents }) => [basename(path), contents])) };
}

function write({ outdir, files }) {
  mkdirSync(outdir, { recursive: true });
  for (const [name, contents] of files) {
    const file = join(outdir, name);
    if (!existsSync(file) || !readFileSync(file).equals(contents)) writeFileSync(file, contents);
  }
  for (const name of readdirSync(outdir)) if (!files.has(name)) rmSync(join(outdir, name));
}

for (const bundled of await Promise.all(WORKSPACES.map(bundle))) write(bundled);
