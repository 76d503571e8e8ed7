// The installer of the agent for Windows (MSI) around the single file, by wixl of the project msitools.
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, linkSync } from 'node:fs';
import { basename, join } from 'node:path';

const SOURCE = 'deploy/windows/installer.wxs';
/** Largest numbers of a version that Windows Installer takes (Microsoft, "ProductVersion property"). */
const LARGEST = [255, 255, 65_535];

/** Whether this machine has the tool. */
export function canMakeInstaller() {
  return spawnSync('wixl', ['--version'], { stdio: 'ignore' }).status === 0;
}

/**
 * Makes the installer beside the single file; throws when the version has numbers that Windows Installer does not take.
 *
 * @param {{ root: string, version: string, work: string, program: string }} options `program` is the single file, `work` a folder for
 *   intermediate files
 * @returns {string} the path of the installer
 */
export function windowsInstaller({ root, version, work, program }) {
  const file = program.replace(/\.exe$/, '.msi');
  // wixl takes files below its own folder only.
  copyFileSync(join(root, SOURCE), join(work, basename(SOURCE)));
  linkOrCopy(program, join(work, 'workbench-agent.exe'));
  const values = { Version: productVersion(version), Product: productCode(version) };
  const words = Object.entries(values).flatMap(([name, value]) => ['-D', `${name}=${value}`]);
  execFileSync('wixl', ['--arch', 'x64', ...words, '--output', file, basename(SOURCE)], {
    cwd: work,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return file;
}

/** The numbers of a version alone: Windows Installer compares three of them. */
function productVersion(version) {
  const numbers = version.split(/[-+]/, 1)[0].split('.').map(Number);
  if (numbers.length === LARGEST.length && numbers.every((number, at) => number <= LARGEST[at]))
    return numbers.join('.');
  throw new Error(
    `an installer for Windows has three numbers up to ${LARGEST.join(', ')} in its version, not ${version}`,
  );
}

/** The same for the same version: Windows then installs it once. */
function productCode(version) {
  const digits = createHash('sha256')
    .update(`workbench-agent ${version}`)
    .digest('hex')
    .slice(0, 32)
    .toUpperCase();
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

function linkOrCopy(from, to) {
  try {
    linkSync(from, to);
  } catch {
    copyFileSync(from, to); // another file system
  }
}
