/** Visible parts of this host's file system in a sandbox, as options of bubblewrap (bwrap(1)). */
import { lstatSync, readdirSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { dirname, join, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SINGLE_FILE } from '@workbench-hub/shared/runtime/single-file';
import type { PreparedDirectory } from '../core/ports/workspace.js';
import type { SandboxSettings } from '../core/sandbox.js';
import type { Surroundings } from './sandbox.js';

export const SANDBOX_TMP = '/tmp';
export const SANDBOX_HOME = '/tmp/home';

/** One mount: option of bubblewrap, its source if any, and its path in the sandbox. */
interface Mount {
  readonly option: string;
  readonly source?: string;
  readonly at: string;
}

/** Links on systems with a merged /usr, folders on others. */
const SYSTEM_FOLDERS = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];

/** Files for libraries, names of users and hosts, certificate authorities and time zones. None contains a key. */
const SYSTEM_SETTINGS = [
  ...['alternatives', 'ca-certificates', 'fonts', 'gai.conf', 'group', 'host.conf', 'hosts', 'ld.so.cache'],
  ...['ld.so.conf', 'ld.so.conf.d', 'localtime', 'locale.alias', 'nsswitch.conf', 'passwd', 'protocols'],
  ...['resolv.conf', 'services', 'timezone', 'ssl/certs', 'ssl/openssl.cnf', 'pki/tls/certs'],
  ...['pki/tls/openssl.cnf', 'pki/ca-trust', 'OpenCL', 'vulkan', 'glvnd'],
].map((name) => join('/etc', name));

const GPU_DEVICES = /^(?:nvidia.*|dri|kfd)$/;

/** Installation folder of the product: this file lies below it. */
const LOCAL_DIRECTORY = dirname(fileURLToPath(import.meta.url));
/** Folders that no instance program needs. */
const NOT_FOR_PROGRAMS = new Set(['agent', 'hub', 'test']);

/** Orders the options: a mount inside another comes after it. */
export function mountOptions(
  command: readonly string[],
  directory: PreparedDirectory,
  settings: SandboxSettings,
  { readable, hidden }: Surroundings,
): string[] {
  const shown = [
    ...settings.readOnly.map((path) => readOnly(path)),
    ...systemMounts(),
    ...SYSTEM_SETTINGS.map((path) => ifThere(path)),
    ...[...nodePaths(), ...productPaths(), ...pathsIn(command), ...readable].map((path) => ifThere(path)),
  ];
  const mounts: Mount[] = [
    ...withoutRepeats(shown),
    ...gpuMounts(settings.gpus),
    { option: '--proc', at: '/proc' },
    // A job of root could otherwise change settings of the kernel.
    readOnly('/proc/sys'),
    { option: '--dev', at: '/dev' },
    { option: '--tmpfs', at: SANDBOX_TMP },
    { option: '--dir', at: SANDBOX_HOME },
    ...hidden.flatMap((path) => cover(path, shown)),
    readOnly(directory.path),
    ...directory.writable.map((path) => ({ option: '--bind', source: path, at: path })),
  ];
  return mounts
    .map((mount, order) => ({ mount, order, depth: mount.at === '/' ? 0 : mount.at.split('/').length }))
    .sort((a, b) => a.depth - b.depth || a.order - b.order)
    .flatMap(({ mount: { option, source, at } }) =>
      source === undefined ? [option, at] : [option, source, at],
    );
}

function readOnly(path: string): Mount {
  return { option: '--ro-bind', source: path, at: path };
}

function ifThere(path: string): Mount {
  return { option: '--ro-bind-try', source: path, at: path };
}

function systemMounts(): Mount[] {
  return [
    ...SYSTEM_FOLDERS.map((path) => {
      const target = linkTarget(path);
      return target === undefined ? ifThere(path) : { option: '--symlink', source: target, at: path };
    }),
    // Numerical libraries choose their number of threads by it.
    ifThere('/sys/devices/system'),
  ];
}

function linkTarget(path: string): string | undefined {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : undefined;
  } catch {
    return undefined; // It does not exist.
  }
}

function gpuMounts(gpus: SandboxSettings['gpus']): Mount[] {
  if (gpus === false) return [];
  const devices =
    gpus === true
      ? readdirSync('/dev')
          .filter((name) => GPU_DEVICES.test(name))
          .map((name) => join('/dev', name))
      : gpus;
  const option = gpus === true ? '--dev-bind-try' : '--dev-bind';
  return [ifThere('/sys'), ...devices.map((path) => ({ option, source: path, at: path }))];
}

/** Programs and libraries of the Node.js that runs this agent, wherever it is installed. */
function nodePaths(): string[] {
  const folder = dirname(process.execPath);
  if (SINGLE_FILE !== null || !folder.endsWith(`${sep}bin`)) return [process.execPath];
  return [folder, join(dirname(folder), 'lib')];
}

/** Modules of the product, and its packages where these are links. The folder that contains them is not included: it may hold
 *  somebody's data. */
function productPaths(): string[] {
  // Its modules are inside.
  if (SINGLE_FILE !== null) return [];
  for (let at = LOCAL_DIRECTORY; at !== dirname(at); at = dirname(at)) {
    const scope = join(at, 'node_modules', '@workbench-hub');
    try {
      const packages = readdirSync(scope).filter((name) => !NOT_FOR_PROGRAMS.has(name));
      return [join(at, 'node_modules'), ...packages.map((name) => realpathSync(join(scope, name)))];
    } catch {
      // Not here: try the next folder upwards.
    }
  }
  return [];
}

/** Absolute paths in a command, with their targets: the program itself, and files that it loads. */
function pathsIn([program = '', ...parameters]: readonly string[]): string[] {
  const named = [
    ...(program.includes('/') ? [resolve(program)] : []),
    ...parameters.filter((word) => word.startsWith('/')),
  ];
  return named.flatMap((path) => {
    try {
      const real = realpathSync(path);
      return real === '/' ? [] : [path, real];
    } catch {
      return []; // Not a path, or a dangling link.
    }
  });
}

/** Without paths in other visible folders. */
function withoutRepeats(mounts: readonly Mount[]): Mount[] {
  const folders = mounts.filter(isShownInPlace).map(({ at }) => at);
  const isThere = ({ option, at }: Mount) =>
    // Required paths are always mounted, so that bubblewrap reports a missing one.
    option !== '--ro-bind' && folders.some((folder) => folder !== at && liesBelow(at, folder));
  return mounts.filter(
    (mount, index) => !isThere(mount) && !mounts.slice(0, index).some(({ at }) => at === mount.at),
  );
}

function isShownInPlace({ option, source, at }: Mount): boolean {
  if (source !== at || !option.startsWith('--ro-bind')) return false;
  try {
    return statSync(at).isDirectory();
  } catch {
    return false;
  }
}

/** Covers a hidden path with an empty folder or file, if it would be visible. */
function cover(path: string, shown: readonly Mount[]): Mount[] {
  if (!shown.some((mount) => isShownInPlace(mount) && liesBelow(path, mount.at))) return [];
  try {
    if (statSync(path).isDirectory()) return [{ option: '--tmpfs', at: path }];
  } catch {
    return []; // It does not exist.
  }
  return [{ option: '--ro-bind', source: '/dev/null', at: path }];
}

function liesBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`);
}
