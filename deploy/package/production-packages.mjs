// The production packages of a program, read from the lock file: names, versions and folders without development dependencies.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * Everything that `workspaces` need at run time. Throws when a required package is not in the lock file.
 *
 * @param {Record<string, object>} locked `packages` of package-lock.json
 * @param {readonly string[]} workspaces their folders, such as `hub`
 * @param {{ root: string, without?: readonly string[] }} options `without` names packages that are left out with what only they need
 * @returns {{ from: string, to: string, entry: object }[]} `from` is the folder in the clone, `to` the one below the
 *   package's root, such that Node finds the same versions there
 */
export function productionPackages(locked, workspaces, { root, without = [] }) {
  const found = new Set();
  const visit = (path) => {
    if (found.has(path)) return;
    found.add(path);
    const entry = locked[path];
    const required = { ...entry.dependencies, ...requiredPeers(entry) };
    for (const name of Object.keys({ ...required, ...entry.optionalDependencies })) {
      if (without.includes(name)) continue;
      const resolved = resolve(locked, path, name);
      const isInstalled = resolved !== undefined && existsSync(join(root, resolved));
      if (isInstalled) visit(resolved);
      else if (name in required) throw new Error(`${path} needs ${name}, which is not installed: run npm ci`);
    }
  };
  for (const workspace of workspaces) visit(workspace);
  return [...found].sort().map((path) => ({ from: path, to: placeOf(locked, path), entry: locked[path] }));
}

function requiredPeers({ peerDependencies = {}, peerDependenciesMeta = {} }) {
  return Object.fromEntries(
    Object.entries(peerDependencies).filter(([name]) => !peerDependenciesMeta[name]?.optional),
  );
}

/** The folder in which Node finds `name` from a file in `from`: the nearest node_modules upwards, links followed. */
function resolve(locked, from, name) {
  for (let at = from; ; at = dirname(at)) {
    const candidate = join(at, 'node_modules', name);
    const entry = locked[candidate];
    if (entry) return entry.link ? entry.resolved : candidate;
    if (at === '.') return undefined;
  }
}

/** Workspaces become packages in node_modules; what npm installed below a workspace stays below it. */
function placeOf(locked, path) {
  if (path.startsWith('node_modules/')) return path;
  const [workspace, below] = path.split(/\/(?=node_modules\/)(.*)/s);
  return join('node_modules', locked[workspace].name, below ?? '');
}
