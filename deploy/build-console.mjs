// Builds the pages of the console: packages/console/dist/site, files with the hash of their content in their names, each also
// compressed, and site.json, which tells the hub what there is to serve. A second build changes no file.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { build } from 'esbuild';

const source = fileURLToPath(new URL('../packages/console', import.meta.url));
const site = join(source, 'dist/site');

const TYPES = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

const COMPRESS = {
  br: (content) =>
    promisify(brotliCompress)(content, {
      params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY },
    }),
  gzip: (content) => promisify(gzip)(content, { level: 9 }),
};

const common = {
  bundle: true,
  minify: true,
  write: false,
  target: ['chrome111', 'firefox115', 'safari16.4'],
  define: { 'process.env.NODE_ENV': '"production"' },
  legalComments: 'none',
  logLevel: 'error',
};

const main = join(source, 'main.tsx');

/**
 * Has every part that is loaded later import the main script, which runs before it anyway. So what both need is in one file with the
 * main script; otherwise esbuild would write a file for each set of parts that need the same, and the first visit load twenty.
 */
const oneCore = {
  name: 'one-core',
  setup(build) {
    const later = new Set();
    build.onResolve({ filter: /^\./ }, async ({ path, kind, importer, resolveDir, pluginData }) => {
      if (kind !== 'dynamic-import' || pluginData === oneCore) return undefined;
      const resolved = await build.resolve(path, { kind, importer, resolveDir, pluginData: oneCore });
      later.add(resolved.path);
      return resolved;
    });
    build.onLoad({ filter: /\.tsx?$/ }, ({ path }) =>
      later.has(path)
        ? { contents: `import ${JSON.stringify(main)};\n${readFileSync(path, 'utf8')}`, loader: 'tsx' }
        : undefined,
    );
  },
};

/** The files of the site by name, and the names that the page refers to. */
async function bundle() {
  const screens = await build({
    ...common,
    entryPoints: [main, ...['design/console.css', 'design/icon.svg'].map((file) => join(source, file))],
    outdir: site,
    entryNames: '[name]-[hash]',
    chunkNames: 'part-[hash]',
    format: 'esm',
    splitting: true,
    jsx: 'automatic',
    loader: { '.svg': 'copy' },
    plugins: [oneCore],
    metafile: true,
    absWorkingDir: source,
  });
  // A classic script, since a module runs after the first paint.
  const first = await build({
    ...common,
    entryPoints: [join(source, 'first-paint.ts')],
    outdir: site,
    entryNames: '[name]-[hash]',
    format: 'iife',
    define: { ...common.define, PARTS_OF_SCREENS: JSON.stringify(partsOfScreens(screens.metafile)) },
  });
  const outputs = [...screens.outputFiles, ...first.outputFiles];
  const files = new Map(outputs.map(({ path, contents }) => [basename(path), Buffer.from(contents)]));
  const nameOf = (start, end) =>
    [...files.keys()].find((name) => name.startsWith(start) && name.endsWith(end));
  return {
    files,
    names: {
      main: nameOf('main-', '.js'),
      parts: partsOf(nameOf('main-', '.js'), screens.metafile),
      first: nameOf('first-paint-', '.js'),
      style: nameOf('console-', '.css'),
      icon: nameOf('icon-', '.svg'),
    },
  };
}

/** Names of the parts that a file of the site needs at once, with their own parts. */
function partsOf(name, { outputs }) {
  const found = new Set();
  const add = (file) => {
    const { imports } = Object.entries(outputs).find(([path]) => basename(path) === file)[1];
    for (const { path, kind } of imports) {
      if (kind !== 'import-statement' || found.has(basename(path))) continue;
      found.add(basename(path));
      add(basename(path));
    }
  };
  add(name);
  return [...found];
}

/** For the file of each screen, the names of the files that it needs besides those of the main script. */
function partsOfScreens(metafile) {
  const ofMain = new Set(
    Object.keys(metafile.outputs)
      .map((path) => basename(path))
      .filter((name) => name.startsWith('main-'))
      .flatMap((name) => [name, ...partsOf(name, metafile)]),
  );
  const screens = Object.entries(metafile.outputs).filter(([, { entryPoint }]) =>
    /-screen\.tsx$/.test(entryPoint),
  );
  return Object.fromEntries(
    screens.map(([path, { entryPoint }]) => [
      basename(entryPoint, '.tsx'),
      [basename(path), ...partsOf(basename(path), metafile)].filter((name) => !ofMain.has(name)),
    ]),
  );
}

/** The paths of the screens, for each of which the hub serves the page. */
async function readPaths() {
  const { outputFiles } = await build({ ...common, entryPoints: [join(source, 'paths.ts')], format: 'esm' });
  const { PATHS } = await import(
    `data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`
  );
  return Object.values(PATHS);
}

function pageOf({ main, parts, first, style, icon }) {
  const preloads = parts.map((part) => `  <link rel="modulepreload" href="/assets/${part}">\n`).join('');
  return `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <title>Workbench Hub</title>
  <link rel="icon" type="image/svg+xml" href="/assets/${icon}">
  <script src="/assets/${first}"></script>
  <link rel="stylesheet" href="/assets/${style}">
${preloads}  <script type="module" src="/assets/${main}"></script>
</head>
<body>
  <div id="console"></div>
  <noscript>The console of Workbench Hub needs JavaScript.</noscript>
</body>
</html>
`;
}

function isBuilt(manifest) {
  const file = join(site, 'site.json');
  if (!existsSync(file) || readFileSync(file, 'utf8') !== manifest) return false;
  const { files } = JSON.parse(manifest);
  return files.every(({ name, encodings }) =>
    ['', ...encodings.map((encoding) => `.${encoding}`)].every((ending) =>
      existsSync(join(site, name + ending)),
    ),
  );
}

const [{ files, names }, pages] = await Promise.all([bundle(), readPaths()]);
const manifest = `${JSON.stringify(
  {
    pages,
    page: pageOf(names),
    files: [...files.keys()].map((name) => ({
      name,
      type: TYPES[name.split('.').at(-1)],
      encodings: Object.keys(COMPRESS),
    })),
  },
  null,
  2,
)}\n`;

if (!isBuilt(manifest)) {
  mkdirSync(site, { recursive: true });
  for (const name of readdirSync(site)) rmSync(join(site, name));
  await Promise.all(
    [...files].flatMap(([name, content]) => [
      writeFileSync(join(site, name), content),
      ...Object.entries(COMPRESS).map(async ([encoding, compress]) =>
        writeFileSync(join(site, `${name}.${encoding}`), await compress(content)),
      ),
    ]),
  );
  // Last, so that an interrupted build is made again.
  writeFileSync(join(site, 'site.json'), manifest);
}
