/**
 * A current directory for one thread. The process has one only, and in a process that serves several instances their jobs
 * run at the same time: so the functions of Node that take paths get absolute ones, and `process.cwd()` names the thread's own.
 */
import childProcess from 'node:child_process';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { promisify } from 'node:util';

/** Functions whose first argument is a path; each also exists with `Sync` at its end, or in `fs.promises`. */
const WITH_PATH = [
  'access',
  'appendFile',
  'chmod',
  'chown',
  'exists',
  'lchmod',
  'lchown',
  'lstat',
  'lutimes',
  'mkdir',
  'mkdtemp',
  'open',
  'opendir',
  'readdir',
  'readFile',
  'readlink',
  'realpath',
  'rm',
  'rmdir',
  'stat',
  'statfs',
  'truncate',
  'unlink',
  'utimes',
  'writeFile',
  'createReadStream',
  'createWriteStream',
  'openAsBlob',
  'unwatchFile',
  'watch',
  'watchFile',
];
const WITH_TWO_PATHS = ['copyFile', 'cp', 'link', 'rename'];
/** Functions that start a process; their options come after the arguments, if there are any. */
const WITH_OPTIONS = ['exec', 'execFile', 'execFileSync', 'execSync', 'fork', 'spawn', 'spawnSync'];

type AnyFunction = (...values: unknown[]) => unknown;
/** Functions by name. Some have others as members: `fs.realpath.native`, and what `promisify` gives for `exec`. */
type Functions = Record<string, AnyFunction & Partial<Record<PropertyKey, AnyFunction>>>;
const MEMBERS: readonly PropertyKey[] = ['native', promisify.custom];

/** Lets relative paths of this thread begin at `directory()` from now on, which is absolute. */
export function relativePathsBeginAt(directory: () => string): void {
  const absolute = (path: unknown): unknown => absolutePath(path, directory());
  for (const name of WITH_PATH) wrapAll(name, ([path, ...rest]) => [absolute(path), ...rest]);
  for (const name of WITH_TWO_PATHS)
    wrapAll(name, ([from, to, ...rest]) => [absolute(from), absolute(to), ...rest]);
  // The target of a link is relative to the link.
  wrapAll('symlink', ([target, path, ...rest]) => [target, absolute(path), ...rest]);
  for (const name of WITH_OPTIONS)
    wrap(childProcess as unknown as Functions, name, (values) => withDirectory(name, values, directory()));
  Object.defineProperty(process, 'cwd', { value: () => directory(), writable: true, configurable: true });
  syncBuiltinESMExports();
}

/** Descriptors, URLs and absolute paths stay as they are, and so does an empty path, which is an error. */
function absolutePath(path: unknown, directory: string): unknown {
  if (typeof path === 'string') return isRelative(path) ? `${directory}/${path}` : path;
  if (!(path instanceof Uint8Array) || !isRelative(Buffer.from(path).toString('latin1', 0, 3))) return path;
  return Buffer.concat([Buffer.from(`${directory}/`), path]);
}

function isRelative(path: string): boolean {
  if (path === '' || path.startsWith('/')) return false;
  return process.platform !== 'win32' || !/^(?:\\|[A-Za-z]:)/.test(path);
}

/** Arguments with `cwd` in the options: `(command, options?, callback?)` for a shell, else `(file, list?, options?, callback?)`. */
function withDirectory(name: string, [file, ...rest]: unknown[], directory: string): unknown[] {
  const list =
    name.startsWith('exec') && !name.startsWith('execFile')
      ? []
      : Array.isArray(rest[0])
        ? [rest.shift()]
        : [];
  const given = typeof rest[0] === 'object' ? (rest.shift() as { cwd?: unknown } | null) : undefined;
  const cwd = given?.cwd === undefined ? directory : absolutePath(given.cwd, directory);
  return [file, ...list, { ...given, cwd }, ...rest];
}

function wrapAll(name: string, change: (values: unknown[]) => unknown[]): void {
  wrap(fs as unknown as Functions, name, change);
  wrap(fs as unknown as Functions, `${name}Sync`, change);
  wrap(fs.promises as unknown as Functions, name, change);
}

function wrap(owner: Functions, name: string, change: (values: unknown[]) => unknown[]): void {
  const original = owner[name];
  if (typeof original !== 'function') return;
  const changed = (called: AnyFunction): AnyFunction =>
    function (this: unknown, ...values: unknown[]): unknown {
      return Reflect.apply(called, this, change(values));
    };
  const wrapped = changed(original) as AnyFunction & Partial<Record<PropertyKey, AnyFunction>>;
  for (const member of MEMBERS) {
    const called = original[member];
    if (called) Object.defineProperty(wrapped, member, { value: changed(called) });
  }
  owner[name] = wrapped;
}
