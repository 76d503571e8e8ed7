/** A minimal Debian in a folder, into which packages are installed: a copy of the few packages of this host that theirs build on.
 *  Takes Debian and the rights of root. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A shell, its usual companions, and what maintainer scripts call. Neither Node.js nor a compiler. */
const SEEDS = [
  'base-files',
  'base-passwd',
  'dash',
  'coreutils',
  'sed',
  'grep',
  'findutils',
  'libc-bin',
  'libstdc++6',
].concat(['perl-base', 'passwd', 'login', 'init-system-helpers']);

export interface DebianRoot {
  readonly path: string;
  /** Runs dpkg of this host on the packages in the root. */
  dpkg(...args: readonly string[]): string;
  /** The command that runs another one in the root, as `user`. */
  inside(user: string): readonly string[];
  remove(): void;
}

/** Without root or Debian's tools, tests in such a root are skipped, and the run says so; never under CI, where they fail. */
export function canMakeDebianRoots(): boolean {
  if (process.env['CI'] !== undefined) return true;
  try {
    if (process.getuid?.() !== 0) throw new Error('they take the rights of root');
    output('unshare', ['--mount', 'true']);
    for (const tool of ['dpkg-deb', 'dpkg-shlibdeps', 'strip']) output(tool, ['--version']);
    installedPackages();
    return true;
  } catch (error) {
    console.warn(`SKIPPED, tests of Debian packages: ${(error as Error).message}`);
    return false;
  }
}

export function debianRoot(): DebianRoot {
  const path = mkdtempSync(join(tmpdir(), 'workbench-debian-'));
  chmodSync(path, 0o755);
  const packages = installedPackages();
  // Links such as /lib64 lead there.
  for (const folder of ['bin', 'sbin', 'lib', 'lib64'])
    mkdirSync(join(path, 'usr', folder), { recursive: true });
  const files = output('dpkg-query', ['--listfiles', ...packages]).split('\n');
  const present = [...new Set(files)].filter(isWanted).map((file) => `.${file}`);
  const list = join(path, 'files');
  writeFileSync(list, present.join('\n'));
  const archive = join(path, 'files.tar');
  output('tar', ['-C', '/', '--no-recursion', '-cf', archive, '-T', list]);
  output('tar', ['-C', path, '-xf', archive]);
  for (const file of [list, archive]) rmSync(file);
  for (const name of ['passwd', 'group']) {
    copyFileSync(join(path, `usr/share/base-passwd/${name}.master`), join(path, 'etc', name));
  }
  output('ldconfig', ['-r', path]);
  const database = join(path, 'var/lib/dpkg');
  for (const folder of ['info', 'updates']) mkdirSync(join(database, folder), { recursive: true });
  writeFileSync(join(database, 'status'), output('dpkg-query', ['--status', ...packages]));
  for (const file of readdirSync('/var/lib/dpkg/info')) {
    const [owner = ''] = file.split(/[:.](?=[^.]*$)|:/);
    if (file.endsWith('.list') && packages.has(owner)) {
      copyFileSync(join('/var/lib/dpkg/info', file), join(database, 'info', file));
    }
  }
  const mounts = 'for at in dev proc; do mkdir -p "$0/$at"; mount --rbind /$at "$0/$at"; done; exec "$@"';
  return {
    path,
    dpkg: (...args) => output('dpkg', [`--root=${path}`, '--force-confold', ...args]),
    inside: (user) => [
      ...['unshare', '--mount', 'sh', '-ec', mounts, path],
      ...['chroot', `--userspec=${user}`, path, '/usr/bin/env', '-i', 'PATH=/usr/bin:/bin'],
    ],
    remove: () => rmSync(path, { recursive: true, force: true }),
  };
}

/** The seeds with everything that they depend on, as this host has it. */
function installedPackages(): ReadonlySet<string> {
  const fields = ['Package', 'Pre-Depends', 'Depends', 'db:Status-Status'];
  const format = `${fields.map((field) => `\${${field}}`).join('\t')}\n`;
  const dependencies = new Map<string, string>();
  for (const line of output('dpkg-query', ['--show', `--showformat=${format}`]).split('\n')) {
    const [name = '', first = '', needed = '', status] = line.split('\t');
    if (status === 'installed') dependencies.set(name, `${first},${needed}`);
  }
  const found = new Set<string>();
  const visit = (name: string) => {
    if (found.has(name)) return;
    found.add(name);
    for (const alternatives of (dependencies.get(name) ?? '').split(',')) {
      const names = alternatives.split('|').map((text) => text.trim().split(/[ :]/)[0] ?? '');
      const installed = names.find((candidate) => dependencies.has(candidate));
      if (installed !== undefined) visit(installed);
    }
  };
  for (const seed of SEEDS) {
    if (!dependencies.has(seed)) throw new Error(`the package ${seed} is not installed`);
    visit(seed);
  }
  return found;
}

function isWanted(file: string): boolean {
  if (!file.startsWith('/') || file === '/.' || /^\/usr\/share\/(?:doc|man|locale|info)\//.test(file))
    return false;
  try {
    lstatSync(file);
    return true;
  } catch {
    return false; // Images of Debian for containers leave files of packages out.
  }
}

function output(command: string, args: readonly string[]): string {
  return execFileSync(command, args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    maxBuffer: 2 ** 26,
  });
}
