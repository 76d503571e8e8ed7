/** Which file of the simulation host a LOCAL_FILESYSTEM model means, and whether a task may read it. Pure: the paths
 *  are held against each other as text, after the caller has resolved links. */

/** The path on this host: a UNC path is led through the mounts, anything else stays as it is. Names of servers and
 *  shares are compared without case, as Windows does. Undefined for a UNC path that is mounted nowhere. */
export function mountedPath(
  pathToFile: string,
  uncMounts: Readonly<Record<string, string>>,
): string | undefined {
  if (!isUnc(pathToFile)) return pathToFile;
  const wanted = uncParts(pathToFile);
  let best: { length: number; path: string } | undefined;
  for (const [unc, mount] of Object.entries(uncMounts)) {
    const parts = uncParts(unc);
    const covers = parts.every((part, index) => part.toLowerCase() === wanted[index]?.toLowerCase());
    if (!covers || parts.length >= wanted.length || (best && best.length >= parts.length)) continue;
    best = {
      length: parts.length,
      path: [mount.replace(/\/+$/, ''), ...wanted.slice(parts.length)].join('/'),
    };
  }
  return best?.path;
}

/** `\\server\share\file`, also with its backslashes written as `/`. */
function isUnc(path: string): boolean {
  return /^(?:\\\\|\/\/)[^\\/]/.test(path);
}

/** True when `path` lies in `folder`; both absolute, without links, `.` and `..`. */
export function liesIn(path: string, folder: string): boolean {
  const base = folder.replace(/[\\/]+$/, '');
  return path.startsWith(base) && /^[\\/]/.test(path.slice(base.length));
}

/** The last part of a path, in either way of writing. */
export function baseName(path: string): string {
  return path.split(/[\\/]/).pop() ?? '';
}

function uncParts(path: string): string[] {
  return path.split(/[\\/]+/).filter((part) => part !== '');
}
