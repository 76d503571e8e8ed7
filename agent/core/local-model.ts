/** Resolves the path of a LOCAL_FILESYSTEM model on the simulation host, and decides whether a task may read it. Pure: compares
 *  paths as text, after the caller has resolved links. */

/** Path on this host: a UNC path is mapped by the mounts, any other stays as it is. Names of servers and shares are compared
 *  without case, as on Windows. Undefined for a UNC path that is not mounted. */
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

/** `\\server\share\file`, also with `/` instead of backslashes. */
function isUnc(path: string): boolean {
  return /^(?:\\\\|\/\/)[^\\/]/.test(path);
}

/** True when `path` lies in `folder`; both absolute, without links, `.` and `..`. */
export function liesIn(path: string, folder: string): boolean {
  const base = folder.replace(/[\\/]+$/, '');
  return path.startsWith(base) && /^[\\/]/.test(path.slice(base.length));
}

/** Last part of a path, with either separator. */
export function baseName(path: string): string {
  return path.split(/[\\/]/).pop() ?? '';
}

function uncParts(path: string): string[] {
  return path.split(/[\\/]+/).filter((part) => part !== '');
}
