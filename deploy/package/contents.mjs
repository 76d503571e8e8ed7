// Lists of the contents of packages, in the format CycloneDX, and the digests of all files, which lie beside the packages.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { writeJson } from './stage.mjs';

const CHECKSUMS = 'SHA256SUMS';

/**
 * A package that was made: `packages` are those of npm inside, as productionPackages() gives them, `node` the Node.js inside.
 *
 * @typedef {{ file: string, name: string, packages: { from: string, entry: object }[], node?: { version: string, name?: string, integrity?: string } }} Made
 */

/**
 * Writes the list of contents beside the file. It is made from what was packed: `npm sbom` describes what is installed in a clone, and
 * leaves out packages that development needs, too.
 *
 * @param {Made} made
 * @param {{ version: string, seconds: number }} options of the packages, and the time of every file
 * @returns the path of the list
 */
export function writeContents({ file, name, packages, node }, { version, seconds }) {
  const list = `${file}.cdx.json`;
  const own = { type: 'application', name, version, hashes: [{ alg: 'SHA-256', content: sha256(file) }] };
  writeJson(list, {
    $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: {
      timestamp: new Date(seconds * 1000).toISOString(),
      component: { 'bom-ref': `${name}@${version}`, ...own, licenses: licensesOf('Apache-2.0') },
    },
    components: [
      ...(node ? [nodeComponent(node)] : []),
      ...packages.map((each) => packageComponent(each, version)),
    ],
  });
  return list;
}

function nodeComponent({ version, name, integrity }) {
  return {
    'bom-ref': `node@${version}`,
    type: 'platform',
    name: 'node',
    version,
    cpe: `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*`,
    ...(name === undefined ? {} : { purl: `pkg:npm/${name}@${version}` }),
    ...hashesOf(integrity),
    licenses: licensesOf('MIT'),
  };
}

/** Our own packages have the version of the whole. The same package may be there twice, for two others. */
function packageComponent({ from, entry }, ownVersion) {
  const isOurs = !from.includes('node_modules/');
  const name = entry.name ?? from.split('node_modules/').at(-1);
  const version = isOurs ? ownVersion : entry.version;
  return {
    'bom-ref': `${from}@${version}`,
    type: 'library',
    name,
    version,
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
    ...hashesOf(entry.integrity),
    ...(entry.license === undefined ? {} : { licenses: licensesOf(entry.license) }),
  };
}

function licensesOf(license) {
  return [/[ ()]/.test(license) ? { expression: license } : { license: { id: license } }];
}

/** The digest of a tarball of the registry, as hexadecimal digits. */
function hashesOf(integrity) {
  const [, digest] = /^sha512-(\S+)/.exec(integrity ?? '') ?? [];
  if (digest === undefined) return {};
  return { hashes: [{ alg: 'SHA-512', content: Buffer.from(digest, 'base64').toString('hex') }] };
}

/** Writes the digests of these files for `sha256sum --check`, and keeps those of other files that are there. */
export function writeChecksums(folder, files) {
  const path = join(folder, CHECKSUMS);
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : [];
  const digests = new Map(lines.map((line) => [line.slice(66), line.slice(0, 64)]));
  for (const file of files) digests.set(basename(file), sha256(file));
  const present = [...digests].filter(([name]) => existsSync(join(folder, name))).sort();
  writeFileSync(path, present.map(([name, digest]) => `${digest}  ${name}\n`).join(''));
  return path;
}

function sha256(file) {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}
