// A folder with a Debian 13 and packages that this machine's Debian does not have, for tests.
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const SUITE = 'trixie';
const DONE = 'installed';

/**
 * Makes the folder, or finds it complete. Throws when it cannot be made, with what to do.
 *
 * @param {string} folder
 * @param {{ packages: readonly string[], advice: string, log: () => void }} options `advice` says what needs them
 * @returns {string} the folder
 */
export function debianFolder(folder, { packages, advice, log }) {
  if (existsSync(join(folder, DONE))) return folder;
  if (process.getuid?.() !== 0) throw new Error(`${advice}; as root, this would make a Debian with one`);
  if (spawnSync('debootstrap', ['--version'], { stdio: 'ignore' }).status !== 0)
    throw new Error(`${advice}, or debootstrap: apt-get install debootstrap`);
  rmSync(folder, { recursive: true, force: true });
  log();
  execFileSync('debootstrap', ['--variant=minbase', SUITE, folder], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  copyFileSync('/etc/resolv.conf', join(folder, 'etc/resolv.conf'));
  // Packages with daemons would start them.
  writeFileSync(join(folder, 'usr/sbin/policy-rc.d'), '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  const install = `export DEBIAN_FRONTEND=noninteractive; apt-get -qq update && apt-get -qq -y --no-install-recommends install ${packages.join(' ')} && apt-get clean`;
  execFileSync('chroot', [folder, 'sh', '-c', install], { stdio: ['ignore', 'ignore', 'inherit'] });
  writeFileSync(join(folder, DONE), '');
  return folder;
}
