/** Prefix of names at the top of a working directory that belong to instance programs and are never outputs. */
export const RESERVED_PREFIX = '.workbench-';

export const MAX_PATH_LENGTH = 1024;
const MAX_SEGMENT_LENGTH = 255;

/**
 * Error in `path` as the name of a file inside a working directory; undefined for none:
 * relative, `/` between the parts, no way out of the directory (contract 3.5). It is written as "must …".
 */
export function relativePathFault(path: string): string | undefined {
  if (path === '') return 'must not be empty';
  if (path.length > MAX_PATH_LENGTH) return `must have at most ${MAX_PATH_LENGTH} characters`;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are rejected
  if (/[\u0000-\u001f\u007f]/.test(path)) return 'must not contain control characters';
  if (path.includes('\\')) return 'must use "/" between folders, not "\\"';
  if (path.startsWith('/')) return 'must be relative, without a leading "/"';
  if (/^[A-Za-z]:/.test(path)) return 'must be relative, without a drive letter';
  for (const segment of path.split('/')) {
    if (segment === '') return 'must not have an empty part ("//" or a "/" at the end)';
    if (segment === '.' || segment === '..') return `must not have "${segment}" as a part`;
    if (Buffer.byteLength(segment) > MAX_SEGMENT_LENGTH) {
      return `must not have a part longer than ${MAX_SEGMENT_LENGTH} bytes`;
    }
  }
  if (!path.isWellFormed()) return 'must be well-formed Unicode';
  return undefined;
}

/** The first path that occurs twice in the list or is also the folder of another, with the reason; or undefined. */
export function pathConflict(paths: readonly string[]): { index: number; fault: string } | undefined {
  const files = new Map<string, number>();
  const folders = new Map<string, number>();
  for (const [index, path] of paths.entries()) {
    if (files.has(path)) return { index, fault: 'is given more than once' };
    if (folders.has(path)) return { index, fault: `is also a folder of another file` };
    files.set(path, index);
    for (let end = path.indexOf('/'); end >= 0; end = path.indexOf('/', end + 1)) {
      const folder = path.slice(0, end);
      if (files.has(folder)) return { index, fault: `lies in ${JSON.stringify(folder)}, which is a file` };
      folders.set(folder, index);
    }
  }
  return undefined;
}

/** Compares by path, in UTF-16 units: the same on every host. */
export function byPath(a: { readonly path: string }, b: { readonly path: string }): number {
  return a.path < b.path ? -1 : a.path > b.path ? 1 : 0;
}
